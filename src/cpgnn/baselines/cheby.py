"""GCN-Cheby: the Chebyshev filters of Defferrard et al. (2016) as in Kipf and Welling's code."""

from __future__ import annotations

from torch import Tensor, relu

from cpgnn.baselines.operators import largest_eigenvalue
from cpgnn.engine.inputs import as_view
from cpgnn.engine.sparse import dropped
from cpgnn.engine.views import View
from cpgnn.graph import Graph
from cpgnn.priors import ChebyPrior, Sizes, chebyshev
from cpgnn.priors.contract import narrow


class GCNCheby(ChebyPrior):
    """R = conv(relu(conv(X))), conv(R) = Σ_{i ≤ order} T_i(L̃) R W_i, L̃ = 2/λ_max L - I.

    The prior of CPGNN-Cheby, with `dropout` on the input of both layers, and λ_max is computed
    instead of taken to be 2: the largest eigenvalue of L = I - D^-½ A D^-½.
    """

    def __init__(
        self, sizes: Sizes, *, hidden: int = 64, order: int = 2, dropout: float = 0.5, seed: int = 0
    ) -> None:
        super().__init__(sizes, hidden=hidden, order=order, dropout=dropout, seed=seed)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        lambda_max = largest_eigenvalue(view.graph)
        middle = view.widened(self.order)
        X = middle.widened(self.order).dropped_features(self.p)
        R = relu(chebyshev(middle, X @ self.W_1, self.order, lambda_max))
        return chebyshev(view, narrow(dropped(R, self.p), self.W_2), self.order, lambda_max)

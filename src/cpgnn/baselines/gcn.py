"""GCN (Kipf and Welling, 2017)."""

from __future__ import annotations

from torch import Tensor, relu

from cpgnn.baselines.operators import with_self_loops
from cpgnn.engine.inputs import as_view
from cpgnn.engine.sparse import dropped
from cpgnn.engine.views import View
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, narrow, num_inputs


class GCN(Estimator):
    """R = Â relu(Â X W₁) W₂, Â = D̃^-½ (A + I) D̃^-½.

    X [n, F] or the identity; W₁ [F or n, hidden], W₂ [hidden, c]. `dropout` acts on the input of
    both layers.
    """

    def __init__(
        self, sizes: Sizes, *, hidden: int = 64, dropout: float = 0.5, seed: int = 0
    ) -> None:
        super().__init__(sizes, hidden, dropout)
        glorot = Glorot(seed)
        self.W_1 = glorot(num_inputs(sizes), hidden)
        self.W_2 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        A_hat, X = with_self_loops(view), view.whole.dropped_features(self.p)
        R = relu(A_hat @ (X @ self.W_1))
        return view.pick(A_hat @ narrow(dropped(R, self.p), self.W_2))

"""GCN (Kipf and Welling, 2017)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from cpgnn.baselines.operators import whole, with_self_loops
from cpgnn.engine.dense import dropped
from cpgnn.engine.sparse import View, as_view
from cpgnn.graph import Graph
from cpgnn.priors import Glorot, Sizes, check_sizes, num_inputs


class GCN(nn.Module):
    """R = Â relu(Â X W₁) W₂, Â = D̃^-½ (A + I) D̃^-½.

    X [n, F] or the identity; W₁ [F or n, hidden], W₂ [hidden, c]. `dropout` acts on the input of
    both layers.
    """

    def __init__(
        self, sizes: Sizes, *, hidden: int = 64, dropout: float = 0.5, seed: int = 0
    ) -> None:
        super().__init__()
        check_sizes(sizes, hidden, dropout)
        self.dropout, self.num_classes = dropout, sizes.num_classes
        glorot = Glorot(seed)
        self.W_1 = glorot(num_inputs(sizes), hidden)
        self.W_2 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        A_hat = with_self_loops(view)
        p = self.dropout if self.training else 0.0
        R = relu(A_hat @ (whole(view).dropped_features(p) @ self.W_1))
        return view.pick(A_hat @ (dropped(R, p) @ self.W_2))

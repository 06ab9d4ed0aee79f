"""GraphSAGE with the mean aggregator (Hamilton et al., 2017)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from cpgnn.engine.sparse import View, as_view
from cpgnn.graph import Graph
from cpgnn.priors import Glorot, Sizes, check_sizes, num_inputs


class GraphSAGE(nn.Module):
    """R = conv(conv(X)) W₃, conv(R) = relu([R | D^-1 A R] W).

    X [n, F] or the identity; W₁ [2F or 2n, hidden], W₂ [2·hidden, hidden], W₃ [hidden, c]. The
    mean is over all neighbours, where the public code draws a few anew in every pass; a node
    without neighbours has the mean 0.
    """

    reach = 2

    def __init__(self, sizes: Sizes, *, hidden: int = 64, seed: int = 0) -> None:
        super().__init__()
        check_sizes(sizes, hidden, 0.0)
        self.num_classes = sizes.num_classes
        glorot = Glorot(seed)
        self.W_1 = glorot(2 * num_inputs(sizes), hidden)
        self.W_2 = glorot(2 * hidden, hidden)
        self.W_3 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        middle = view.wider
        X = middle.wider.features
        # Products first, means after: [R | M R] [W; V] = R W + M (R V).
        W, V = self.W_1.chunk(2)
        R = relu(middle.operator("row").add(middle.take(X @ W), X @ V))
        W, V = self.W_2.chunk(2)
        R = relu(view.operator("row").add(view.take(R @ W), R @ V))
        return R @ self.W_3

"""GraphSAGE with the mean aggregator (Hamilton et al., 2017)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, relu

from cpgnn.engine.inputs import as_view
from cpgnn.engine.views import View
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, narrow, num_inputs


class GraphSAGE(Estimator):
    """R = conv(conv(X)) W₃, conv(R) = relu([R | D^-1 A R] W).

    X [n, F] or the identity; W₁ [2F or 2n, hidden], W₂ [2·hidden, hidden], W₃ [hidden, c]. The
    mean is over all neighbours, where the public code draws a few anew in every pass; a node
    without neighbours has the mean 0.
    """

    reach = 2

    def __init__(self, sizes: Sizes, *, hidden: int = 64, seed: int = 0) -> None:
        super().__init__(sizes, hidden, dropout=0.0)
        glorot = Glorot(seed)
        self.W_1 = glorot(2 * num_inputs(sizes), hidden)
        self.W_2 = glorot(2 * hidden, hidden)
        self.W_3 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view, middle, outer = as_view(graph, self.W_1).field(2)
        R: Any = outer.features
        for here, W in ((middle, self.W_1), (view, self.W_2)):
            # Products first, means after: [R | M R] [U; V] = R U + M (R V).
            U, V = W.chunk(2)
            R = relu(here.take(R @ U) + here.operator("row") @ (R @ V))
        return narrow(R, self.W_3)

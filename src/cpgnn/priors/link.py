"""The LINK prior: whom a node is linked to, as features."""

from __future__ import annotations

from torch import Tensor, relu

from cpgnn.engine.inputs import as_view
from cpgnn.engine.sparse import dropped
from cpgnn.engine.views import View
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, narrow


class LinkPrior(Estimator):
    """R = relu(X W₁ + A W_A) W₂: an MLP whose input is the features and the node's row of A.

    Knows its nodes by position, so it cannot predict nodes that arrive later. For a featureless
    graph X is left out: the row of A says more about a node than its number.
    """

    kind = "link"
    reach = 0

    def __init__(
        self, sizes: Sizes, *, hidden: int = 64, dropout: float = 0.0, seed: int = 0
    ) -> None:
        super().__init__(sizes, hidden, dropout)
        glorot = Glorot(seed)
        F = sizes.num_features
        self.W_1 = None if F is None else glorot(F, hidden)
        self.W_A = glorot(sizes.num_nodes, hidden)
        self.W_2 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_A)
        R = view.adjacency_rows @ self.W_A
        if self.W_1 is not None:
            R = R + view.features @ self.W_1
        return narrow(relu(dropped(R, self.p)), self.W_2)

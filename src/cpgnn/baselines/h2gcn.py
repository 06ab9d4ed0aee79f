"""H2GCN-2 (Zhu et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor

from cpgnn.baselines.operators import two_hops
from cpgnn.engine.inputs import as_view
from cpgnn.engine.sparse import SparseOperator, dropped
from cpgnn.engine.views import View
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, num_inputs


class H2GCN(Estimator):
    """R = [R_0 | R_1 | R_2] W, R_0 = σ(X W_0), R_k = [S_1 R_{k-1} | S_2 R_{k-1}].

    S_1 = D^-½ A D^-½; S_2 is the same of the pairs at distance exactly two. σ is the ReLU or, with
    `relu=False`, nothing; `dropout` acts before W. X [n, F] or the identity; W_0 [F or n, hidden],
    W [7·hidden, c].
    """

    reach = 4

    def __init__(
        self,
        sizes: Sizes,
        *,
        hidden: int = 64,
        relu: bool = True,
        dropout: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__(sizes, hidden, dropout)
        self.relu = relu
        glorot = Glorot(seed)
        self.W_0 = glorot(num_inputs(sizes), hidden)
        self.W = glorot(7 * hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W)
        R_0 = view.whole.features @ self.W_0
        R_0 = torch.relu(R_0) if self.relu else R_0
        if self.p == 0:
            return self._folded(view, R_0)
        R_1 = torch.cat([S @ R_0 for S in hops(view.whole)], dim=1)
        R_2 = torch.cat([S @ R_1 for S in hops(view)], dim=1)
        R = torch.cat([view.pick(R_0), view.pick(R_1), R_2], dim=1)
        return dropped(R, self.p) @ self.W

    def _folded(self, view: View, R_0: Tensor) -> Tensor:
        """The same without dropout: W first, so that S_1 and S_2 meet c columns and not 64 or 128.

        With U_i = R_0 W_i, one block of W for each way to R_0:
        R W = U + S_1 (U_1 + S_1 U_11 + S_2 U_12) + S_2 (U_2 + S_1 U_21 + S_2 U_22).
        """
        W, W_1, W_2, W_11, W_12, W_21, W_22 = self.W.chunk(7)
        U = R_0 @ torch.cat([W, W_1, W_2, W_11, W_21, W_12, W_22], dim=1)
        c = self.num_classes
        U, inner, of_one, of_two = U.split([c, 2 * c, 2 * c, 2 * c], dim=1)
        S_1, S_2 = hops(view.whole)
        inner_1, inner_2 = (inner + S_1 @ of_one + S_2 @ of_two).chunk(2, dim=1)
        S_1, S_2 = hops(view)
        return view.pick(U) + S_1 @ inner_1 + S_2 @ inner_2


def hops(view: View) -> tuple[SparseOperator, SparseOperator]:
    """S_1 and S_2 with the rows of a view and all columns."""
    graph = view.graph
    return (
        view.rows_of("one hop", lambda: graph.matrix("sym"), symmetric=True),
        view.rows_of("two hops", lambda: two_hops(graph), symmetric=True),
    )

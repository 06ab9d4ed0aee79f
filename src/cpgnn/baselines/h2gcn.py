"""H2GCN-2 (Zhu et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.baselines.operators import kept, two_hops, whole
from cpgnn.engine.dense import dropped
from cpgnn.engine.sparse import SparseOperator, View, as_view
from cpgnn.graph import Graph
from cpgnn.priors import Glorot, Sizes, check_sizes, num_inputs


class H2GCN(nn.Module):
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
        super().__init__()
        check_sizes(sizes, hidden, dropout)
        self.relu, self.dropout, self.num_classes = relu, dropout, sizes.num_classes
        glorot = Glorot(seed)
        self.W_0 = glorot(num_inputs(sizes), hidden)
        self.W = glorot(7 * hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W)
        everything = whole(view)
        R_0 = everything.features @ self.W_0
        R_0 = torch.relu(R_0) if self.relu else R_0
        S, S_view = Hops.of(everything), Hops.of(view)
        if self.training and self.dropout > 0:
            R_1 = S.side_by_side(R_0)
            R_2 = S_view.side_by_side(R_1)
            R = torch.cat([view.pick(R_0), view.pick(R_1), R_2], dim=1)
            return dropped(R, self.dropout) @ self.W
        return self._folded(view, R_0, S, S_view)

    def _folded(self, view: View, R_0: Tensor, S: Hops, S_view: Hops) -> Tensor:
        """The same without dropout: W first, so that S_1 and S_2 meet c columns and not 64 or 128.

        With U_i = R_0 W_i, one block of W for each way to R_0:
        R W = U + S_1 (U_1 + S_1 U_11 + S_2 U_12) + S_2 (U_2 + S_1 U_21 + S_2 U_22).
        """
        W, W_1, W_2, W_11, W_12, W_21, W_22 = self.W.chunk(7)
        U = R_0 @ torch.cat([W, W_1, W_2, W_11, W_21, W_12, W_22], dim=1)
        c = self.num_classes
        U, inner, of_one, of_two = U.split([c, 2 * c, 2 * c, 2 * c], dim=1)
        inner = S.two.add(S.one.add(inner, of_one), of_two)
        inner_1, inner_2 = inner.chunk(2, dim=1)
        return S_view.two.add(S_view.one.add(view.pick(U), inner_1), inner_2)


@dataclass(frozen=True)
class Hops:
    """S_1 and S_2 with the rows of a view and all columns."""

    one: SparseOperator
    two: SparseOperator

    @classmethod
    def of(cls, view: View) -> Hops:
        return kept(view, "hops", lambda: cls._make(view))

    @classmethod
    def _make(cls, view: View) -> Hops:
        def operator(M: sp.csr_array) -> SparseOperator:
            if view.nodes is None:
                return SparseOperator.from_scipy(M, view.device, view.dtype, symmetric=True)
            rows = M[view.nodes]
            return SparseOperator.from_scipy(rows, view.device, view.dtype, trained=view.trained)

        return cls(operator(view.graph.matrix("sym")), operator(two_hops(view.graph)))

    def side_by_side(self, R: Tensor) -> Tensor:
        """[S_1 R | S_2 R]."""
        return torch.cat([self.one @ R, self.two @ R], dim=1)

"""H2GCN-2 (Zhu et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.baselines.operators import kept, picked, two_hops, whole
from cpgnn.dense import dropped
from cpgnn.graph import Graph
from cpgnn.priors import Glorot, Sizes, check_sizes, num_inputs
from cpgnn.sparse import SparseOperator, View, as_view

DENSE = 0.2
"""A two-hop matrix with a larger share of entries is multiplied with many columns as a dense one:
on Squirrel (0.31) 64 columns take 92 ms instead of 219, on Chameleon (0.23) 20 instead of 26."""
LARGEST_DENSE = 1 << 28
"""Entries a dense two-hop matrix may have (1 GiB)."""


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
        wide = self.training and self.dropout > 0
        S, S_view = Hops.of(everything, wide), Hops.of(view, wide)
        if wide:
            R_1 = S.side_by_side(R_0)
            R_2 = S_view.side_by_side(R_1)
            R = torch.cat([picked(view, R_0), picked(view, R_1), R_2], dim=1)
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
        return S_view.two.add(S_view.one.add(picked(view, U), inner_1), inner_2)


@dataclass(frozen=True)
class Hops:
    """S_1 and S_2 with the rows of a view and all columns."""

    one: SparseOperator
    two: SparseOperator
    dense_two: Tensor | None

    @classmethod
    def of(cls, view: View, wide: bool) -> Hops:
        """`wide`: for a product with many columns, where a dense S_2 may be faster."""
        return kept(view, f"hops {wide}", lambda: cls._make(view, wide))

    @classmethod
    def _make(cls, view: View, wide: bool) -> Hops:
        if wide:
            plain = cls.of(view, False)
            two = plain.two
            entries = two.shape[0] * two.shape[1]
            share = two.forward.values().numel() / max(entries, 1)
            dense = two.forward.to_dense() if share > DENSE and entries <= LARGEST_DENSE else None
            return cls(plain.one, plain.two, dense)

        def operator(M: sp.csr_array) -> SparseOperator:
            if view.nodes is None:
                return SparseOperator.from_scipy(M, view.device, view.dtype, symmetric=True)
            return SparseOperator.from_scipy(M[view.nodes], view.device, view.dtype)

        return cls(operator(view.graph.matrix("sym")), operator(two_hops(view.graph)), None)

    def side_by_side(self, R: Tensor) -> Tensor:
        """[S_1 R | S_2 R]."""
        two = self.two @ R if self.dense_two is None else self.dense_two @ R
        return torch.cat([self.one @ R, two], dim=1)

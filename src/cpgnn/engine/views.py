"""Views: the part of a graph that a set of nodes needs, as tensors.

`View.wider` adds the neighbours, so that K steps of propagation for a few labelled nodes cost
their K-hop receptive field and not the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from cpgnn.engine.sparse import SparseOperator, dropped

if TYPE_CHECKING:
    from cpgnn.engine.arrays import Matrix
    from cpgnn.graph import Graph

SATURATED = 0.7
"""A receptive field that holds more than this share of the nodes is widened to all of them:
beyond it, picking rows costs more than it saves."""


class IdentityRows:
    """Rows of the identity: the features of a featureless graph, never stored.

    `I[nodes] @ W` picks rows of W; `scale` [s, 1] is what dropout left of the ones.
    """

    def __init__(self, nodes: Tensor | None, scale: Tensor | None = None) -> None:
        self.nodes, self.scale = nodes, scale

    def __matmul__(self, W: Tensor) -> Tensor:
        rows = W if self.nodes is None else W.index_select(0, self.nodes)
        return rows if self.scale is None else rows * self.scale


class View:
    """The nodes S of a graph whose outputs are wanted, as tensors on one device.

    `operator(kind)` maps values on `wider` (S and its neighbours) to values on S; `inside` are the
    positions of S in `wider`. The view of all nodes is its own `wider`. Made by `Graph.view` and
    `of`.
    """

    def __init__(
        self,
        graph: Graph,
        nodes: np.ndarray | None,
        device: torch.device,
        dtype: torch.dtype,
        trained: int | None = None,
    ) -> None:
        self.graph, self.nodes, self.device, self.dtype = graph, nodes, device, dtype
        self.trained = trained
        self._operators: dict[str, SparseOperator] = {}

    def of(self, nodes: np.ndarray, *, trained: int | None = None) -> View:
        """The view of these nodes, in this order.

        `trained`: the loss sees only the first so many of them; gradients of others are not
        computed.
        """
        return View(self.graph, nodes, self.device, self.dtype, trained)

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes if self.nodes is None else len(self.nodes)

    @property
    def whole(self) -> View:
        """The view of all nodes of the same graph."""
        return self if self.nodes is None else self.graph.view(self.device, self.dtype)

    @cached_property
    def wider(self) -> View:
        """S together with its neighbours (all nodes once that is most of them)."""
        if self.nodes is None:
            return self
        n = self.graph.num_nodes
        reached = np.zeros(n, dtype=bool)
        reached[self.nodes] = True
        reached[self.graph.adjacency[self.nodes].indices] = True
        field = np.flatnonzero(reached)
        return self.whole if len(field) > SATURATED * n else self.of(field)

    def field(self, steps: int) -> list[View]:
        """The receptive field of so many steps: S, S and its neighbours, … [steps + 1]."""
        views = [self]
        for _ in range(steps):
            views.append(views[-1].wider)
        return views

    def widened(self, steps: int) -> View:
        return self.field(steps)[-1]

    @cached_property
    def inside(self) -> Tensor | None:
        """Positions of S within `wider` (None: they are the same)."""
        if self.nodes is None:
            return None
        position = self.nodes
        if self.wider.nodes is not None:
            position = np.searchsorted(self.wider.nodes, self.nodes)
        return torch.from_numpy(position.astype(np.int64)).to(self.device)

    @cached_property
    def positions(self) -> Tensor | None:
        """Positions of S among all nodes (None: they are the same)."""
        if self.nodes is None:
            return None
        return torch.from_numpy(self.nodes.astype(np.int64)).to(self.device)

    def pick(self, values: Tensor) -> Tensor:
        """Rows of `values` (on all nodes) that belong to S."""
        return values if self.positions is None else values.index_select(0, self.positions)

    def take(self, values: Tensor) -> Tensor:
        """Rows of `values` (on `wider`) that belong to S."""
        return values if self.inside is None else values.index_select(0, self.inside)

    def operator(self, kind: Matrix = "none") -> SparseOperator:
        """`graph.matrix(kind)` with rows S and the columns of `wider`."""

        def columns_of_wider() -> sp.csr_array:
            M = self.graph.matrix(kind)
            if self.nodes is None:
                return M
            M = M[self.nodes]
            return M if self.wider.nodes is None else M[:, self.wider.nodes]

        return self._once(kind, columns_of_wider, kind != "row", self.inside)

    def rows_of(
        self, name: str, matrix: Callable[[], sp.csr_array], *, symmetric: bool = False
    ) -> SparseOperator:
        """Rows S of a matrix [n, m] with all of its columns; made once and kept by its name."""
        return self._once(
            name, lambda: matrix() if self.nodes is None else matrix()[self.nodes], symmetric
        )

    def _once(
        self,
        name: str,
        matrix: Callable[[], sp.csr_array],
        symmetric: bool = False,
        rows: Tensor | None = None,
    ) -> SparseOperator:
        if name not in self._operators:
            self._operators[name] = SparseOperator.from_scipy(
                matrix(),
                self.device,
                self.dtype,
                symmetric=symmetric and self.nodes is None,
                trained=self.trained,
                rows=rows,
            )
        return self._operators[name]

    @property
    def adjacency_rows(self) -> SparseOperator:
        """Rows S of A over all columns: each node's list of neighbours as its features."""
        if self.nodes is None:
            return self.operator("none")
        return self.rows_of("rows of A", lambda: self.graph.adjacency)

    @cached_property
    def features(self) -> SparseOperator | IdentityRows | Tensor:
        """X[S], ready for `features @ W`."""
        X = self.graph.features
        if X is None:
            return IdentityRows(self.positions)
        if sp.issparse(X):
            return self.rows_of("X", lambda: X)
        rows = X if self.nodes is None else X[self.nodes]
        return torch.from_numpy(rows).to(self.device, self.dtype)

    def dropped_features(self, p: float) -> SparseOperator | IdentityRows | Tensor:
        """X[S] with dropout on its stored entries (on the ones of the identity, if X is that)."""
        X = self.features
        if p == 0:
            return X
        if isinstance(X, IdentityRows):
            ones = torch.ones(self.num_nodes, 1, device=self.device, dtype=self.dtype)
            return IdentityRows(X.nodes, dropped(ones, p))
        return X.dropout(p) if isinstance(X, SparseOperator) else dropped(X, p)

"""The one sparse product with its gradient, and the views of a graph that models multiply with.

Every product with A, with the Laplacian or with sparse features goes through `SparseOperator`.
A `View` is the part of a graph that a set of nodes needs; `View.wider` adds their neighbours, so
that K steps of propagation for a few labelled nodes cost their K-hop receptive field.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.engine.dense import bags, by_rows, dropped, first_order, take_rows

if TYPE_CHECKING:
    from cpgnn.engine.arrays import Matrix
    from cpgnn.graph import Graph

WIDE, LARGE = 9, 1 << 18
"""From so many columns or entries of B on, a sparse product is summed as bags of rows."""

SATURATED = 0.7
"""A receptive field that holds more than this share of the nodes is widened to all of them:
beyond it, picking rows costs more than it saves."""


def csr_tensor(matrix: sp.csr_array, device: Any = "cpu", dtype: Any = torch.float32) -> Tensor:
    """A torch CSR tensor that shares the matrix's memory where device and types allow it."""
    index = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(index, copy=False)),
            torch.from_numpy(matrix.indices.astype(index, copy=False)),
            torch.from_numpy(matrix.data).to(dtype),
            matrix.shape,
            device=device,
            check_invariants=False,
        )


class SparseOperator:
    """A sparse matrix M [r, s] with its transpose at hand: `M @ B`, `M.add(base, B, scale)`.

    The gradient with respect to B is Mᵀ G, a product like the forward one. A symmetric matrix is
    its own transpose and kept once. The transpose may end after the first rows of M: those are
    `trained`, and the gradient of all others is taken to be 0.
    """

    def __init__(self, forward: Tensor, transpose: Tensor) -> None:
        self.forward, self.transpose = forward, transpose

    @classmethod
    def from_scipy(
        cls,
        matrix: sp.csr_array,
        device: Any,
        dtype: Any,
        *,
        symmetric: bool = False,
        trained: int | None = None,
    ) -> SparseOperator:
        forward = csr_tensor(matrix, device, dtype)
        if symmetric:
            return cls(forward, forward)
        return cls(forward, csr_tensor(sp.csr_array(matrix[:trained].T.tocsr()), device, dtype))

    @property
    def shape(self) -> torch.Size:
        return self.forward.shape

    def __matmul__(self, B: Tensor) -> Tensor:
        return _Product.apply(self, B, None, 1.0)

    def add(self, base: Tensor, B: Tensor, scale: float = 1.0) -> Tensor:
        """base + scale · M B in one pass."""
        return _Product.apply(self, B, base, scale)

    def dropout(self, p: float) -> SparseOperator:
        """Each stored value set to 0 with probability p, the others scaled by 1/(1-p)."""
        values = dropped(self.forward.values(), p)
        transposed = values[self._transposed_order]
        return SparseOperator(
            with_values(self.forward, values), with_values(self.transpose, transposed)
        )

    @cached_property
    def _transposed_order(self) -> Tensor:
        """Where each stored value of the transpose stands among those of the matrix."""
        cols, trained = self.transpose.shape
        starts = self.forward.crow_indices().cpu().numpy()[: trained + 1]
        places = self.forward.col_indices().cpu().numpy()[: starts[-1]]
        order = sp.csr_array((np.arange(starts[-1]), places, starts), shape=(trained, cols))
        return torch.from_numpy(order.T.tocsr().data).to(self.forward.device)


def product(M: Tensor, B: Tensor) -> Tensor:
    """M B for a CSR matrix M [r, s] and B [s, k]; both without gradients.

    A row of M B is a weighted sum of rows of B: with many columns, torch's kernel for bags of
    embeddings takes a third of the time that its product of a CSR matrix does. With few it is as
    fast where B does not fit into the cache, and slower where it does.
    """
    B = by_rows(B)
    if not _as_bags(B):
        return M @ B
    return bags(B, M.col_indices(), M.crow_indices(), M.values())


def _as_bags(B: Tensor) -> bool:
    large = B.shape[1] >= WIDE or B.numel() >= LARGE
    return large and B.dtype == torch.float32 and B.device.type == "cpu"


def with_values(matrix: Tensor, values: Tensor) -> Tensor:
    """The CSR matrix with other values at the same places."""
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, matrix.shape, check_invariants=False
    )


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, M: SparseOperator, B: Tensor, base: Tensor | None, scale: float
    ) -> Tensor:
        ctx.M, ctx.scale = M, scale
        if base is None:
            return product(M.forward, B)
        if _as_bags(B):
            return product(M.forward, B).mul_(scale).add_(base)
        return torch.addmm(base, M.forward, B, alpha=scale)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None, None]:
        to_base = grad if ctx.needs_input_grad[2] else None
        if not ctx.needs_input_grad[1]:
            return None, None, to_base, None
        to_B = product(ctx.M.transpose, grad[: ctx.M.transpose.shape[1]])
        return None, to_B if ctx.scale == 1 else to_B.mul_(ctx.scale), to_base, None


class IdentityRows:
    """Rows of the identity: the features of a featureless graph, never stored.

    `I[nodes] @ W` picks rows of W; `scale` [s, 1] is what dropout left of the ones.
    """

    def __init__(self, nodes: Tensor | None, scale: Tensor | None = None) -> None:
        self.nodes, self.scale = nodes, scale

    def __matmul__(self, W: Tensor) -> Tensor:
        rows = W if self.nodes is None else take_rows(W, self.nodes)
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
        if len(field) > SATURATED * n:
            return self.graph.view(self.device, self.dtype)
        return self.of(field)

    def widened(self, steps: int) -> View:
        view = self
        for _ in range(steps):
            view = view.wider
        return view

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
        return values if self.inside is None else take_rows(values, self.inside)

    def operator(self, kind: Matrix = "none") -> SparseOperator:
        """`graph.matrix(kind)` with rows S and the columns of `wider`."""
        if kind not in self._operators:
            M, symmetric = self.graph.matrix(kind), False
            if self.nodes is None:
                symmetric = kind != "row"
            else:
                M = M[self.nodes]
                if self.wider.nodes is not None:
                    M = M[:, self.wider.nodes]
            self._operators[kind] = SparseOperator.from_scipy(
                M, self.device, self.dtype, symmetric=symmetric, trained=self.trained
            )
        return self._operators[kind]

    @cached_property
    def adjacency_rows(self) -> SparseOperator:
        """Rows S of A over all columns: each node's list of neighbours as its features."""
        if self.nodes is None:
            return self.operator("none")
        return self._rows(self.graph.adjacency[self.nodes])

    def _rows(self, matrix: sp.csr_array) -> SparseOperator:
        return SparseOperator.from_scipy(matrix, self.device, self.dtype, trained=self.trained)

    @cached_property
    def features(self) -> SparseOperator | IdentityRows | Tensor:
        """X[S], ready for `features @ W`."""
        X = self.graph.features
        if X is None:
            return IdentityRows(self.positions)
        rows = X if self.nodes is None else X[self.nodes]
        if sp.issparse(rows):
            return self._rows(rows)
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


def logits_on(model: nn.Module, view: View) -> Tensor:
    """The model's logits on a view. One that has no `reach` is given the graph, for all nodes."""
    if getattr(model, "reach", None) is not None:
        return model(view)
    return view.pick(model(view.graph))


def as_view(graph: Graph | View, like: Tensor) -> View:
    """`graph` as a view on the device and in the dtype of `like`."""
    return graph if isinstance(graph, View) else graph.view(like.device, like.dtype)

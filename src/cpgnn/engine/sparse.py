"""The one sparse product, with its gradient; A, the Laplacian and sparse features go through it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

WIDE, LARGE = 9, 1 << 18
"""From so many columns or entries of B on, a sparse product is summed as bags of rows."""


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
    """A sparse matrix M [r, s] with its transpose at hand, for `M @ B`.

    The gradient with respect to B is Mᵀ G, a product like the forward one; torch would transpose M
    anew in every backward pass. A symmetric matrix is its own transpose and kept once. The
    transpose may end after the first rows of M: those are `trained`, and the gradient of all
    others is taken to be 0. `rows` says where M's rows stand among its columns (None: M is square
    and they are the same).
    """

    def __init__(self, forward: Tensor, transpose: Tensor, rows: Tensor | None = None) -> None:
        self.forward, self.transpose, self.rows = forward, transpose, rows

    @classmethod
    def from_scipy(
        cls,
        matrix: sp.csr_array,
        device: Any,
        dtype: Any,
        *,
        symmetric: bool = False,
        trained: int | None = None,
        rows: Tensor | None = None,
    ) -> SparseOperator:
        forward = csr_tensor(matrix, device, dtype)
        if symmetric:
            return cls(forward, forward, rows)
        transpose = csr_tensor(sp.csr_array(matrix[:trained].T.tocsr()), device, dtype)
        return cls(forward, transpose, rows)

    @property
    def shape(self) -> torch.Size:
        return self.forward.shape

    def __matmul__(self, B: Tensor) -> Tensor:
        return _Product.apply(self, B)

    def own(self, B: Tensor) -> Tensor:
        """The rows of B [s, k] that belong to M's own rows, [r, k]."""
        return B if self.rows is None else B.index_select(0, self.rows)

    def dropout(self, p: float) -> SparseOperator:
        """Each stored value set to 0 with probability p, the others scaled by 1/(1-p)."""
        values = dropped(self.forward.values(), p)
        transposed = values[self._transposed_order]
        return SparseOperator(
            with_values(self.forward, values), with_values(self.transpose, transposed), self.rows
        )

    @cached_property
    def _transposed_order(self) -> Tensor:
        """Where each stored value of the transpose stands among those of the matrix."""
        cols, trained = self.transpose.shape
        starts = self.forward.crow_indices().numpy(force=True)[: trained + 1]
        places = self.forward.col_indices().numpy(force=True)[: starts[-1]]
        order = sp.csr_array((np.arange(starts[-1]), places, starts), shape=(trained, cols))
        return torch.from_numpy(order.T.tocsr().data).to(self.forward.device)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, M: SparseOperator, B: Tensor) -> Tensor:
        ctx.M = M
        return product(M.forward, B)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None]:
        if not ctx.needs_input_grad[1]:
            return None, None
        transpose = ctx.M.transpose
        return None, product(transpose, grad[: transpose.shape[1]])


def product(M: Tensor, B: Tensor) -> Tensor:
    """M B for a CSR matrix M [r, s] and B [s, k]; both without gradients.

    A row of M B is a weighted sum of rows of B: with many columns, torch's kernel for bags of
    embeddings takes a third of the time that its product of a CSR matrix does. With few it is as
    fast where B does not fit into the cache, and slower where it does.
    """
    B = B.contiguous()
    large = B.shape[1] >= WIDE or B.numel() >= LARGE
    if not large or B.dtype != torch.float32 or B.device.type != "cpu":
        return M @ B
    bags = (M.col_indices(), M.crow_indices(), False, 0, False, M.values(), True)
    return torch.embedding_bag(B, *bags)[0]


def with_values(matrix: Tensor, values: Tensor) -> Tensor:
    """The CSR matrix with other values at the same places."""
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, matrix.shape, check_invariants=False
    )


def dropped(values: Tensor, p: float) -> Tensor:
    """Each value set to 0 with probability p (to 16 bits), the others scaled by 1/(1-p)."""
    return values if p == 0 else values * drawn_mask(values.shape, p, values)


def drawn_mask(shape: Sequence[int], p: float, like: Tensor, rows: Tensor | None = None) -> Tensor:
    """What `dropped` multiplies by; of [k, n, ...] only some of the n rows, if they are named.

    From 16 random bits for each value: torch's dropout takes eight times as long on a CPU.
    """
    count = math.prod(shape)
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=like.device)
    bits = words.random_(-(2**63), None).view(torch.int16)[:count].view(shape)
    if rows is not None:
        bits = bits.index_select(1, rows)
    mask = torch.empty(bits.shape, device=like.device, dtype=like.dtype)
    torch.ge(bits, round(p * 2**16) - 2**15, out=mask)
    return mask.mul_(1 / (1 - p))

"""Compatibility-guided propagation: the second stage of CPGNN."""

from __future__ import annotations

from torch import Tensor

from cpgnn.dense import add_product
from cpgnn.sparse import SparseOperator


def propagate(A: SparseOperator | Tensor, B_0: Tensor, H_bar: Tensor, num_layers: int) -> Tensor:
    """B̄^(k) = B̄^(0) + A B̄^(k-1) H̄ for k = 1 … K; returns B̄^(K).

    A [n, n], sparse or dense; B_0 [n, c] centred beliefs; H_bar [c, c].
    """
    B = B_0
    for _ in range(num_layers):
        B = step(A, B_0, B, H_bar)
    return B


def step(A: SparseOperator | Tensor, B_0: Tensor, B: Tensor, H_bar: Tensor) -> Tensor:
    """B_0 + (A B) H̄. A [r, s] with r ≤ s, B_0 [r, c], B [s, c]: H̄ meets the fewer rows."""
    return add_product(B_0, A @ B, H_bar)

"""Compatibility-guided propagation: the second stage of CPGNN."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cpgnn.engine.dense import by_rows, first_order
from cpgnn.engine.sparse import SparseOperator, product


def propagate(A: SparseOperator | Tensor, B_0: Tensor, H_bar: Tensor, num_layers: int) -> Tensor:
    """B̄^(k) = B̄^(0) + A B̄^(k-1) H̄ for k = 1 … K; returns B̄^(K).

    A [n, n], sparse or dense; B_0 [n, c] centred beliefs; H_bar [c, c].
    """
    B = B_0
    for _ in range(num_layers):
        B = step(A, B_0, B, H_bar)
    return B


def step(
    A: SparseOperator | Tensor,
    B_0: Tensor,
    B: Tensor,
    H_bar: Tensor,
    rows: Tensor | None = None,
    shift: float = 0.0,
) -> Tensor:
    """B_0[rows] + (A B) H̄ + shift, stored by columns (see `dense`).

    A [r, s] with r ≤ s; B_0, B [s, c]; `rows` [r], distinct (None: all): H̄ meets the fewer rows.
    """
    if isinstance(A, Tensor):
        return (B_0 if rows is None else B_0[rows]) + A @ B @ H_bar + shift
    return _Step.apply(A, rows, B_0, None if B is B_0 else B, H_bar, shift)


class _Step(torch.autograd.Function):
    """One node of the graph of gradients instead of five. B = None stands for B_0."""

    @staticmethod
    def forward(
        ctx: Any,
        A: SparseOperator,
        rows: Tensor | None,
        B_0: Tensor,
        B: Tensor | None,
        H_bar: Tensor,
        shift: float,
    ) -> Tensor:
        AB = product(A.forward, B_0 if B is None else B)
        base = B_0.t() if rows is None else B_0.t().index_select(1, rows)
        ctx.A, ctx.rows, ctx.first, ctx.width = A, rows, B is None, len(B_0)
        ctx.save_for_backward(AB, H_bar)
        out = torch.addmm(base, H_bar.t(), AB.t())
        return (out.add_(shift) if shift else out).t()

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        AB, H_bar = ctx.saved_tensors
        trained = ctx.A.transpose.shape[1]
        G = by_rows(grad[:trained])
        to_H = AB[:trained].t() @ G if ctx.needs_input_grad[4] else None
        if not ctx.needs_input_grad[2]:
            return None, None, None, None, to_H, None
        to_B = H_bar @ product(ctx.A.transpose, G).t()
        if ctx.first:
            return None, None, _added(to_B, ctx.rows, G).t(), None, to_H, None
        to_B_0 = _added(G.new_zeros(G.shape[1], ctx.width), ctx.rows, G)
        return None, None, to_B_0.t(), to_B.t(), to_H, None


def _added(to: Tensor, rows: Tensor | None, G: Tensor) -> Tensor:
    """G [r, c] added in place to the columns `rows` of `to` [c, s]."""
    return to.add_(G.t()) if rows is None else to.index_add_(1, rows[: len(G)], G.t())

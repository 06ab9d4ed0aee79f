"""Dense operations on tall, narrow matrices [n, c], where c is a handful of classes.

The usual kernels are made for wide matrices: with five columns a plain product takes five times
as long as its transpose does, and a softmax along the short side ten times as long as along the
long side. These compute the same values with the long side innermost: their results are stored
by columns (`B.t()` is contiguous), which only the sparse product has to undo.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch
from torch import Tensor

NARROW, FEW = 10, 4000
"""Columns up to which, and entries from which on, working column by column pays."""

BLOCK = 4096
"""Rows of a block: 64 hidden values each are 1 MB in float32."""


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward pass that is not differentiated itself.

    Like torch's `once_differentiable`, which takes longer than the arithmetic on a small graph.
    """

    @wraps(backward)
    def checked(ctx: Any, *grads: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise NotImplementedError("Second derivatives are not there: try create_graph=False.")
        return backward(ctx, *grads)

    return checked


def relu_product(Z: Tensor, W: Tensor) -> Tensor:
    """relu(Z) W for Z [n, hidden] and a narrow W [hidden, c]; the result is stored by columns."""
    return _ReluProduct.apply(Z, W)


def relu_network(X: Tensor, W_1: Tensor, W_2: Tensor) -> Tensor:
    """relu(X W₁) W₂ for an X [n, F] that needs no gradient; the result is stored by columns.

    Goes through X in blocks of rows and again on the way back, so that what is hidden [n, hidden]
    never leaves the cache: for a small F that is cheaper than keeping it, in time and in memory.
    """
    return _ReluNetwork.apply(X, W_1, W_2)


def centered_softmax(R: Tensor) -> Tensor:
    """softmax(R) - 1/c along the rows of R [n, c]; the result is stored by columns."""
    return _CenteredSoftmax.apply(R)


def cross_entropy(logits: Tensor, shares: Tensor) -> Tensor:
    """Σ shares ∘ log softmax(logits)ᵀ for logits [r, c].

    shares [c, r]: at its label, minus what each row counts in the loss, 0 for one that does not.
    """
    return _CrossEntropy.apply(logits, shares)


def by_rows(B: Tensor) -> Tensor:
    """B [n, c] stored by rows, without its gradient.

    numpy copies a narrow matrix into its other layout four times as fast as torch.
    """
    narrow = B.shape[1] <= NARROW and B.numel() >= FEW
    if B.is_contiguous() or B.device.type != "cpu" or not narrow:
        return B.contiguous()
    rows = torch.empty(B.shape, dtype=B.dtype)
    out, columns = rows.numpy(), B.detach().t().numpy()
    for j, column in enumerate(columns):
        out[:, j] = column
    return rows


def by_columns(B: Tensor) -> Tensor:
    """Bᵀ [c, n] of B [n, c], contiguous, without its gradient."""
    B_t = B.t()
    if B_t.is_contiguous() or B.device.type != "cpu" or B.numel() < FEW:
        return B_t.contiguous()
    return torch.from_numpy(np.ascontiguousarray(B_t.detach().numpy()))


def bags(B: Tensor, index: Tensor, starts: Tensor, weights: Tensor | None = None) -> Tensor:
    """Σ of the rows B[index] between two starts, each times its weight; without gradients.

    index, weights [e]; starts [r + 1], the last one e. Torch calls this bags of embeddings.
    """
    return torch.embedding_bag(B, index, starts, False, 0, False, weights, True)[0]


def take_rows(values: Tensor, rows: Tensor) -> Tensor:
    """values[rows] for distinct rows: the gradient is copied back, not added up."""
    return _TakeRows.apply(values, rows)


def dropped(values: Tensor, p: float) -> Tensor:
    """Each value set to 0 with probability p, the others scaled by 1/(1-p).

    From 16 random bits for each value: torch's dropout takes five times as long on a CPU.
    """
    return values if p == 0 else values * _mask(values, p)


def _mask(like: Tensor, p: float) -> Tensor:
    """1/(1-p) with probability 1-p (to 16 bits), else 0."""
    count = like.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=like.device)
    bits = words.random_(-(2**63), None).view(torch.int16)[:count].view(like.shape)
    mask = torch.empty(like.shape, device=like.device, dtype=like.dtype)
    torch.ge(bits, round(p * 2**16) - 2**15, out=mask)
    return mask.mul_(1 / (1 - p))


class _TakeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(values)
        if values.is_contiguous():
            return values.index_select(0, rows)
        return values.t().index_select(1, rows).t()

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        if grad.is_contiguous():
            return grad.new_zeros(ctx.count, grad.shape[1]).index_copy_(0, rows, grad), None
        return grad.new_zeros(grad.shape[1], ctx.count).index_copy_(1, rows, grad.t()).t(), None


class _ReluProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Z: Tensor, W: Tensor) -> Tensor:
        R = torch.relu(Z)
        ctx.save_for_backward(R, W)
        return (W.t() @ R.t()).t()

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        R, W = ctx.saved_tensors
        to_W = (grad.t() @ R).t() if ctx.needs_input_grad[1] else None
        if not ctx.needs_input_grad[0]:
            return None, to_W
        to_Z = grad @ W.t()
        torch.ops.aten.threshold_backward.grad_input(to_Z, R, 0, grad_input=to_Z)  # in place
        return to_Z, to_W


class _ReluNetwork(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor, W_1: Tensor, W_2: Tensor) -> Tensor:
        ctx.save_for_backward(X, W_1, W_2)
        out = X.new_empty(W_2.shape[1], len(X))
        for rows in _blocks(len(X)):
            R = torch.relu_(X[rows] @ W_1)
            out[:, rows] = W_2.t() @ R.t()
        return out.t()

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        X, W_1, W_2 = ctx.saved_tensors
        to_W_1, to_W_2 = torch.zeros_like(W_1), torch.zeros_like(W_2)
        for rows in _blocks(len(X)):
            R, G = torch.relu_(X[rows] @ W_1), grad[rows]
            to_W_2 += (G.t() @ R).t()
            to_Z = G @ W_2.t()
            torch.ops.aten.threshold_backward.grad_input(to_Z, R, 0, grad_input=to_Z)  # in place
            to_W_1.addmm_(X[rows].t(), to_Z)
        return None, to_W_1, to_W_2


def _blocks(count: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, count, BLOCK)]


class _CenteredSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, R: Tensor) -> Tensor:
        P = torch.softmax(by_columns(R), dim=0)
        ctx.save_for_backward(P)
        return (P - 1 / len(P)).t()

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (P,) = ctx.saved_tensors
        return torch._softmax_backward_data(by_columns(grad), P, 0, P.dtype).t()


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, shares: Tensor) -> Tensor:
        log_P = torch.log_softmax(by_columns(logits), dim=0)
        ctx.save_for_backward(log_P, shares)
        return (log_P * shares).sum()

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        log_P, shares = ctx.saved_tensors
        return torch._log_softmax_backward_data(shares, log_P, 0, log_P.dtype).mul_(grad).t(), None

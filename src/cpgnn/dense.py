"""Dense operations on tall, narrow matrices [n, c], where c is a handful of classes.

The usual kernels are made for wide matrices: with five columns a plain product takes five times
as long as its transpose does, and a softmax along the short side ten times as long as along the
long side. These compute the same values with the long side innermost: their results are stored
by columns (`B.t()` is contiguous), which only the sparse product has to undo.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def relu_product(Z: Tensor, W: Tensor) -> Tensor:
    """relu(Z) W for Z [n, hidden] and a narrow W [hidden, c]; the result is stored by columns."""
    return _ReluProduct.apply(Z, W)


def centered_softmax(R: Tensor) -> Tensor:
    """softmax(R) - 1/c along the rows of R [n, c]; the result is stored by columns."""
    return _CenteredSoftmax.apply(R)


def add_product(base: Tensor, B: Tensor, H: Tensor) -> Tensor:
    """base + B H for base, B [n, c] and H [c, c]; the result is stored by columns."""
    return torch.addmm(base.t(), H.t(), B.t()).t()


def mean_cross_entropy(logits: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean of -log softmax(logits)[label] over the first len(labels) rows, weighted by class
    where asked."""
    return _MeanCrossEntropy.apply(logits, labels, weight)


def predicted(logits: Tensor) -> Tensor:
    """The class of the largest logit in each row, the first of equals (`argmax` takes eight times
    as long on what is stored by columns)."""
    return logits.max(dim=1).indices


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
    @once_differentiable
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
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        R, W = ctx.saved_tensors
        to_W = (grad.t() @ R).t() if ctx.needs_input_grad[1] else None
        if not ctx.needs_input_grad[0]:
            return None, to_W
        to_Z = grad @ W.t()
        torch.ops.aten.threshold_backward.grad_input(to_Z, R, 0, grad_input=to_Z)  # in place
        return to_Z, to_W


class _CenteredSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, R: Tensor) -> Tensor:
        B_t = torch.softmax(R.t().contiguous(), dim=0)
        B_t -= 1 / len(B_t)
        ctx.save_for_backward(B_t)
        return B_t.t()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (B_t,) = ctx.saved_tensors
        P_t = B_t + 1 / len(B_t)
        weighted = P_t * grad.t().contiguous()
        return weighted.sub_(P_t.mul_(weighted.sum(dim=0))).t()


class _MeanCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, weight: Tensor | None) -> Tensor:
        log_P = torch.log_softmax(logits.t()[:, : len(labels)], dim=0)
        own = labels.unsqueeze(0)
        share = None if weight is None else weight[labels] / weight[labels].sum()
        ctx.save_for_backward(log_P, own, share)
        ctx.count = len(logits)
        log_own = log_P.gather(0, own)
        return -(log_own.mean() if share is None else log_own.mul_(share).sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """share · (softmax - one-hot), 0 in the rows that the mean leaves out."""
        log_P, own, share = ctx.saved_tensors
        c, counted = log_P.shape
        everywhere = log_P.new_zeros(c, ctx.count)
        G = torch.exp(log_P, out=everywhere[:, :counted])
        G.scatter_add_(0, own, log_P.new_full((1, 1), -1.0).expand_as(own))
        G *= grad / counted if share is None else grad * share
        return everywhere.t(), None, None

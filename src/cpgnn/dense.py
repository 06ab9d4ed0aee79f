"""Dense operations on tall, narrow matrices [n, c], where c is a handful of classes.

The usual kernels are made for wide matrices: with five columns a plain product takes five times
as long as its transpose does, and a softmax along the short side ten times as long as along the
long side. These compute the same values with the long side innermost.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import cross_entropy


def relu_product(Z: Tensor, W: Tensor) -> Tensor:
    """relu(Z) W for Z [n, hidden] and a narrow W [hidden, c]; the result is stored by columns."""
    return _ReluProduct.apply(Z, W)


def centered_softmax(R: Tensor) -> Tensor:
    """softmax(R) - 1/c along the rows of R [n, c]; the result is stored by rows."""
    return _CenteredSoftmax.apply(R)


def mean_cross_entropy(logits: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean over rows of -log softmax(logits)[label], weighted by class where asked."""
    by_class = logits.t().contiguous().unsqueeze(0)
    return cross_entropy(by_class, labels.unsqueeze(0), weight)


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
        return values.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return grad.new_zeros(ctx.count, *grad.shape[1:]).index_copy_(0, rows, grad), None


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
        B = torch.softmax(R.t().contiguous(), dim=0).t().contiguous()
        B -= 1 / R.shape[1]
        ctx.save_for_backward(B)
        return B

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (B,) = ctx.saved_tensors
        P = B + 1 / B.shape[1]
        weighted = P * grad
        return weighted.sub_(P.mul_(weighted.sum(dim=1, keepdim=True)))

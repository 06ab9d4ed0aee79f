"""Dropout from 16 random bits for each value: torch's takes five times as long on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from cpgnn.sparse import IdentityRows, SparseOperator, View, _with_values


def dropped(values: Tensor, p: float) -> Tensor:
    """Each value set to 0 with probability p, the others scaled by 1/(1-p)."""
    return values if p == 0 else values * _mask(values, p)


def dropped_features(view: View, p: float) -> SparseOperator | IdentityRows | Tensor:
    """X with dropout on its stored entries (on the ones of the identity, where X is that)."""
    X = view.features
    if p == 0:
        return X
    if isinstance(X, IdentityRows):
        ones = torch.ones(view.num_nodes, 1, device=view.device, dtype=view.dtype)
        return IdentityRows(X.nodes, dropped(ones, p))
    if isinstance(X, Tensor):
        return dropped(X, p)
    values = dropped(X.forward.values(), p)
    transposed = values[X._transposed_order]
    return SparseOperator(_with_values(X.forward, values), _with_values(X.transpose, transposed))


def _mask(like: Tensor, p: float) -> Tensor:
    """1/(1-p) with probability 1-p (to 16 bits), else 0."""
    count = like.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=like.device)
    bits = words.random_(-(2**63), None).view(torch.int16)[:count].view(like.shape)
    mask = torch.empty(like.shape, device=like.device, dtype=like.dtype)
    torch.ge(bits, round(p * 2**16) - 2**15, out=mask)
    return mask.mul_(1 / (1 - p))

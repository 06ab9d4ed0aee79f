"""The fused step against torch's plain one, in two groups with weight decay of their own."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from cpgnn.adam import FusedAdam


def trained(make) -> list[np.ndarray]:
    generator = torch.Generator().manual_seed(0)
    weights = [
        nn.Parameter(torch.randn(4, 3, dtype=torch.float64, generator=generator)) for _ in range(3)
    ]
    optimizer = make([{"params": weights[:2]}, {"params": weights[2:]}])
    optimizer.param_groups[0]["weight_decay"] = 0.1
    for epoch in range(20):
        for weight in weights:
            weight.grad = None
        used = weights if epoch > 5 else weights[:2]  # the last one joins late
        sum((weight**3).sum() for weight in used).backward()
        optimizer.step()
    return [weight.detach().numpy() for weight in weights]


def test_same_weights_as_torch():
    plain = trained(lambda groups: torch.optim.Adam(groups, lr=0.05, eps=1e-7, foreach=False))
    fused = trained(lambda groups: FusedAdam(groups, lr=0.05, eps=1e-7))
    for ours, theirs in zip(fused, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)

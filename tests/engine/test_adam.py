"""The fused step against torch's plain one and, where a weight joins late, against the formula."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from cpgnn.engine.adam import FusedAdam

RATE, EPSILON, DECAY, JOINS = 0.05, 1e-7, 0.1, 6


def start() -> list[nn.Parameter]:
    """Three weights; the last one is alone in its group, which does not decay."""
    generator = torch.Generator().manual_seed(0)
    return [
        nn.Parameter(torch.randn(4, 3, dtype=torch.float64, generator=generator)) for _ in range(3)
    ]


def trained(make, weights, joins: int = 0) -> list[np.ndarray]:
    """Twenty steps down Σ w³; the last weight has no gradient before step `joins`."""
    optimizer = make([{"params": weights[:2], "weight_decay": DECAY}, {"params": weights[2:]}])
    for step in range(20):
        for weight in weights:
            weight.grad = None
        used = weights if step >= joins else weights[:2]
        sum((weight**3).sum() for weight in used).backward()
        optimizer.step()
    return [weight.detach().numpy() for weight in weights]


def fused(groups):
    return FusedAdam(groups, lr=RATE, eps=EPSILON)


def test_same_weights_as_torch():
    plain = trained(lambda groups: torch.optim.Adam(groups, lr=RATE, eps=EPSILON), start())
    for ours, theirs in zip(trained(fused, start()), plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_a_weight_that_joins_late_shares_the_count():
    w = start()[2].detach().numpy()
    m = v = np.zeros_like(w)
    for step in range(JOINS + 1, 21):
        g = 3 * w**2
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + EPSILON)
    np.testing.assert_allclose(trained(fused, start(), JOINS)[2], w, rtol=1e-12)

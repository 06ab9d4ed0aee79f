"""Adam against torch's plain one and, where a weight joins late, against the formula."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from cpgnn.engine.adam import Adam

RATE, EPSILON, DECAY, JOINS = 0.05, 1e-7, 0.1, 6


def start() -> list[nn.Parameter]:
    """Three weights, of which the last one does not decay."""
    generator = torch.Generator().manual_seed(0)
    return [
        nn.Parameter(torch.randn(4, 3, dtype=torch.float64, generator=generator)) for _ in range(3)
    ]


def ours(weights) -> Adam:
    optimizer = Adam(weights[:2], weights[2:], lr=RATE, eps=EPSILON)
    optimizer.weight_decay = DECAY
    return optimizer


def theirs(weights) -> torch.optim.Adam:
    groups = [{"params": weights[:2], "weight_decay": DECAY}, {"params": weights[2:]}]
    return torch.optim.Adam(groups, lr=RATE, eps=EPSILON)


def trained(make, joins: int = 0) -> list[np.ndarray]:
    """Twenty steps down Σ w³; the last weight has no gradient before step `joins`."""
    weights = start()
    optimizer = make(weights)
    for step in range(20):
        optimizer.zero_grad()
        used = weights if step >= joins else weights[:2]
        sum((weight**3).sum() for weight in used).backward()
        optimizer.step()
    return [weight.detach().numpy() for weight in weights]


def test_same_weights_as_torch():
    for one, other in zip(trained(ours), trained(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_a_weight_that_joins_late_shares_the_count():
    w = start()[2].detach().numpy()
    m = v = np.zeros_like(w)
    for step in range(JOINS + 1, 21):
        g = 3 * w**2
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + EPSILON)
    np.testing.assert_allclose(trained(ours, JOINS)[2], w, rtol=1e-12)


def test_its_state_is_all_that_a_step_changes_beside_the_weights():
    weights = start()
    optimizer = ours(weights)

    def step() -> None:
        optimizer.zero_grad()
        sum((weight**3).sum() for weight in weights).backward()
        optimizer.step()

    step()
    live = [*(weight.detach() for weight in weights), *optimizer.state]
    before = [tensor.clone() for tensor in live]
    step()
    after = [tensor.clone() for tensor in live]
    for tensor, value in zip(live, before, strict=True):
        tensor.copy_(value)
    step()
    assert all(torch.equal(a, b) for a, b in zip(live, after, strict=True))


def test_frozen_weights_stay():
    weights = start()
    weights[0].requires_grad_(False)
    before = weights[0].clone()
    optimizer = ours(weights)
    sum((weight**3).sum() for weight in weights).backward()
    optimizer.step()
    assert torch.equal(weights[0], before)

"""Torch's random numbers from a seed, which may be a number of NumPy too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(int(seed))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from `seed` inside, as they were outside."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(int(seed))
        yield

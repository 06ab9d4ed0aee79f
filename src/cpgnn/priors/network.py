"""What fitted networks keep: NumPy alone, so that whoever asks them need not start torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CHUNK = 20_000
"""Rows that go through a network together at prediction."""


@dataclass(frozen=True, eq=False)
class Network:
    """The weights of one copy; NumPy, so that they can be kept and read anywhere."""

    W: np.ndarray
    """[F, hidden]"""
    b: np.ndarray
    W_2: np.ndarray
    """[hidden, c]"""
    b_2: np.ndarray

    def logits(self, X: Any) -> np.ndarray:
        """R [n, c], float32."""
        out = np.empty((X.shape[0], len(self.b_2)), dtype=np.float32)
        for rows in chunks(len(out)):
            out[rows] = np.maximum(X[rows] @ self.W + self.b, 0) @ self.W_2 + self.b_2
        return out


def mean_network(networks: Sequence[Network]) -> Network:
    """One network whose logits are the mean of theirs: their hidden units side by side."""
    return Network(
        np.concatenate([one.W for one in networks], axis=1),
        np.concatenate([one.b for one in networks]),
        np.concatenate([one.W_2 for one in networks]) / np.float32(len(networks)),
        np.stack([one.b_2 for one in networks]).mean(axis=0, dtype=np.float32),
    )


def chunks(n: int) -> list[slice]:
    """n rows, so many at a time that what is hidden stays small."""
    return [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]


@dataclass(frozen=True, eq=False)
class Together:
    """Network and matrices H̄ [R, c, c] of one world."""

    network: Network
    H_bar: np.ndarray

"""CPGNN in log-odds, end to end: own network and matrices trained together, one model a world.

    logits = R + Σ_r P_r (B − 1/c) H̄_r,        B = softmax(R)

R is a network of `networks`. Loss: mean cross-entropy of the logits + ½ times that of R +
λ(‖W‖² + ‖W₂‖²) + λ_H Σ_r ‖H̄_r‖². It is the equation of `propagation.propagate` with one layer, the
own part left in log-odds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.engine.adam import Adam
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.sparse import SparseOperator
from cpgnn.priors.network import Together
from cpgnn.priors.networks import EPSILON, Copies, Descent, Judge, all_logits, descend, operator

FLOAT = torch.float32
OWN_LOSS = 0.5
H_DECAY = 1e-3
WARM = 20
"""Epochs before H̄ is heard."""


@dataclass(frozen=True, eq=False)
class Ears:
    """Some nodes, and how they hear those who speak."""

    P: Sequence[SparseOperator]
    """[these nodes, those who speak], of each relation."""
    at: Tensor | slice
    """Where these nodes stand among those who speak."""

    @classmethod
    def of(
        cls, nodes: np.ndarray, speaking: np.ndarray, propagators: Sequence[sp.csr_array]
    ) -> Ears:
        P = (SparseOperator.from_scipy(p[nodes][:, speaking], "cpu", FLOAT) for p in propagators)
        return cls([*P], torch.from_numpy(np.searchsorted(speaking, nodes)))

    @classmethod
    def of_all(cls, propagators: Sequence[sp.csr_array]) -> Ears:
        """Those of everybody, who all speak; without gradients."""
        P = (SparseOperator.from_scipy(p, "cpu", FLOAT, trained=0) for p in propagators)
        return cls([*P], slice(None))

    def logits(self, R: Tensor, H_bar: Tensor) -> Tensor:
        """[k + 1, these nodes, c], from R [k + 1, those who speak, c]."""
        copies, n, c = R.shape
        flat = (torch.softmax(R, dim=2) - 1 / c).transpose(0, 1).reshape(n, copies * c)
        total = R[:, self.at]
        for r, p in enumerate(self.P):
            Z = (p @ flat).view(-1, copies, c).transpose(0, 1)
            total = total + torch.bmm(Z, H_bar[:, r])
        return total


def fit_together(
    X: Any, propagators: Sequence[sp.csr_array], worlds: Worlds, how: Descent
) -> tuple[Together, np.ndarray]:
    """The model that knows all labels, and log B [k + 1, n, c] of every world's.

    While it trains, nobody speaks whom no taught or judged node hears.
    """
    c, copies, n = worlds.num_classes, worlds.num_worlds, X.shape[0]
    speaking = whom_they_hear(np.concatenate([worlds.judged, worlds.guessed]), propagators)
    among = None if len(speaking) == n else torch.from_numpy(speaking)
    judge, inputs = Judge(worlds), operator(X[speaking])
    taught, judged = (Ears.of(v, speaking, propagators) for v in (worlds.taught, worlds.judged))
    nets = Copies(X.shape[1], c, copies, how)
    H_bar = nn.Parameter(torch.zeros(copies, len(propagators), c, c))
    optimizer = Adam(nets.decayed, [*nets.free, H_bar], lr=how.learning_rate, eps=EPSILON)
    optimizer.weight_decay = 2 * how.weight_decay

    def loss(epoch: int) -> Tensor:  # random numbers are drawn for all: results stay equal
        R = nets(inputs, nets.mask(n, among))
        own = judge.training_loss(R[:, taught.at])
        if epoch < WARM:
            return own
        total = judge.training_loss(taught.logits(R, H_bar))
        return total + OWN_LOSS * own + H_DECAY * (H_bar**2).sum()

    def honest() -> float:
        return judge.honest_loss(judged.logits(nets(inputs), H_bar))

    descend([*nets.decayed, *nets.free, H_bar], optimizer, loss, honest, how)
    with torch.no_grad():
        logits = Ears.of_all(propagators).logits(all_logits(nets, X), H_bar)
        logs = torch.log_softmax(logits, dim=2).numpy()
    return Together(nets.last(), H_bar.detach()[-1].numpy().copy()), logs


def whom_they_hear(nodes: np.ndarray, propagators: Sequence[sp.csr_array]) -> np.ndarray:
    """These nodes and those that they hear, sorted."""
    return np.unique(np.concatenate([nodes, *(P[nodes].indices for P in propagators)]))

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
from cpgnn.priors.networks import EPSILON, Copies, Descent, Judge, Network, descend, operator

OWN_LOSS = 0.5
H_DECAY = 1e-3
WARM = 20
"""Epochs before H̄ is heard."""


@dataclass(frozen=True, eq=False)
class Together:
    """Network and matrices H̄ [R, c, c] of one world."""

    network: Network
    H_bar: np.ndarray


def fit_together(
    X: Any, propagators: Sequence[sp.csr_array], worlds: Worlds, how: Descent
) -> tuple[Together, np.ndarray]:
    """The model that knows all labels, and log B [k + 1, n, c] of every world's."""
    c, copies = worlds.num_classes, worlds.num_worlds
    n = X.shape[0]
    judge, inputs = Judge(worlds), operator(X)
    P = [SparseOperator.from_scipy(p, "cpu", torch.float32) for p in propagators]
    nets = Copies(X.shape[1], c, copies, how)
    H_bar = nn.Parameter(torch.zeros(copies, len(P), c, c))
    judged, taught = torch.from_numpy(worlds.judged), torch.from_numpy(worlds.taught)
    optimizer = Adam(nets.decayed, [*nets.free, H_bar], lr=how.learning_rate, eps=EPSILON)
    optimizer.weight_decay = 2 * how.weight_decay

    def heard(R: Tensor) -> Tensor:
        flat = (torch.softmax(R, dim=2) - 1 / c).transpose(0, 1).reshape(n, copies * c)
        for r, p in enumerate(P):
            Z = (p @ flat).view(n, copies, c).transpose(0, 1)
            R = R + torch.bmm(Z, H_bar[:, r])
        return R

    def loss(epoch: int) -> Tensor:
        R = nets(inputs, nets.mask(n))
        own = judge.training_loss(R[:, taught])
        if epoch < WARM:
            return own
        total = judge.training_loss(heard(R)[:, taught])
        return total + OWN_LOSS * own + H_DECAY * (H_bar**2).sum()

    def honest() -> float:
        return judge.honest_loss(heard(nets(inputs))[:, judged])

    descend([*nets.decayed, *nets.free, H_bar], optimizer, loss, honest, how)
    with torch.no_grad():
        logs = torch.log_softmax(heard(nets(inputs)), dim=2).numpy()
    return Together(nets.last(), H_bar.detach()[-1].numpy().copy()), logs

"""Own part and matrices trained together, one model a world side by side.

    log-odds:  logits = R + Σ_r P_r (B − 1/c) H̄_r,        B = softmax(R)
    paper:     logits = B + Σ_r A_r (B − 1/c) H̄_r         (γ = 0)

R is a network of `networks`. With `labels`, the belief of a node whose label the world knows is,
for a random half of them in every epoch, that label (for all of them in prediction); the own part
of a node never reads its own label. Loss: mean cross-entropy of the logits + `own_loss` times that
of R + λ‖W‖² + λ_H ‖H̄‖².
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from cpgnn.cross_fitting import Worlds
from cpgnn.engine.sparse import SparseOperator
from portfolio.networks import Block, Descent, Networks, honest_loss, operator


@dataclass(frozen=True)
class Together:
    descent: Descent = field(default_factory=Descent)
    form: str = "log-odds"
    labels: bool = False
    own_loss: float = 0.5
    H_decay: float = 1e-3
    warm: int = 20
    """Epochs before H̄ is heard."""


@dataclass(frozen=True, eq=False)
class EndToEnd:
    """logs [k + 1, n, c]: log-beliefs. Of the last world: own part [n, c], beliefs [n, c] that
    neighbours speak with, H̄ [R, c, c]; logs[-1] = own + Σ_r P_r (beliefs − 1/c) H̄_r but for a
    constant a node."""

    logs: np.ndarray
    own: np.ndarray
    beliefs: np.ndarray
    H: np.ndarray
    propagators: list[sp.csr_array]


def fit_end_to_end(
    blocks: list[Block], propagators: list[sp.csr_array], worlds: Worlds, how: Together
) -> EndToEnd:
    """One model a world; see the equations above."""
    c, copies, N = worlds.num_classes, worlds.num_worlds, len(worlds.train)
    n = blocks[0].shape[0]
    inputs = [operator(block) for block in blocks]
    P = [SparseOperator.from_scipy(sp.csr_array(p), "cpu", torch.float32) for p in propagators]
    d = how.descent
    nets = Networks([b.shape[1] for b in blocks], c, copies, d)
    H = torch.zeros(copies, len(P), c, c, requires_grad=True)
    y = torch.from_numpy(worlds.labels[worlds.judged].astype(np.int64))
    judged, world = torch.from_numpy(worlds.judged), torch.from_numpy(worlds.world)
    weight = torch.from_numpy(worlds.weights())
    known = (weight > 0).float()  # [k + 1, N]
    one_hot = torch.eye(c)[y[:N]]
    train = judged[:N]
    groups = [*nets.groups(), {"params": [H], "weight_decay": 2 * how.H_decay}]
    optimizer = torch.optim.Adam(groups, lr=d.learning_rate, fused=True)

    def forward(training: bool, hear: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        R = nets(inputs, training)  # [k + 1, n, c]
        if not hear:
            return R, R, R
        B = torch.softmax(R, dim=2)
        base = B if how.form == "paper" else R
        if how.labels:
            keep = known * (torch.rand(N) < 0.5) if training else known
            shown = torch.zeros(copies, n, 1).index_copy(1, train, keep.unsqueeze(2))
            Y = torch.zeros(n, c).index_copy(0, train, one_hot)
            B = B * (1 - shown) + Y * shown
        flat = (B - 1 / c).transpose(0, 1).reshape(n, copies * c)
        logits = base
        for r, p in enumerate(P):
            Z = (p @ flat).view(n, copies, c).transpose(0, 1)
            logits = logits + torch.bmm(Z, H[:, r])
        return logits, R, B

    def loss_of(R: Tensor) -> Tensor:
        log_p = torch.log_softmax(R[:, train], dim=2)
        own = log_p.gather(2, y[:N].expand(copies, N).unsqueeze(2)).squeeze(2)
        return -(own * weight).sum()

    best, kept, since = np.inf, None, 0
    optimized = [*nets.parameters(), H]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(d.seed)
        for epoch in range(d.epochs):
            logits, R, _ = forward(True, epoch >= how.warm)
            loss = loss_of(logits)
            if how.own_loss and epoch >= how.warm:
                loss = loss + how.own_loss * loss_of(R)
            for p in optimized:
                p.grad = None
            loss.backward()
            optimizer.step()
            if (epoch + 1) % d.check == 0:
                with torch.no_grad():
                    value = honest_loss(forward(False)[0][:, judged], world, y)
                if value < best * (1 - d.gain):
                    best, since = value, 0
                    kept = [p.detach().clone() for p in optimized]
                else:
                    since += d.check
                    if since >= d.patience:
                        break
    with torch.no_grad():
        if kept is not None:
            for p, value_ in zip(optimized, kept, strict=True):
                p.copy_(value_)
        logits, R, B = forward(False)
    own = (B if how.form == "paper" else R)[-1]
    logs = torch.log_softmax(logits, dim=2).numpy()
    return EndToEnd(logs, own.numpy(), B[-1].numpy(), H.detach()[-1].numpy(), propagators)

"""Priors by gradient descent: one network a world, all k + 1 trained side by side.

    R = relu(Σ_i X_i W_i + b) W₂ + b₂,     or R = Σ_i X_i W_i + b without a hidden layer

for input blocks X_i [n, F_i], dense or sparse (features, rows of A, smoothed columns). The k + 1
copies share every product with X: W_i is [F_i, (k + 1)·hidden]. Adam works element by element, so
the copies never touch. Training stops, for all of them at once, at the epoch with the smallest
honest loss: each training node judged by the copy that never saw it, validation nodes by the last.
One number chosen on all labels hardly bends the honest beliefs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import dropout as drop

from cpgnn.cross_fitting import Worlds
from cpgnn.engine.sparse import SparseOperator


@dataclass(frozen=True)
class Descent:
    """How a network is trained."""

    hidden: int = 64
    """0: no hidden layer."""
    dropout: float = 0.5
    """On the hidden layer."""
    input_dropout: float = 0.0
    """On the stored entries of X."""
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    """λ of λ·‖W‖², on the weights of the inputs and of the output."""
    epochs: int = 300
    patience: int = 40
    check: int = 4
    """Epochs between two looks at the honest loss."""
    gain: float = 5e-4
    """What counts as better: the loss falls by this share."""
    seed: int = 0


Block = Any
"""np.ndarray [n, F] or a sparse array of that shape."""


def operator(block: Block, rows: np.ndarray | None = None) -> SparseOperator | Tensor:
    part = block if rows is None else block[rows]
    if sp.issparse(part):
        part = sp.csr_array(part, dtype=np.float32)
        return SparseOperator.from_scipy(part, "cpu", torch.float32)
    return torch.from_numpy(np.ascontiguousarray(part, dtype=np.float32))


class Networks:
    """k + 1 networks with the same inputs; `logits` [k + 1, rows, c]."""

    def __init__(self, widths: list[int], c: int, copies: int, how: Descent) -> None:
        self.how, self.c, self.copies = how, c, copies
        g = torch.Generator().manual_seed(how.seed)
        out = how.hidden or c

        def glorot(rows: int, cols: int, fan_in: int) -> Tensor:
            bound = (6 / (fan_in + cols)) ** 0.5
            W = (torch.rand(rows, cols, generator=g) * 2 - 1) * bound
            # The same start in every world: differences between worlds are then the labels'.
            return W.repeat(1, copies).requires_grad_()

        total = sum(widths)
        self.W = [glorot(F, out, total) for F in widths]
        self.b = torch.zeros(copies * out, requires_grad=True)
        self.W_2 = self.b_2 = None
        if how.hidden:
            bound = (6 / (how.hidden + c)) ** 0.5
            W_2 = (torch.rand(1, how.hidden, c, generator=g) * 2 - 1) * bound
            self.W_2 = W_2.repeat(copies, 1, 1).requires_grad_()
            self.b_2 = torch.zeros(copies, 1, c, requires_grad=True)

    def parameters(self) -> list[Tensor]:
        return [*self.W, self.b] + ([self.W_2, self.b_2] if self.W_2 is not None else [])

    def groups(self) -> list[dict[str, Any]]:
        decayed = [*self.W] + ([self.W_2] if self.W_2 is not None else [])
        free = [self.b] + ([self.b_2] if self.b_2 is not None else [])
        return [
            {"params": decayed, "weight_decay": 2 * self.how.weight_decay},
            {"params": free, "weight_decay": 0.0},
        ]

    def __call__(self, inputs: list[SparseOperator | Tensor], training: bool = False) -> Tensor:
        R = self.b
        for X, W in zip(inputs, self.W, strict=True):
            if training and self.how.input_dropout:
                p = self.how.input_dropout
                X = X.dropout(p) if isinstance(X, SparseOperator) else drop(X, p)
            R = R + X @ W
        R = R.view(R.shape[0], self.copies, -1).transpose(0, 1)
        if self.W_2 is None:
            return R
        R = drop(torch.relu(R), self.how.dropout, training)
        assert self.b_2 is not None
        return torch.baddbmm(self.b_2, R, self.W_2)


def honest_loss(logits: Tensor, world: Tensor, y: Tensor) -> float:
    """Mean cross-entropy of judged nodes [N + V], each by the copy of its world."""
    own = logits[world, torch.arange(len(y))]
    return float(torch.nn.functional.cross_entropy(own, y))


def fit_networks(blocks: list[Block], worlds: Worlds, how: Descent) -> np.ndarray:
    """log B [k + 1, n, c] of networks on these input blocks."""
    c, copies = worlds.num_classes, worlds.num_worlds
    judged, N = worlds.judged, len(worlds.train)
    inputs = [operator(block, judged) for block in blocks]
    nets = Networks([b.shape[1] for b in blocks], c, copies, how)
    y = torch.from_numpy(worlds.labels[judged].astype(np.int64))
    world = torch.from_numpy(worlds.world)
    weight = torch.from_numpy(worlds.weights())
    optimizer = torch.optim.Adam(nets.groups(), lr=how.learning_rate, fused=True)
    optimized = nets.parameters()
    best, best_state, since = np.inf, None, 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        for epoch in range(how.epochs):
            logits = nets(inputs, training=True)[:, :N]
            log_p = torch.log_softmax(logits, dim=2)
            own = log_p.gather(2, y[:N].expand(copies, N).unsqueeze(2)).squeeze(2)
            loss = -(own * weight).sum()
            for p in optimized:
                p.grad = None
            loss.backward()
            optimizer.step()
            if (epoch + 1) % how.check == 0:
                with torch.no_grad():
                    value = honest_loss(nets(inputs), world, y)
                if value < best * (1 - how.gain):
                    best, since = value, 0
                    best_state = [p.detach().clone() for p in nets.parameters()]
                else:
                    since += how.check
                    if since >= how.patience:
                        break
    if best_state is not None:
        with torch.no_grad():
            for p, kept in zip(nets.parameters(), best_state, strict=True):
                p.copy_(kept)
    return _predicted(nets, blocks)


def _predicted(nets: Networks, blocks: list[Block], chunk: int = 20_000) -> np.ndarray:
    parts = []
    with torch.no_grad():
        for start in range(0, blocks[0].shape[0], chunk):
            rows = np.arange(start, min(start + chunk, blocks[0].shape[0]))
            logits = nets([operator(block, rows) for block in blocks])
            parts.append(torch.log_softmax(logits, dim=2).numpy())
    return np.concatenate(parts, axis=1)

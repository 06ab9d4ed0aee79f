"""Priors by gradient descent: one small network a world, all k + 1 trained side by side.

    R = relu(X W + b) W₂ + b₂

for an input X [n, F], dense or sparse (features, rows of A, smoothed columns). The k + 1 copies
share every product with X: W is [F, (k + 1)·hidden]. Adam works element by element, so the copies
never touch. Training stops, for all of them at once, at the epoch with the smallest honest loss:
each training node judged by the copy that never saw it, validation nodes by the last. One number
chosen on all labels hardly bends the honest beliefs.

Where a pass over all rows costs too much for one step, steps take batches: thousands of rows with
hundreds of columns are learned in a few passes, for a twentieth of the price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.engine.adam import Adam
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.randomness import generator, seeded
from cpgnn.engine.sparse import SparseOperator, drawn_mask
from cpgnn.priors.network import Network, chunks, mean_network

EPSILON = 1e-8
MAX_STEP, BATCH = 250_000_000, 100_000_000
"""Multiplications of X with the weights of all worlds: up to so many, a step takes all rows; beyond
that, a batch of rows that costs so many."""
LEAST_ROWS = 256
"""Of a batch."""
PASSES = 20
"""Over all rows in batches, at most."""


@dataclass(frozen=True)
class Descent:
    """How a network is trained."""

    hidden: int = 32
    dropout: float = 0.5
    """On the hidden layer."""
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    """λ of λ·(‖W‖² + ‖W₂‖²)."""
    epochs: int = 300
    patience: int = 40
    check: int = 4
    """Epochs between two looks at the honest loss."""
    gain: float = 5e-4
    """What counts as better: the loss falls by this share."""
    seed: int = 0


class Copies(nn.Module):
    """k + 1 networks with the same input; forward gives logits [k + 1, rows, c]."""

    def __init__(
        self,
        width: int,
        c: int,
        copies: int,
        how: Descent,
        used: int | None = None,
        columns: np.ndarray | slice = slice(None),
    ) -> None:
        """`used`: how many of the `width` columns hold anything, None: all; `columns`: which of
        them the input has."""
        super().__init__()
        self.how, self.copies = how, copies
        g, h = generator(how.seed), how.hidden

        def glorot(rows: int, cols: int, used: int) -> Tensor:
            return (torch.rand(rows, cols, generator=g) * 2 - 1) * (6 / (used + cols)) ** 0.5

        # The same start in every world: differences between worlds are then the labels'.
        self.W = nn.Parameter(glorot(width, h, used or width)[columns].repeat(1, copies))
        self.b = nn.Parameter(torch.zeros(copies * h))
        self.W_2 = nn.Parameter(glorot(h, c, h).repeat(copies, 1, 1))
        self.b_2 = nn.Parameter(torch.zeros(copies, 1, c))

    @property
    def decayed(self) -> list[nn.Parameter]:
        return [self.W, self.W_2]

    @property
    def free(self) -> list[nn.Parameter]:
        return [self.b, self.b_2]

    def forward(self, X: SparseOperator | Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` [k + 1, rows, hidden]: what the hidden layer is multiplied by."""
        R = X @ self.W + self.b
        R = torch.relu(R.view(R.shape[0], self.copies, -1).transpose(0, 1))
        return torch.baddbmm(self.b_2, R if mask is None else R * mask, self.W_2)

    def mask(self, rows: int, among: Tensor | None = None) -> Tensor | None:
        """Dropout of so many rows, or of those of them that are named; None: nothing is dropped."""
        p, shape = self.how.dropout, (self.copies, rows, self.how.hidden)
        return None if p == 0 else drawn_mask(shape, p, self.W, among)

    def last(self) -> Network:
        """The copy that knew all labels."""
        h = self.how.hidden
        weights = (self.W[:, -h:], self.b[-h:], self.W_2[-1], self.b_2[-1, 0])
        return Network(*(weight.detach().numpy().copy() for weight in weights))


def operator(X: Any, rows: np.ndarray | slice = slice(None)) -> SparseOperator | Tensor:
    """X, or some of its rows, for products with gradients."""
    part = X[rows]
    if sp.issparse(part):
        part = sp.csr_array(part, dtype=np.float32)
        return SparseOperator.from_scipy(part, "cpu", torch.float32)
    return torch.from_numpy(np.ascontiguousarray(part, dtype=np.float32))


class Judge:
    """Labels as tensors, and the two losses over all worlds."""

    def __init__(self, worlds: Worlds) -> None:
        self.y = torch.from_numpy(worlds.labels[worlds.judged].astype(np.int64))
        self.lessons = torch.from_numpy(np.maximum(worlds.lessons, 0).astype(np.int64))
        N, M = len(worlds.train), len(worlds.judged)
        self.rows = torch.cat([torch.arange(N), torch.arange(M, M + len(worlds.guessed))])
        self.world = torch.from_numpy(worlds.world)
        self.weight = torch.from_numpy(worlds.weights())
        self.share = torch.from_numpy(worlds.shares())

    def training_loss(self, logits: Tensor, at: Tensor | slice = slice(None)) -> Tensor:
        """Σ over worlds of the mean cross-entropy of the taught nodes; logits [k + 1, N + E, c].

        `at`: those of them that the logits are of, whose share of it this then is."""
        log_p = torch.log_softmax(logits, dim=2)
        own = log_p.gather(2, self.lessons[:, at].unsqueeze(2)).squeeze(2)
        return -(own * self.weight[:, at]).sum()

    def honest_loss(self, logits: Tensor) -> float:
        """Mean cross-entropy of judged nodes [N + V], each by the copy of its world; NaN where none
        of them counts."""
        if not self.share.any():
            return float("nan")
        log_p = torch.log_softmax(logits, dim=2)
        own = log_p[self.world, torch.arange(len(self.y)), self.y]
        return -float((own * self.share).sum())


def descend(
    weights: Sequence[nn.Parameter],
    optimizer: Adam,
    loss: Callable[[int], Tensor],
    honest: Callable[[], float],
    how: Descent,
) -> None:
    """Steps until the honest loss has not fallen for `patience` epochs; keeps its best weights, or
    the last ones where nobody counts in that loss."""
    best, since = np.inf, 0
    kept = [w.detach().clone() for w in weights]
    with seeded(how.seed):
        for epoch in range(how.epochs):
            optimizer.zero_grad()
            loss(epoch).backward()
            optimizer.step()
            if (epoch + 1) % how.check:
                continue
            with torch.no_grad():
                value = honest()
            better = value < best * (1 - how.gain)
            if better or np.isnan(value):
                kept = [w.detach().clone() for w in weights]
            best, since = (value, 0) if better else (best, since + how.check)
            if since >= how.patience:
                break
    with torch.no_grad():
        for w, value_ in zip(weights, kept, strict=True):
            w.copy_(value_)


def _used(X: Any) -> np.ndarray | None:
    """The columns of sparse X that hold anything; None where that is not a minority."""
    if not sp.issparse(X):
        return None
    filled = np.unique(X.indices)
    return filled if 2 * len(filled) < X.shape[1] else None


def fit_networks(X: Any, worlds: Worlds, how: Descent) -> tuple[Network, np.ndarray]:
    """The network that knows all labels, and log B [k + 1, n, c] of every world's."""
    width, used = X.shape[1], _used(X)
    there = _used(X[np.concatenate([worlds.judged, worlds.guessed])])
    if there is not None:
        X = X[:, there]
    nets = Copies(
        width,
        worlds.num_classes,
        worlds.num_worlds,
        how,
        None if used is None else len(used),
        slice(None) if there is None else there,
    )
    optimizer = Adam(nets.decayed, nets.free, lr=how.learning_rate, eps=EPSILON)
    optimizer.weight_decay = 2 * how.weight_decay
    parts = batches(X, worlds, how)
    if len(parts) == 1:
        loss, honest = _on_all_rows(nets, X, worlds)
    else:
        how = _in_parts(how, len(parts))
        loss, honest = _on_batches(nets, X, worlds, parts)
    descend([*nets.decayed, *nets.free], optimizer, loss, honest, how)
    network, logs = nets.last(), torch.log_softmax(all_logits(nets, X), dim=2).numpy()
    if there is not None:  # what no labelled node has says nothing
        W = np.zeros((width, how.hidden), dtype=np.float32)
        W[there] = network.W
        network = replace(network, W=W)
    return network, logs


Losses = tuple[Callable[[int], Tensor], Callable[[], float]]
"""The training loss of a step, and the honest loss."""


def _on_all_rows(nets: Copies, X: Any, worlds: Worlds) -> Losses:
    judge, every = Judge(worlds), len(worlds.judged) + len(worlds.guessed)
    taught, judged = operator(X, worlds.taught), operator(X, worlds.judged)

    def loss(_: int) -> Tensor:  # random numbers are drawn for judged rows too: results stay equal
        return judge.training_loss(nets(taught, nets.mask(every, judge.rows)))

    return loss, lambda: judge.honest_loss(nets(judged))


def _on_batches(nets: Copies, X: Any, worlds: Worlds, parts: list[Tensor]) -> Losses:
    judge = Judge(worlds)

    def loss(step: int) -> Tensor:
        at = parts[step % len(parts)]
        logits = nets(operator(X, worlds.taught[at.numpy()]), nets.mask(len(at)))
        return len(parts) * judge.training_loss(logits, at)

    return loss, lambda: judge.honest_loss(all_logits(nets, X, worlds.judged))


def batches(X: Any, worlds: Worlds, how: Descent) -> list[Tensor]:
    """Where the taught rows of each step stand among all of them: one part, or shuffled ones."""
    rows = len(worlds.taught)
    width = np.diff(X.indptr)[worlds.taught].mean() if sp.issparse(X) else X.shape[1]
    row = max(1.0, width * how.hidden * worlds.num_worlds)
    if rows * row <= MAX_STEP:
        return [torch.arange(rows)]
    g = generator(how.seed)
    return [*torch.randperm(rows, generator=g).split(max(LEAST_ROWS, int(BATCH / row)))]


def _in_parts(how: Descent, parts: int) -> Descent:
    """The same, where a step takes one of so many batches."""
    check = max(how.check, 2 * parts)
    patience, steps = max(how.patience, 4 * check), max(how.epochs, PASSES * parts)
    return replace(how, check=check, patience=patience, epochs=steps)


def all_logits(nets: Copies, X: Any, nodes: np.ndarray | None = None) -> Tensor:
    """[k + 1, n, c] of the rows of X [n, F], or of those of these nodes, by trained networks."""
    n = X.shape[0] if nodes is None else len(nodes)
    out = torch.empty(nets.copies, n, nets.b_2.shape[2])  # parts would lie scattered
    with torch.no_grad():
        for rows in chunks(n):
            out[:, rows] = nets(operator(X, rows if nodes is None else nodes[rows]))
    return out


def fit_bag(X: Any, worlds: Worlds, how: Descent, size: int) -> tuple[Network, np.ndarray]:
    """`fit_networks` from so many starts: the network whose logits are their mean, and log B up to
    a constant a node."""
    made = [fit_networks(X, worlds, replace(how, seed=how.seed + i)) for i in range(size)]
    logs = sum((logs for _, logs in made[1:]), made[0][1]) / np.float32(size)
    return mean_network([network for network, _ in made]), logs

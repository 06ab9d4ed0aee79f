"""The one training loop: gradient descent on the labelled rows, the best epoch kept.

It serves pretraining, end-to-end training and every baseline; observers may look, never steer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from cpgnn.engine.dense import FEW, by_columns, cross_entropy
from cpgnn.engine.scores import Score, accuracy
from cpgnn.engine.sparse import View
from cpgnn.errors import BeliefOverflowError, must_be
from cpgnn.splits import Split

KEPT_BYTES = 2**25 - 2**16
"""The C library hands freed memory back to the system, which clears it page by page when an epoch
asks for it again; having seen a block of just under 32 MiB freed, it keeps that much and more."""

LARGEST_LOSS = 2.0**23
"""A mean cross-entropy beyond this means logits whose float32 neighbours differ by more than 1."""


@dataclass(frozen=True)
class Epoch:
    """What an observer sees of an epoch. `epoch` counts the updates made in its phase."""

    phase: int
    epoch: int
    loss: float
    train_accuracy: float
    score: float


class DivergedError(BeliefOverflowError):
    """The loss left the range of numbers that can be told apart."""

    def __init__(self, epoch: Epoch) -> None:
        super().__init__(
            f"The loss must stay finite. Got {epoch.loss:g} after {epoch.epoch} epochs. "
            "Try feature_scaling='standard' or a smaller learning rate."
        )
        self.epoch = epoch


class Optimizer(Protocol):
    """`FusedAdam`, or one of torch's."""

    @property
    def state(self) -> Mapping[Any, Any]: ...
    def step(self) -> Any: ...


Observer = Callable[[Epoch], None]
StopRule = Callable[[Epoch, Callable[[], float]], bool]
"""Asked after every epoch, with a way to the validation loss: is it enough?"""
KeepRule = Callable[[Epoch, Callable[[], float]], bool]
"""Asked after every epoch, before the stop rule: is this the one to keep so far?"""


@dataclass
class Training:
    """What training did: every epoch, which one was kept, and the estimate H̄ started from."""

    epochs: list[Epoch] = field(default_factory=list)
    kept: Epoch | None = None
    initial_compatibility: np.ndarray | None = None
    H_bars: dict[int, np.ndarray] = field(default_factory=dict)
    """H̄ at some epochs of the second phase."""

    @property
    def score(self) -> float:
        """The validation score of the kept epoch; -∞ where none was kept."""
        return self.kept.score if self.kept else -np.inf

    @property
    def phase(self) -> int:
        """The phase of the kept epoch: 1 means that the prior alone was best."""
        return self.kept.phase if self.kept else 2


@dataclass(frozen=True)
class Target:
    """The labelled rows of a graph: training nodes first, then validation nodes."""

    view: View
    labels: Tensor
    num_train: int
    shares: Tensor
    """[c, nodes]: at its label, minus what each node counts in the mean loss of its part."""

    @classmethod
    def of(cls, graph_view: View, split: Split, class_weight: str | None = None) -> Target:
        graph, train = graph_view.graph, len(split.train)
        nodes = np.concatenate([split.train, split.val])
        if nodes.max() >= graph.num_nodes:
            what = f"be below the number of nodes ({graph.num_nodes})"
            raise must_be("A position in the split", what, nodes.max())
        y = graph.labels[nodes]
        if (y < 0).any():
            unlabelled = graph.node_ids[nodes[y < 0][0]]
            raise must_be("Training and validation nodes", "be labelled", f"node {unlabelled!r}")
        weight = np.ones(graph.num_classes)
        if class_weight == "balanced":
            weight = 1 / np.maximum(np.bincount(y[:train], minlength=graph.num_classes), 1)
        share = weight[y]
        for part in (share[:train], share[train:]):
            part /= part.sum()
        labels = torch.from_numpy(y)
        shares = torch.zeros(graph.num_classes, len(nodes), dtype=graph_view.dtype)
        shares[labels, torch.arange(len(nodes))] = -torch.from_numpy(share).to(shares.dtype)
        device = graph_view.device
        return cls(graph_view.of(nodes, trained=train), labels.to(device), train, shares.to(device))

    def loss(self, logits: Tensor) -> Tensor:
        """Mean cross-entropy over the training nodes."""
        return cross_entropy(logits, self._train_shares)

    def hits(self, logits: Tensor) -> np.ndarray:
        """Whether the largest logit of each node, the first of equals, is at its label."""
        by_class = by_columns(logits).cpu().numpy()
        if by_class.size < FEW:
            return by_class.argmax(axis=0) == self._labels
        largest = by_class == by_class.max(axis=0)
        hits = largest.ravel()[self._places]
        if np.count_nonzero(largest) != len(hits):
            tied = np.flatnonzero(largest.sum(axis=0, dtype=np.int32) != 1)
            hits[tied] = by_class[:, tied].argmax(axis=0) == self._labels[tied]
        return hits

    def validation_loss(self, logits: Tensor) -> float:
        train = self.num_train
        return float(cross_entropy(logits[train:], self.shares[:, train:]))

    @cached_property
    def _places(self) -> np.ndarray:
        """Where the logits of the labels stand when they are stored by classes."""
        return self._labels * len(self._labels) + np.arange(len(self._labels))

    @cached_property
    def _labels(self) -> np.ndarray:
        return self.labels.cpu().numpy()

    @cached_property
    def _train_shares(self) -> Tensor:
        train = torch.arange(len(self.labels), device=self.labels.device) < self.num_train
        return self.shares * train


class Best:
    """The best epoch so far and a copy of its weights (and of Adam's moments, if wanted)."""

    def __init__(self) -> None:
        self.epoch: Epoch | None = None
        self._live: list[Tensor] = []
        self._copy: list[Tensor] = []

    def offer(self, epoch: Epoch, live: Callable[[], list[Tensor]], *, later_wins: bool) -> None:
        """Takes an epoch that is better than the one kept, or as good if the later one wins."""
        score = -np.inf if self.epoch is None else self.epoch.score
        tied = later_wins and epoch.score == score
        if self.epoch is None or epoch.score > score or tied:
            self.take(epoch, live)

    def take(self, epoch: Epoch, live: Callable[[], list[Tensor]]) -> None:
        """Keeps this epoch in place of the one before."""
        self.epoch = epoch
        self._live = live()
        if len(self._copy) != len(self._live):
            self._copy = [torch.empty_like(tensor) for tensor in self._live]
        with torch.no_grad():
            for copy, tensor in zip(self._copy, self._live, strict=True):
                copy.copy_(tensor)

    def restore(self) -> None:
        with torch.no_grad():
            for copy, tensor in zip(self._copy, self._live, strict=True):
                tensor.copy_(copy)


def descend(
    model: nn.Module,
    forward: Callable[[View], Tensor],
    target: Target,
    optimizer: Optimizer,
    best: Best,
    *,
    epochs: int,
    phase: int = 1,
    score: Score = accuracy,
    loss_of: Callable[[Tensor], Tensor] | None = None,
    regularize: Callable[[], None] | None = None,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
    stop: StopRule | None = None,
    keep: KeepRule | None = None,
    keep_moments: bool = False,
    later_wins: bool = False,
    first_competes: bool = False,
    observe: Observer | None = None,
) -> None:
    """Gradient descent on the labelled rows; the best epoch ends up in `best`.

    Where nothing is random, the pass that gives the loss also gives the validation score of the
    same weights, so an epoch is one pass. Epoch e is the state after e updates; the state before
    the first update competes only if asked to. Without validation nodes the last epoch is kept.
    `regularize` adds to the gradients what the loss does not see; `loss_of` replaces the mean
    cross-entropy over the training nodes (by that over a batch, say), and `keep` the highest score
    as the choice of the epoch.
    """
    loss_of = loss_of or target.loss
    torch.empty(KEPT_BYTES, dtype=torch.uint8)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    validated = len(target.labels) > target.num_train
    one_pass = not _mode_matters(model, forward, target.view)

    def live() -> list[Tensor]:
        tensors = [*model.parameters(), *model.buffers()]
        if keep_moments:
            states = [optimizer.state[p] for p in model.parameters() if p in optimizer.state]
            tensors += [state[key] for state in states for key in sorted(state)]
        return tensors

    for updates in range(epochs + 1):
        last = updates == epochs
        if one_pass:
            logits = forward(target.view)
            seen = logits.detach()
        else:
            seen = evaluated(model, forward, target.view)
            logits = forward(target.view)
        loss = loss_of(logits)
        epoch = Epoch(phase, updates, loss.item(), *_scores(score, seen, target))
        if not epoch.loss < LARGEST_LOSS:
            raise DivergedError(epoch)
        if updates > 0 or first_competes:
            validation_loss = partial(target.validation_loss, seen)
            if keep is not None:
                if keep(epoch, validation_loss):
                    best.take(epoch, live)
            elif validated or last:
                best.offer(epoch, live, later_wins=later_wins or not validated)
            if observe is not None:
                observe(epoch)
            if stop is not None and stop(epoch, validation_loss):
                break
        if last:
            break
        for weight, grad in zip(weights, gradients(loss, weights), strict=True):
            weight.grad = grad
        if regularize is not None:
            regularize()
        optimizer.step()
        if schedule is not None:
            schedule.step()


def gradients(loss: Tensor, weights: Sequence[Tensor]) -> list[Tensor | None]:
    """∂ loss / ∂ weights, stored by rows; None for a weight that the loss does not depend on.

    What `torch.autograd.grad` calls after its checks, which take 6 % of an epoch on a small graph.
    """
    run = torch.autograd.Variable._execution_engine.run_backward
    one = (_one(loss.dtype, loss.device),)
    grads = run((loss,), one, False, False, tuple(weights), True, accumulate_grad=False)
    return [None if grad is None else grad.contiguous() for grad in grads]


@cache
def _one(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.ones((), dtype=dtype, device=device)


def _scores(score: Score, logits: Tensor, target: Target) -> tuple[float, float]:
    """Accuracy on the training nodes, score on the validation nodes."""
    train = target.num_train
    hits = target.hits(logits)
    train_accuracy = np.count_nonzero(hits[:train]) / train
    if score is accuracy:
        return train_accuracy, np.count_nonzero(hits[train:]) / max(len(hits) - train, 1)
    return train_accuracy, score(logits[train:], target.labels[train:])


class Patience:
    """Stops after so many epochs without a better score; a new one for every phase.

    With `ties`, an epoch that equals the best starts the count again.
    """

    def __init__(self, epochs: int, *, ties: bool = False) -> None:
        self.epochs, self.ties, self.best, self.since = epochs, ties, -np.inf, 0

    def __call__(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        if epoch.score > self.best or (self.ties and epoch.score == self.best):
            self.best, self.since = epoch.score, epoch.epoch
        return epoch.epoch - self.since >= self.epochs


def evaluated(model: nn.Module, forward: Callable[[View], Tensor], view: View) -> Tensor:
    """Logits as at prediction time: no dropout, no gradient. Leaves the model in training mode."""
    model.eval()
    with torch.no_grad():
        logits = forward(view)
    model.train()
    return logits


def _mode_matters(model: nn.Module, forward: Callable[[View], Tensor], view: View) -> bool:
    """Whether training mode computes something else than evaluation (dropout, batch norm)."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    as_predicted = evaluated(model, forward, view)
    with torch.no_grad():
        differs = not torch.equal(forward(view), as_predicted)
        for buffer, before in buffers:
            buffer.copy_(before)
    return differs


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from `seed` inside, as they were outside."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield

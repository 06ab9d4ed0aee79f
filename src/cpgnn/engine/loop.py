"""The one training loop: gradient descent on the labelled rows, the best epoch kept.

It serves pretraining, end-to-end training and every baseline; observers may look, never steer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from cpgnn.engine.adam import Adam
from cpgnn.engine.inputs import evaluating
from cpgnn.engine.scores import Score, accuracy
from cpgnn.engine.target import Target
from cpgnn.engine.views import View
from cpgnn.errors import BeliefOverflowError, must_be

H_BAR_EVERY = 10
"""Epochs of the second phase between two copies of H̄ that are kept to show how it was learned."""
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


Observer = Callable[[Epoch], None]


class Begin(Protocol):
    """Called as each piece of training begins, with the most epochs it takes."""

    def __call__(self, name: str, epochs: int, /) -> Observer | None: ...


@runtime_checkable
class Counting(Begin, Protocol):
    """A `Begin` that counts the pieces, and wants to know how many more are to come."""

    begun: int

    def expect(self, pieces: int) -> None: ...


def expect(begin: Begin | None, pieces: int) -> None:
    """So many more pieces of training are to come than was known."""
    if isinstance(begin, Counting):
        begin.expect(pieces)


def repeated(begin: Begin | None, times: int, name: str) -> Begin | None:
    """A `begin` for repetitions of everything begun so far, all under one name."""
    if begin is None:
        return None
    expect(begin, times * (begin.begun if isinstance(begin, Counting) else 1))
    return lambda _, epochs: begin(name, epochs)


Rule = Callable[[Epoch, Callable[[], float]], bool]
"""Asked about an epoch, with a way to its validation loss."""


@dataclass(frozen=True)
class Choice:
    """Which epoch is kept, and when it is enough."""

    score: Score = accuracy
    """Of the validation nodes: the epoch with the highest one is kept."""
    later_wins: bool = False
    """Among equals, the later epoch is kept."""
    first_competes: bool = False
    """The state before the first update competes too."""
    also: Sequence[Tensor] = ()
    """What is kept with the weights of the kept epoch, e.g. the moments of the optimiser."""
    keep: Rule | None = None
    """Asked in place of `score`: is this the epoch to keep so far?"""
    stop: Rule | None = None
    """Asked last: is it enough?"""


InitialSource = Literal["beliefs", "paths", "random"]


@dataclass
class Training:
    """What training did: every epoch, which one was kept, and the estimate H̄ started from."""

    epochs: list[Epoch] = field(default_factory=list)
    kept: Epoch | None = None
    num_layers: int = 0
    """The layers of the kept epoch: 0 where the prior alone was best."""
    initial_compatibility: np.ndarray | None = None
    initial_from: InitialSource | None = None
    """Where H̄₀ came from: labels and the prior's beliefs, paths between labels, or chance."""
    H_bars: dict[int, np.ndarray] = field(default_factory=dict)
    """H̄ at some epochs of the second phase."""

    def recorder(self, observe: Observer | None, H_bar: Tensor | None = None) -> Observer:
        """Records every epoch, and some H̄; tells whoever observes."""

        def seen(epoch: Epoch) -> None:
            self.epochs.append(epoch)
            if H_bar is not None and epoch.phase == 2 and epoch.epoch % H_BAR_EVERY == 0:
                self.H_bars[epoch.epoch] = H_bar.numpy(force=True).copy()
            if observe is not None:
                observe(epoch)

        return seen

    @property
    def score(self) -> float:
        """The validation score of the kept epoch; -∞ where none was kept."""
        return self.kept.score if self.kept else -np.inf

    def table(self) -> pd.DataFrame:
        """A row for each epoch."""
        return pd.DataFrame(self.epochs, columns=[one.name for one in fields(Epoch)])

    @property
    def phase(self) -> int:
        """The phase of the kept epoch: 1 means that the prior alone was best."""
        return self.kept.phase if self.kept else 2


class Best:
    """The best epoch so far and a copy of its weights."""

    def __init__(self) -> None:
        self.epoch: Epoch | None = None
        self._live: list[Tensor] = []
        self._copy: list[Tensor] = []

    def beaten_by(self, epoch: Epoch, *, later_wins: bool) -> bool:
        if self.epoch is None or epoch.score > self.epoch.score:
            return True
        return later_wins and epoch.score == self.epoch.score

    def take(self, epoch: Epoch, live: list[Tensor]) -> None:
        """Keeps this epoch in place of the one before."""
        self.epoch, self._live = epoch, live
        if len(self._copy) != len(live):
            self._copy = [torch.empty_like(tensor) for tensor in live]
        self._copy_all(live, self._copy)

    def restore(self) -> None:
        self._copy_all(self._copy, self._live)

    @staticmethod
    @torch.no_grad()
    def _copy_all(sources: list[Tensor], targets: list[Tensor]) -> None:
        for source, target in zip(sources, targets, strict=True):
            target.copy_(source)


def descend(
    model: nn.Module,
    forward: Callable[[View], Tensor],
    loss_of: Callable[[Tensor], Tensor],
    target: Target,
    optimizer: torch.optim.Optimizer | Adam,
    best: Best,
    *,
    epochs: int,
    phase: int = 1,
    choice: Choice | None = None,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
    observe: Observer | None = None,
) -> None:
    """Gradient descent on `loss_of(forward(target.view))`; the best epoch ends up in `best`.

    Where nothing is random, the pass that gives the loss also gives the validation score of the
    same weights, so an epoch is one pass. Epoch e is the state after e updates. Without validation
    nodes the last epoch is kept.
    """
    choice = choice or Choice()
    model.train()
    one_pass = not _mode_matters(model, forward, target.view)
    later_wins = choice.later_wins or not target.has_validation
    for updates in range(epochs + 1):
        logits = forward(target.view) if one_pass else evaluated(model, forward, target.view)
        seen = logits.detach()
        loss = loss_of(logits if one_pass else forward(target.view))
        epoch = Epoch(
            phase,
            updates,
            loss.item(),
            accuracy(target.train(seen), target.train_labels),
            choice.score(target.val(seen), target.val_labels),
        )
        if not epoch.loss < LARGEST_LOSS:
            raise DivergedError(epoch)
        last = updates == epochs
        if updates > 0 or choice.first_competes:
            validation_loss = partial(target.validation_loss, seen)
            if choice.keep is not None:
                better = choice.keep(epoch, validation_loss)
            else:
                better = (last or target.has_validation) and best.beaten_by(
                    epoch, later_wins=later_wins
                )
            if better:
                best.take(epoch, [*model.parameters(), *model.buffers(), *choice.also])
            if observe is not None:
                observe(epoch)
            last = last or (choice.stop is not None and choice.stop(epoch, validation_loss))
        if last:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()


def check_trainable(model: nn.Module) -> None:
    """Raises unless the model has weights that training can move."""
    if not any(weight.requires_grad for weight in model.parameters()):
        raise must_be("The model", "have weights to train", type(model).__name__)


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
    """Logits as at prediction time: no dropout, no gradient."""
    with evaluating(model):
        return forward(view)


def _mode_matters(model: nn.Module, forward: Callable[[View], Tensor], view: View) -> bool:
    """Whether training mode computes something else than evaluation (dropout, batch norm)."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    as_predicted = evaluated(model, forward, view)
    with torch.no_grad():
        differs = not torch.equal(forward(view), as_predicted)
        for buffer, before in buffers:
            buffer.copy_(before)
    return differs

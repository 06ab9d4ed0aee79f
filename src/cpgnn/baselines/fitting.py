"""Training a baseline by its recipe, with the one loop that CPGNN trains with.

`RisingLoss` and `LossAndAccuracy` are when the public code stops, and which epoch it keeps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cpgnn.baselines.recipes import Recipe
from cpgnn.engine.inputs import as_view, logits_on
from cpgnn.engine.loop import (
    Best,
    Choice,
    Epoch,
    Observer,
    Patience,
    Rule,
    Training,
    check_trainable,
    descend,
)
from cpgnn.engine.randomness import seeded
from cpgnn.engine.target import Target, cross_entropy
from cpgnn.engine.threads import threads_for
from cpgnn.errors import wrong_value
from cpgnn.graph import Graph
from cpgnn.splits import Split


def train_baseline(
    model: nn.Module,
    graph: Graph,
    split: Split,
    recipe: Recipe,
    seed: int = 0,
    observe: Observer | None = None,
) -> Training:
    """Trains a model by a recipe and leaves it with the weights of the epoch the recipe keeps.

    The model is any module with `forward(graph) -> logits` [n, c], a baseline or your own.
    The graph's features are taken as they are: scale them with `FeatureScaler` first, as
    `recipe.feature_scaling` says. Without validation nodes nothing stops training and the last
    epoch is kept. The same seed gives the same weights on the same machine.
    """
    check_trainable(model)
    target = Target.of(as_view(graph, next(model.parameters())), split)
    optimizer = _optimizer(model, recipe)
    schedule = None
    if recipe.rate_steps is not None:
        steps = recipe.rate_steps
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: 1 - 0.01 * max((step - 1) // steps, 0)
        )
    record, best = Training(), Best()
    with threads_for(graph), seeded(seed):
        descend(
            model,
            partial(logits_on, model),
            target.loss if recipe.batch_size is None else _batches(target, recipe.batch_size),
            target,
            optimizer,
            best,
            epochs=recipe.epochs,
            choice=_choice(recipe, optimizer) if target.has_validation else None,
            schedule=schedule,
            observe=record.recorder(observe),
        )
    best.restore()
    model.eval()
    record.kept = best.epoch
    return record


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Two groups: the weights that decay, and the others."""
    groups: list[dict[str, Any]] = [
        {"params": [], "weight_decay": recipe.weight_decay},
        {"params": []},
    ]
    names = {name.split(".")[0] for name, _ in model.named_parameters()}
    for name in recipe.decayed or ():
        if name not in names:
            raise wrong_value("decayed", f"name weights: {', '.join(sorted(names))}", repr(name))
    for name, weight in model.named_parameters():
        decays = recipe.decayed is None or name.split(".")[0] in recipe.decayed
        groups[0 if decays else 1]["params"].append(weight)
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=recipe.learning_rate, fused=True)
    return torch.optim.Adam(groups, lr=recipe.learning_rate, eps=recipe.adam_epsilon, fused=True)


def _choice(recipe: Recipe, optimizer: torch.optim.Optimizer) -> Choice:
    both = LossAndAccuracy(recipe.patience)
    keeps: dict[str, Rule | None] = {
        "best": None,
        "last": lambda epoch, validation_loss: True,
        "loss and accuracy": both.keep,
    }
    stops: dict[str, Rule | None] = {
        "never": None,
        "rising loss": RisingLoss(recipe.patience, lambda: _penalty(optimizer)),
        "loss or accuracy": both.stop,
        "accuracy": Patience(recipe.patience, ties=True),
    }
    return Choice(later_wins=True, keep=keeps[recipe.keep], stop=stops[recipe.stop])


def _penalty(optimizer: torch.optim.Optimizer) -> float:
    """Σ λ/2·‖W‖² over the weights that decay."""
    group = optimizer.param_groups[0]
    with torch.no_grad():
        squares = sum(float(weight.square().sum()) for weight in group["params"])
    return group["weight_decay"] / 2 * squares


def _batches(target: Target, size: int) -> Callable[[Tensor], Tensor]:
    """The mean cross-entropy over training nodes drawn anew each time."""

    def loss(logits: Tensor) -> Tensor:
        batch = torch.randperm(target.num_train)[:size].to(logits.device)
        return cross_entropy(logits[batch], target.labels[batch])

    return loss


class RisingLoss:
    """Stops when the validation loss exceeds its mean over the last `window` epochs (GCN).

    `penalty` is added to the loss: the public code counts the L2 term too.
    """

    def __init__(self, window: int, penalty: Callable[[], float]) -> None:
        self.window, self.penalty = window, penalty
        self.last: deque[float] = deque(maxlen=window)

    def __call__(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        loss = validation_loss() + self.penalty()
        # Not before epoch w + 2: the public code counts from 0 and asks for more than w epochs.
        full = epoch.epoch > self.window + 1
        rises = full and loss > np.mean(self.last)
        self.last.append(loss)
        return bool(rises)


class LossAndAccuracy:
    """Keeps the latest epoch that matches the best validation loss and accuracy so far (GAT).

    Stops after `patience` epochs that match neither. `keep` is asked before `stop`.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.accuracy, self.loss, self.since = -np.inf, np.inf, 0

    def keep(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        loss = validation_loss()
        matches = epoch.score >= self.accuracy, loss <= self.loss
        if any(matches):
            self.since = epoch.epoch
        self.accuracy, self.loss = max(self.accuracy, epoch.score), min(self.loss, loss)
        return all(matches)

    def stop(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        return epoch.epoch - self.since >= self.patience

"""The rules of the training loop on a model whose every epoch is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cpgnn.engine.loop import Best, Choice, Epoch, descend
from cpgnn.engine.scores import accuracy
from cpgnn.engine.target import Target, cross_entropy
from cpgnn.splits import Split
from toys import array, softmax, toy

SCORES = [0.1, 0.5, 0.7, 0.7, 0.2, 0.6]
"""Of the state before the first update, and after each."""


class Counter(nn.Module):
    """A weight that every update lowers by one."""

    def __init__(self, rows: int, classes: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))
        self.shape = (rows, classes)

    def forward(self, view) -> torch.Tensor:
        return self.w.expand(self.shape)


def descended(validation: int = 3, epochs: int = 5, **rules) -> tuple[Best, Counter, list[Epoch]]:
    example = toy(0)
    target = Target.of(example.graph.view(), example.split(4, validation))
    model = Counter(4 + validation, example.c)
    asked: list[Epoch] = []
    best = Best()
    score = lambda logits, labels: SCORES[round(-model.w.item())]  # noqa: E731
    descend(
        model,
        model,
        lambda logits: logits[0, 0] + 100,
        target,
        torch.optim.SGD(model.parameters(), lr=1.0),
        best,
        epochs=epochs,
        choice=Choice(score, **rules),
        observe=asked.append,
    )
    best.restore()
    return best, model, asked


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ({}, 2),
        ({"later_wins": True}, 3),
        ({"keep": lambda epoch, loss: epoch.epoch == 4}, 4),
        ({"stop": lambda epoch, loss: epoch.epoch == 1}, 1),
        ({"epochs": 0, "first_competes": True}, 0),
        ({"validation": 0}, 5),
    ],
)
def test_which_epoch_is_kept(rules, kept):
    best, model, _ = descended(**rules)
    assert best.epoch.epoch == kept
    assert best.epoch.score == SCORES[kept]
    assert model.w.item() == -kept


def test_every_epoch_is_observed_with_its_loss():
    _, _, seen = descended()
    assert [(e.epoch, e.loss, e.score) for e in seen] == [
        (i, 100 - i, SCORES[i]) for i in range(1, 6)
    ]


def test_what_is_also_kept_comes_back():
    extra = torch.zeros(1)
    count = lambda epoch, loss: bool(extra.fill_(epoch.epoch)) and False  # noqa: E731
    best, _, _ = descended(also=[extra], stop=count)
    assert (best.epoch.epoch, extra.item()) == (2, 1)  # taken before the stop rule was asked


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("equals", [False, True])
def test_the_first_of_equal_logits_is_predicted(by_columns, equals):
    rng = np.random.default_rng(0)
    logits = rng.integers(0, 2, (50, 3)) if equals else rng.normal(size=(50, 3))
    labels = rng.integers(0, 3, 50)
    stored = torch.tensor(logits, dtype=torch.float32)
    stored = stored.t().contiguous().t() if by_columns else stored
    expected = (logits.argmax(axis=1) == labels).mean()
    assert accuracy(stored, torch.from_numpy(labels)) == expected
    assert 0 < expected < 1


@pytest.mark.parametrize("balanced", [False, True])
def test_losses_of_both_parts_against_numpy(balanced):
    example = toy(3, n=12)
    nodes = np.random.default_rng(1).permutation(12)
    split = Split(nodes[:7], nodes[7:], nodes[:0])
    target = Target.of(example.graph.view(), split, "balanced" if balanced else None)
    logits = torch.from_numpy(np.random.default_rng(2).normal(size=(12, 3)))
    weight = np.ones(3)
    if balanced:
        weight = 1 / np.maximum(np.bincount(example.y[split.train], minlength=3), 1)
        target = Target.of(example.graph.view(dtype=torch.float64), split, "balanced")
    at_label = -np.log(softmax(array(logits))[np.arange(12), example.y[nodes]])
    w = weight[example.y[nodes]]
    assert target.loss(logits).item() == pytest.approx(np.average(at_label[:7], weights=w[:7]))
    assert target.validation_loss(logits) == pytest.approx(np.average(at_label[7:], weights=w[7:]))


def test_cross_entropy_is_torchs():
    logits = torch.randn(20, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.arange(20) % 4
    weight = torch.rand(4, dtype=torch.float64)
    for w in (None, weight):
        ours, theirs = (f(logits, labels, w) for f in (cross_entropy, nn.functional.cross_entropy))
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(*(torch.autograd.grad(x, logits)[0] for x in (ours, theirs)))

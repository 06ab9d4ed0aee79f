"""Validation scores that choose an epoch or a model: accuracy, macro-F1, average precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from cpgnn.engine.target import Target
from cpgnn.errors import advise, check_choice, must_be

Score = Callable[[Tensor, Tensor], float]


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows whose largest logit is the label's."""
    hits = logits.numpy(force=True).argmax(axis=1) == labels.numpy(force=True)
    return np.count_nonzero(hits) / max(hits.size, 1)


def macro_f1(logits: Tensor, labels: Tensor) -> float:
    """Mean over the classes that occur of 2·TP / (2·TP + FP + FN)."""
    c = logits.shape[1]
    predicted = logits.argmax(dim=1)
    confusion = torch.bincount(labels * c + predicted, minlength=c * c).reshape(c, c).double()
    hits, total = confusion.diagonal(), confusion.sum(0) + confusion.sum(1)
    occurs = confusion.sum(1) > 0
    return float((2 * hits[occurs] / total[occurs]).mean()) if occurs.any() else float("nan")


def average_precision(logits: Tensor, labels: Tensor, positive: int | None = None) -> float:
    """The area under precision over recall of the class `positive`.

    Without one, the mean over the classes that occur; with two classes the second is positive.
    """
    from sklearn.metrics import average_precision_score

    P = torch.softmax(logits, dim=1).numpy(force=True)
    y = labels.numpy(force=True)
    if positive is None and P.shape[1] == 2:
        positive = 1
    classes = range(P.shape[1]) if positive is None else [positive]
    values = [average_precision_score(y == c, P[:, c]) for c in classes if (y == c).any()]
    return float(np.mean(values)) if values else float("nan")


_SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "macro_f1": macro_f1,
    "average_precision": average_precision,
}


def validation_score(name: str, positive: int | None = None) -> Score:
    """The score called "accuracy", "macro_f1" or "average_precision" (of the class `positive`)."""
    check_choice("select_by", name, tuple(_SCORES))
    if positive is not None and name == "average_precision":
        return partial(average_precision, positive=positive)
    return _SCORES[name]


def check_score(score: Score, target: Target, name: str) -> None:
    """Raises where the score of every epoch would be NaN: then it cannot choose one."""
    labels = target.val_labels
    uniform = torch.zeros(len(labels), target.view.graph.num_classes, device=labels.device)
    if len(labels) and np.isnan(score(uniform, labels)):
        must = advise("include a node of the positive class for {}", select_by=name)
        hint = advise("Try another split, or {}.", select_by="accuracy")
        raise must_be("The validation nodes", must, "none", hint)

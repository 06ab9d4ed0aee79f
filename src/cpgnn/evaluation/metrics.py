"""Scores of predictions on held-out nodes, each with its n and a 95 % interval.

Shares (accuracy, precision, recall) get Wilson's interval; the others a bootstrap over the nodes.
The point values are scikit-learn's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    roc_auc_score,
)

from cpgnn.engine.records import Number

RESAMPLES = 400
LEVEL = 0.95
_Z = 1.959963984540054


@dataclass(frozen=True)
class Scored:
    """A score, the number of nodes behind it, and the ends of its 95 % interval."""

    value: Number
    n: int
    low: Number
    high: Number

    def as_dict(self) -> dict[str, float | int | None]:
        parts = {"value": self.value, "n": self.n, "low": self.low, "high": self.high}
        return {key: None if np.isnan(part) else part for key, part in parts.items()}


def share(hits: int, n: int) -> Scored:
    """hits / n with Wilson's interval; NaN where n is 0."""
    if n == 0:
        return Scored(float("nan"), 0, float("nan"), float("nan"))
    p, z2 = hits / n, _Z**2
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * np.sqrt(p * (1 - p) / n + z2 / (4 * n**2))
    return Scored(
        p, n, max(0.0, min(p, float(middle - half))), min(1.0, max(p, float(middle + half)))
    )


def difference(right: np.ndarray, other: np.ndarray, seed: int = 0) -> Scored:
    """Accuracy of one method minus that of another on the same nodes; bootstrap over the nodes.

    `right` and `other` [n] say which nodes each got right. Nodes that both got right or both got
    wrong say nothing about the difference, which is why this interval is narrower than the two
    intervals side by side suggest.
    """
    n = len(right)
    change = right.astype(np.int64) - other.astype(np.int64)
    if n == 0:
        return share(0, 0)
    shares = [(change == value).mean() for value in (1, -1, 0)]
    drawn = np.random.default_rng(seed).multinomial(n, shares, size=RESAMPLES)
    return _interval(float(change.mean()), n, list((drawn[:, 0] - drawn[:, 1]) / n))


@dataclass(frozen=True)
class Evaluation:
    """What predictions are worth on nodes whose labels were not used."""

    accuracy: Scored
    macro_f1: Scored
    majority: Scored
    """Accuracy of always naming the class that is most frequent among these nodes."""
    precision: dict[str, Scored]
    recall: dict[str, Scored]
    confusion: np.ndarray
    """[c, c]: rows are labels, columns predictions."""
    positive: str | None = None
    roc_auc: Scored | None = None
    average_precision: Scored | None = None
    precision_at: dict[int, Scored] | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; NaN becomes null."""
        per_class = {
            name: {
                "precision": self.precision[name].as_dict(),
                "recall": self.recall[name].as_dict(),
            }
            for name in self.precision
        }
        result: dict[str, Any] = {
            "accuracy": self.accuracy.as_dict(),
            "macro_f1": self.macro_f1.as_dict(),
            "majority_class": self.majority.as_dict(),
            "per_class": per_class,
            "confusion": self.confusion.tolist(),
            "interval": "95 %: Wilson for shares, bootstrap over nodes for the others",
        }
        if self.positive is not None and self.roc_auc and self.average_precision:
            result |= {
                "positive": self.positive,
                "roc_auc": self.roc_auc.as_dict(),
                "average_precision": self.average_precision.as_dict(),
                "precision_at": {k: v.as_dict() for k, v in (self.precision_at or {}).items()},
            }
        return result


def evaluate(
    probabilities: np.ndarray,
    labels: np.ndarray,
    class_names: list[str],
    *,
    positive: int | None = None,
    seed: int = 0,
) -> Evaluation:
    """Scores of probabilities [t, c] against labels [t]; `positive` adds the ranking scores."""
    c, n = len(class_names), len(labels)
    predicted = probabilities.argmax(axis=1)
    rng = np.random.default_rng(seed)
    C = confusion_matrix(labels, predicted, labels=np.arange(c)).astype(np.int64)
    hits = np.diagonal(C)
    occurring = np.flatnonzero(C.sum(axis=1))
    f1 = f1_score(labels, predicted, labels=occurring, average="macro", zero_division=0.0)
    cells = rng.multinomial(n, (C / n).ravel(), size=RESAMPLES).reshape(-1, c, c)
    evaluation = Evaluation(
        accuracy=share(int(hits.sum()), n),
        macro_f1=_interval(float(f1), n, [_macro_f1(cell, occurring) for cell in cells]),
        majority=share(int(C.sum(axis=1).max()), n),
        precision={m: share(int(hits[i]), int(C[:, i].sum())) for i, m in enumerate(class_names)},
        recall={m: share(int(hits[i]), int(C[i].sum())) for i, m in enumerate(class_names)},
        confusion=C,
    )
    if positive is None or not 0 < (labels == positive).sum() < n:
        return evaluation
    return _ranked(evaluation, probabilities[:, positive], labels == positive, positive, rng)


def _ranked(
    evaluation: Evaluation, score: np.ndarray, hit: np.ndarray, positive: int, rng: Any
) -> Evaluation:
    from dataclasses import replace

    n, names = len(hit), list(evaluation.precision)
    order = np.argsort(-score, kind="stable")
    ranked, tied = hit[order], score[order]
    last_of_tie = np.append(tied[1:] != tied[:-1], True)
    samples = [
        _weighted_ranking(ranked, last_of_tie, rng.multinomial(n, np.full(n, 1 / n)))
        for _ in range(RESAMPLES)
    ]
    kept = [sample for sample in samples if sample is not None]
    at = sorted({k for k in (10, 50, 100, 500, 1000, int(hit.sum())) if 0 < k <= n})
    return replace(
        evaluation,
        positive=names[positive],
        roc_auc=_interval(float(roc_auc_score(hit, score)), n, [auc for auc, _ in kept]),
        average_precision=_interval(
            float(average_precision_score(hit, score)), n, [ap for _, ap in kept]
        ),
        precision_at={k: share(int(ranked[:k].sum()), k) for k in at},
    )


def _weighted_ranking(
    ranked: np.ndarray, last_of_tie: np.ndarray, weight: np.ndarray
) -> tuple[float, float] | None:
    """ROC-AUC and average precision of a ranking whose nodes count `weight` times."""
    hits = np.cumsum(weight * ranked)[last_of_tie]
    misses = np.cumsum(weight * ~ranked)[last_of_tie]
    if hits[-1] == 0 or misses[-1] == 0:
        return None
    step_hits, step_misses = np.diff(hits, prepend=0), np.diff(misses, prepend=0)
    auc = ((hits[-1] - hits) * step_misses + 0.5 * step_hits * step_misses).sum()
    precision = np.divide(hits, hits + misses, out=np.zeros(len(hits)), where=hits + misses > 0)
    return (
        1.0 - float(auc) / float(hits[-1] * misses[-1]),
        float((precision * step_hits).sum() / hits[-1]),
    )


def _macro_f1(C: np.ndarray, occurring: np.ndarray) -> float:
    total = (C.sum(axis=0) + C.sum(axis=1))[occurring]
    hits = 2 * np.diagonal(C)[occurring]
    return float(np.divide(hits, total, out=np.zeros(len(total)), where=total > 0).mean())


def _interval(value: float, n: int, samples: list[float]) -> Scored:
    if not samples:
        return Scored(value, n, float("nan"), float("nan"))
    low, high = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Scored(value, n, float(low), float(high))

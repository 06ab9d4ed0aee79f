"""Scores of predictions on held-out nodes, each with its n and a 95 % interval.

The point values are scikit-learn's. The intervals are closed forms that contain the value they are
about, have a width even where every node is right, and hold at the sizes people have (measured in
tests/evaluation/test_metrics.py; a bootstrap held the ROC-AUC of ten positives in 67 of 100 cases):

- shares: Wilson; average precision: Wilson over the positive nodes;
- ROC-AUC: Newcombe (2006), method 5, which is Wilson's with Hanley and McNeil's variance;
- macro-F1: Wilson for the F1 of each class, put together by Zou and Donner's (2008) MOVER;
- the difference of two models on the same nodes: Bonett and Price (2012), or MOVER.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import pearsonr
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from cpgnn.engine.arrays import class_index, class_indices
from cpgnn.engine.records import Count, Rate, plain
from cpgnn.errors import must_be, wrong_value

HELD_OUT = "held-out nodes"
RARE = 0.05
"""A class with a smaller share is judged by its ranking: accuracy says nothing about it."""
RESAMPLES = 200
_Z = 1.959963984540054


@dataclass(frozen=True)
class Scored:
    """A score, the number of nodes behind it, and the ends of its 95 % interval."""

    value: Rate
    n: Count
    low: Rate
    high: Rate


def rare_class(sizes: np.ndarray) -> int | None:
    """The class to look for if none was named, from the labelled nodes of each class, [c].

    Of two classes the smaller one; of more, the only one that is rare, where one class is so large
    that naming it always would be right four times in five.
    """
    if len(sizes) == 2:
        return int(sizes.argmin())
    shares = sizes / max(sizes.sum(), 1)
    rare = np.flatnonzero(shares < RARE)
    return int(rare[0]) if len(rare) == 1 and shares.max() > 0.8 and sizes[rare[0]] else None


def positive_class(names: Sequence[str], sizes: np.ndarray, positive: str | None) -> int | None:
    """The index of the class to look for: the one that is named, else by `rare_class`."""
    return rare_class(sizes) if positive is None else class_index(names, positive)


def share(hits: float, n: float) -> Scored:
    """hits / n with Wilson's interval; NaN where n is 0. Means over repeats may be fractions."""
    if n == 0:
        return Scored(float("nan"), 0, float("nan"), float("nan"))
    p = hits / n
    low, high = _wilson(np.array(p), np.array(n))
    return Scored(p, max(1, round(n)), float(low), float(high))


def difference(right: np.ndarray, other: np.ndarray) -> Scored:
    """Accuracy of one method minus that of another, where both are judged on the same nodes.

    `right` and `other`, [n] or [repeats, n], say which nodes each got right. Nodes that both got
    right or wrong say nothing about the difference: this interval is narrower than the two
    intervals side by side suggest.
    """
    right, other = np.atleast_2d(right), np.atleast_2d(other)
    gained, lost = ((a & ~b).sum() / len(right) for a, b in ((right, other), (other, right)))
    return _paired(float(gained), float(lost), right.shape[1])


def _paired(gained: float, lost: float, n: int) -> Scored:
    """(gained - lost) / n, with one more node on either side for the interval."""
    if n == 0:
        return share(0, 0)
    p, q = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    value, half = (gained - lost) / n, _Z * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    low, high = max(-1.0, p - q - half), min(1.0, p - q + half)
    return Scored(value, n, float(min(low, value)), float(max(high, value)))


@dataclass(frozen=True)
class Evaluation:
    """What predictions are worth on nodes whose labels were not used."""

    accuracy: Scored
    macro_f1: Scored
    majority: Scored
    """Accuracy of always predicting the class that is most frequent among these nodes."""
    precision: dict[str, Scored]
    recall: dict[str, Scored]
    confusion: np.ndarray
    """[c, c]: rows are labels, columns predictions; the mean where there were repeats."""
    positive: str | None = None
    roc_auc: Scored | None = None
    average_precision: Scored | None = None
    precision_at: dict[int, Scored] | None = None
    asked: bool = False
    """Whether the positive class was named by the user."""
    measured_on: str = HELD_OUT

    @property
    def over_majority(self) -> Scored:
        """How much more is right than by always predicting the largest class."""
        C, hits = self.confusion, np.diagonal(self.confusion)
        largest = int(C.sum(axis=1).argmax())
        gained, lost = hits.sum() - hits[largest], C[largest].sum() - hits[largest]
        return _paired(float(gained), float(lost), self.accuracy.n)

    @property
    def chance(self) -> Scored | None:
        """Share of the positive class: average precision and precision at k of a random order."""
        if self.positive is None:
            return None
        row = self.confusion[list(self.precision).index(self.positive)]
        return share(float(row.sum()), self.accuracy.n)

    @property
    def by_ranking(self) -> bool:
        """Judge by the ranking of the positive class: it was asked for, or is rare."""
        if self.chance is None or self.average_precision is None:
            return False
        return self.asked or self.chance.value < RARE

    def as_dict(self) -> dict[str, Any]:
        """For JSON; NaN becomes null."""
        result: dict[str, Any] = {
            "measured_on": self.measured_on,
            "judged_by": "average precision" if self.by_ranking else "accuracy",
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "majority_class": self.majority,
            "per_class": {
                name: {"precision": self.precision[name], "recall": self.recall[name]}
                for name in self.precision
            },
            "confusion": self.confusion,
            "interval": "95 %: Wilson for shares and average precision, Newcombe for ROC-AUC, "
            "MOVER for macro-F1",
        }
        ranking = ("positive", "chance", "roc_auc", "average_precision", "precision_at")
        if self.positive is not None:
            result |= {name: getattr(self, name) for name in ranking}
        return dict(plain(result))


def evaluate(
    probabilities: np.ndarray,
    labels: np.ndarray,
    class_names: list[str],
    *,
    positive: int | None = None,
    asked: bool = False,
    measured_on: str = HELD_OUT,
) -> Evaluation:
    """Scores of probabilities [t, c] against labels [t]; `positive` adds the ranking scores.

    Probabilities [r, t, c] are r predictions of the same nodes, as repeated cross-validation gives
    them: the scores are means over the repeats, their n is t.
    """
    P = probabilities if probabilities.ndim == 3 else probabilities[None]
    c, n = len(class_names), len(labels)
    if not n:
        raise must_be("The nodes to evaluate", "be at least one", "none")
    labels = class_indices(labels, c)
    tables = [confusion_matrix(labels, p.argmax(axis=1), labels=np.arange(c)) for p in P]
    C = whole(np.mean(tables, axis=0))
    hits, rows, columns = np.diagonal(C), C.sum(axis=1), C.sum(axis=0)
    ranking: dict[str, Any] = {}
    if positive is not None and 0 < rows[positive] < n:
        ranking = rank_scores(P[:, :, positive], labels == positive)
        ranking |= {"positive": class_names[positive], "asked": asked}
    return Evaluation(
        accuracy=share(float(hits.sum()), n),
        macro_f1=_macro_f1(C, n),
        majority=share(float(rows.max()), n),
        precision={m: share(float(hits[i]), float(columns[i])) for i, m in enumerate(class_names)},
        recall={m: share(float(hits[i]), float(rows[i])) for i, m in enumerate(class_names)},
        confusion=C,
        measured_on=measured_on,
        **ranking,
    )


def weighted_share(right: np.ndarray, known: np.ndarray, sample_weight: Any) -> float:
    """Of the known among n nodes, the share that is right [known]; `sample_weight` [n] or None."""
    if sample_weight is None:
        return float(np.average(right))
    weight = np.asarray(sample_weight)
    if weight.shape != known.shape or weight.dtype.kind not in "fiub":
        got = f"{weight.dtype} of shape {weight.shape}"
        raise wrong_value("sample_weight", f"be numbers, one for each of {len(known)} nodes", got)
    weight = weight[known].astype(np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.sum():
        must = "be finite, not negative, and above 0 for some labelled node"
        raise wrong_value("sample_weight", must, f"{weight[:5].tolist()}")
    return float(np.average(right, weights=weight))


def whole(counts: np.ndarray) -> np.ndarray:
    """Counts as integers where they are; means over repeats may not be."""
    rounded = counts.round().astype(np.int64)
    return rounded if (rounded == counts).all() else counts


def rank_scores(score: np.ndarray, hit: np.ndarray) -> dict[str, Any]:
    """ROC-AUC, average precision and precision at k of rankings [r, t]; `hit` [t] are positive."""
    n, positives = len(hit), int(hit.sum())
    auc = float(np.mean([roc_auc_score(hit, s) for s in score]))
    ap = float(np.mean([average_precision_score(hit, s) for s in score]))
    found = np.cumsum(hit[np.argsort(-score, axis=1, kind="stable")], axis=1).mean(axis=0)
    at = sorted({k for k in (10, 50, 100, 500, 1000, positives) if 0 < k < n})
    return {
        "roc_auc": Scored(auc, n, *_auc_ends(auc, positives, n - positives)),
        "average_precision": share(ap * positives, positives),
        "precision_at": {k: share(float(found[k - 1]), k) for k in at},
    }


def gain_in_average_precision(
    score: np.ndarray, other: np.ndarray, hit: np.ndarray, seed: int = 0
) -> Scored:
    """Average precision of one ranking minus that of another of the same nodes.

    `score` and `other`, [t] or [repeats, t]; `hit` [t] says which nodes are of the class. MOVER
    again, of the two intervals. Rankings that agree vary together; how far they do is read
    from a bootstrap within the positive and the other nodes, of the first repeat.
    """
    score, other = np.atleast_2d(score), np.atleast_2d(other)
    one, two = (rank_scores(s, hit)["average_precision"] for s in (score, other))
    rng, groups = np.random.default_rng(seed), (np.flatnonzero(hit), np.flatnonzero(~hit))
    rankings = [Ranking(s[0], hit) for s in (score, other)]
    values = np.empty((int(np.clip(10_000_000 // len(hit), 40, RESAMPLES)), 2))
    for row in values:
        weight = np.zeros(len(hit))
        for nodes in groups:
            weight += np.bincount(rng.choice(nodes, len(nodes)), minlength=len(hit))
        row[:] = [ranking.average_precision(weight) for ranking in rankings]
    varies = values.std(axis=0).min() > 0
    together = max(0.0, float(pearsonr(*values.T).statistic)) if varies else 0.0

    def gap(a: float, b: float) -> float:
        return float(np.sqrt(max(0.0, a**2 + b**2 - 2 * together * a * b)))

    value = one.value - two.value
    below = gap(one.value - one.low, two.high - two.value)
    above = gap(one.high - one.value, two.value - two.low)
    return Scored(value, one.n, max(-1.0, value - below), min(1.0, value + above))


class Ranking:
    """Nodes by falling score, sorted once; `hit` [t] are those that are looked for."""

    def __init__(self, score: np.ndarray, hit: np.ndarray) -> None:
        self.order = np.argsort(-score, kind="stable")
        self.hit, falling = hit[self.order], score[self.order]
        self.last_of_tie = np.append(falling[1:] != falling[:-1], True)
        self.values = falling[self.last_of_tie]
        """The scores that occur, falling."""

    def counts(self, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Hits and nodes at or above each value; a node counts `weight` [t] times, or once."""
        w = np.ones(len(self.hit)) if weight is None else weight[self.order]
        return np.cumsum(w * self.hit)[self.last_of_tie], np.cumsum(w)[self.last_of_tie]

    def average_precision(self, weight: np.ndarray) -> float:
        hits, called = self.counts(weight)
        precision = np.divide(hits, called, out=np.zeros(len(hits)), where=called > 0)
        return float((precision * np.diff(hits, prepend=0)).sum() / hits[-1])


def _wilson(p: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Wilson's interval; they hold p even where rounding would leave it outside."""
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    return np.clip(middle - half, 0, p), np.clip(middle + half, p, 1)


def _macro_f1(C: np.ndarray, n: int) -> Scored:
    """Mean F1 of the classes that occur. F1 is a share, of TP + (FP + FN)/2."""
    occurs = C.sum(axis=1) > 0
    of = ((C.sum(axis=0) + C.sum(axis=1)) / 2)[occurs]
    f1 = np.diagonal(C)[occurs] / of
    low, high = _wilson(f1, of)
    value, c = float(f1.mean()), len(f1)
    below, above = (float(np.sqrt((gap**2).sum()) / c) for gap in (f1 - low, high - f1))
    return Scored(value, n, max(0.0, value - below), min(1.0, value + above))


def _auc_ends(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """Where an area would be just compatible with the one that was found."""
    pairs, middle = positives * negatives, (positives + negatives) / 2

    def beyond(area: float) -> float:
        spread = 1 + (middle - 1) * ((1 - area) / (2 - area) + area / (1 + area))
        return (auc - area) ** 2 - _Z**2 * area * (1 - area) * spread / pairs

    low = 0.0 if beyond(0.0) <= 0 else brentq(beyond, 0.0, min(auc, 1 - 1e-9))
    high = 1.0 if beyond(1.0) <= 0 else brentq(beyond, max(auc, 1e-9), 1.0)
    return float(min(low, auc)), float(max(high, auc))

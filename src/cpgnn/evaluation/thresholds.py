"""A threshold for a rare class: above which probability is a node called positive?

The most probable class is the wrong rule where 1 % is fraud: at 0.4 a node may be well worth a
look. The threshold is chosen on labels that the model had not seen; what it is worth is measured on
test nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from cpgnn.engine.records import Count, Share, plain
from cpgnn.errors import advise, must_be
from cpgnn.evaluation.metrics import Ranking, Scored, share
from cpgnn.graph import Graph


@dataclass(frozen=True)
class Threshold:
    """Nodes with probability ≥ `value` for the class are called positive."""

    value: Share
    goal: str
    reached: bool
    """Whether those nodes meet the goal anywhere; if not, the closest threshold."""
    precision: Share
    recall: Share
    """On the nodes that chose it: not what to expect on others."""
    positives: Count
    """Positive nodes among those."""


@dataclass(frozen=True)
class Goal:
    """What a threshold is for: the best F1, or the best one with at least this precision/recall."""

    kind: Literal["f1", "precision", "recall"] = "f1"
    least: float = 0.0

    def __post_init__(self) -> None:
        if self.kind != "f1" and not 0 < self.least <= 1:
            hint = f"Did you mean {self.least / 100:g}?" if 1 < self.least <= 100 else ""
            raise must_be(f"The least {self.kind}", "lie in (0, 1]", self.least, hint)

    def __str__(self) -> str:
        return "best F1" if self.kind == "f1" else f"{self.kind} ≥ {self.least:g}"


def one_goal(min_precision: float | None, min_recall: float | None, f1: bool) -> Goal | None:
    """The goal that was asked for, if any; two at once are refused."""
    goals = [Goal("f1")] if f1 else []
    goals += [] if min_precision is None else [Goal("precision", min_precision)]
    goals += [] if min_recall is None else [Goal("recall", min_recall)]
    if len(goals) > 1:
        raise must_be("A threshold", "have one goal", " and ".join(map(str, goals)))
    return goals[0] if goals else None


def choose_threshold(
    probability: np.ndarray, positive: np.ndarray, goal: Goal | None = None
) -> Threshold:
    """The threshold that fits the goal best on these nodes.

    probability [t] of the class, positive [t] whether a node is of it. With a least precision: the
    largest recall that keeps it; with a least recall: the largest precision. Ties go to the
    higher threshold. Only values that occur are tried. A precision that none reaches leaves the
    most precise one, and says so.
    """
    goal = goal or Goal()
    positive = np.asarray(positive, dtype=bool)
    if not positive.any():
        raise must_be("The validation nodes", "include a node of the positive class", "none")
    ranking = Ranking(probability, positive)
    hits, called = ranking.counts()
    precision, recall = hits / called, hits / positive.sum()
    reached = {"precision": precision, "recall": recall, "f1": precision}[goal.kind] >= goal.least
    if goal.kind == "f1":
        score = 2 * hits / (called + positive.sum())
    else:
        score = recall if goal.kind == "precision" and reached.any() else precision
        score = np.where(reached, score, -1.0) if reached.any() else score
    best = int(np.argmax(score))
    return Threshold(
        float(ranking.values[best]),
        str(goal),
        bool(reached.any()),
        float(precision[best]),
        float(recall[best]),
        int(positive.sum()),
    )


@dataclass(frozen=True)
class Flag:
    """Which class is flagged from which probability on, how that was chosen, what it is worth."""

    class_name: str
    value: float
    chosen: Threshold | None = None
    test: dict[str, Scored] | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = {"validation": self.chosen, "test": self.test}
        return dict(plain({"class": self.class_name, "value": self.value} | found))


def threshold_scores(
    threshold: float, probability: np.ndarray, positive: np.ndarray
) -> dict[str, Scored]:
    """Precision and recall of a threshold on other nodes, each with its n and 95 % interval."""
    return call_scores(probability >= threshold, positive)


def call_scores(called: np.ndarray, positive: np.ndarray) -> dict[str, Scored]:
    """Precision and recall if the nodes `called`, [t] or [repeats, t], are taken for positive."""
    called = np.atleast_2d(called)
    hits = (called & positive).sum() / len(called)
    return {
        "precision": share(float(hits), float(called.sum() / len(called))),
        "recall": share(float(hits), int(positive.sum())),
    }


def check_flaggable(graph: Graph, judged: np.ndarray, target: int | None) -> None:
    """Raises, before anything is trained, if the `judged` nodes cannot choose a threshold."""
    if target is None:
        got, hint = f"{graph.num_classes} classes", advise("Name it, e.g. {}.", positive="fraud")
        raise must_be("A threshold", "be for one class", got, hint)
    if not (graph.labels[judged] == target).any():
        must = f"include one of class {graph.class_names[target]!r}"
        hint = advise("Label more of them, or try {}.", seed=1)
        raise must_be("The nodes that choose the threshold", must, "none", hint)


def flagged(table: pd.DataFrame, flag: Flag) -> pd.DataFrame:
    """A table of predictions with a column that says which nodes reach the threshold."""
    table = table.copy()
    calls = np.where(table[f"p_{flag.class_name}"] >= flag.value, "yes", "no")
    table.insert(2, "flagged", calls)
    return table

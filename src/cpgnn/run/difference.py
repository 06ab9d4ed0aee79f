"""What became of a run: classes that changed, how H moved, what the scores did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cpgnn.doubt.drift import Shift, shifts
from cpgnn.engine.formatting import Counted, between, percent
from cpgnn.engine.text import count
from cpgnn.errors import must_be
from cpgnn.evaluation.metrics import Scored
from cpgnn.relations.derived import counted
from cpgnn.run.run import Run

VISIBLE = 0.05
"""The least change of a share that is worth a sentence."""


@dataclass(frozen=True, eq=False)
class Difference:
    """Two runs beside each other."""

    shared: int
    """Predicted nodes that are in both."""
    gone: int
    new: int
    changed: pd.DataFrame
    """Nodes with another class: id, before, after, p_before, p_after, label; the surest first."""
    class_names: tuple[str, ...]
    """Classes of both runs, in the order of the first."""
    frequency: tuple[np.ndarray, np.ndarray]
    """Where the edges of a class lead, then and now, over these classes."""
    intervals: tuple[np.ndarray, np.ndarray]
    """The ends of their intervals, [2, c, c]; NaN where there is no evidence."""
    counted: tuple[Counted, Counted]
    """What they are shares of."""
    scores: dict[str, tuple[Scored, Scored]]
    shifts: tuple[Shift, ...]
    """What is distributed differently: degrees and features."""

    @classmethod
    def of(cls, first: Run, second: Run) -> Difference:
        """Nodes are matched by id and classes by name."""
        names = [name for name in first.class_names if name in second.class_names]
        if not names:
            got = f"{', '.join(first.class_names)} and {', '.join(second.class_names)}"
            raise must_be("The runs", "have classes in common", got)
        then, now = (np.flatnonzero(run.graph.predicted) for run in (first, second))
        old, new = first.graph.node_ids.astype(str)[then], second.graph.node_ids.astype(str)[now]
        found = old.get_indexer(new)
        here = np.flatnonzero(found >= 0)
        return cls(
            shared=len(here),
            gone=len(old) - len(here),
            new=len(new) - len(here),
            changed=_changed(first, second, then[found[here]], now[here]),
            class_names=tuple(names),
            frequency=(_over(first, names)[0], _over(second, names)[0]),
            intervals=(_over(first, names)[1:], _over(second, names)[1:]),
            counted=(counted(first.graph), counted(second.graph)),
            scores=_scores(first, second),
            shifts=tuple(_shifts(first, second)),
        )

    @property
    def moved(self) -> np.ndarray:
        """How much more of the edges of class i lead to class j than before, [c, c]."""
        return np.asarray(self.frequency[1] - self.frequency[0])

    @property
    def apart(self) -> np.ndarray:
        """Whether the interval of a share is known and lies beside the one before, [c, c]."""
        (then_low, then_high), (now_low, now_high) = self.intervals
        return np.asarray((now_low > then_high) | (now_high < then_low))

    def sentences(self) -> list[str]:
        """The difference in words."""
        said = [
            f"{count(self.shared, 'node')} in both runs, {self.gone:,} only in the first, "
            f"{self.new:,} only in the second. {count(len(self.changed), 'node')} changed class "
            f"({percent(len(self.changed) / self.shared) if self.shared else '–'})."
        ]
        for name, (then, now) in self.scores.items():
            apart = now.low > then.high or now.high < then.low
            said.append(
                f"{name}: {percent(then.value)} ({between(then.low, then.high)}) then, "
                f"{percent(now.value)} ({between(now.low, now.high)}) now: "
                f"{'a clear difference' if apart else 'no clear difference'}."
            )
        said.append(self._connections())
        said += [f"Changed: {shift}." for shift in self.shifts[:5]]
        return said

    def _connections(self) -> str:
        """Where the edges of a class lead to another than before: the largest clear difference, or
        the largest."""
        D = np.abs(np.nan_to_num(self.moved))
        clear = self.apart & (D >= VISIBLE)
        if D.max() < VISIBLE:
            return "Who connects with whom has changed by less than 5 points."
        i, j = np.unravel_index(int(np.where(clear, D, D * ~clear.any()).argmax()), D.shape)
        then, now = (F[i, j] for F in self.frequency)
        then_ends, now_ends = (between(E[0, i, j], E[1, i, j], 0) for E in self.intervals)
        before, after = self.counted
        of = "" if before == after else f" of the {after}"
        shares = (
            f"how {self.class_names[i]} connects to {self.class_names[j]}: {percent(then, 0)} of "
            f"the {before} ({then_ends}) then, {percent(now, 0)}{of} ({now_ends}) now"
        )
        if clear.any():
            return f"What changed most is {shares}."
        return f"The largest change is in {shares}: no clear difference."


def _changed(first: Run, second: Run, old: np.ndarray, new: np.ndarray) -> pd.DataFrame:
    P, Q = first.prediction.probabilities[old], second.prediction.probabilities[new]
    names, labels = np.array(first.class_names), second.graph.labels[new]
    before, after = names[P.argmax(axis=1)], np.array(second.class_names)[Q.argmax(axis=1)]
    known = np.array([*second.class_names, ""])[labels]
    table = pd.DataFrame(
        {
            "id": second.graph.node_ids[new].astype(str),
            "before": before,
            "after": after,
            "p_before": P.max(axis=1),
            "p_after": Q.max(axis=1),
            "label": known,
        }
    )
    moved = table[before != after]
    return moved.sort_values(["p_after", "id"], ascending=[False, True], ignore_index=True)


def _over(run: Run, names: list[str]) -> np.ndarray:
    """Shares and the ends of their intervals over these classes, [3, c, c]."""
    where, found = [run.class_names.index(name) for name in names], run.classifier
    F = found.edge_frequency_interval_
    each = (found.edge_frequency_, F.low, F.high)
    return np.stack([matrix[np.ix_(where, where)] for matrix in each])


def _scores(first: Run, second: Run) -> dict[str, tuple[Scored, Scored]]:
    one, two = first.evaluation, second.evaluation
    if one is None or two is None:
        return {}
    found = {"Accuracy": (one.accuracy, two.accuracy), "Macro-F1": (one.macro_f1, two.macro_f1)}
    if one.average_precision and two.average_precision and one.positive == two.positive:
        found["Average precision"] = (one.average_precision, two.average_precision)
    return found


def _shifts(first: Run, second: Run) -> list[Shift]:
    same = first.classifier.feature_names_in_ == second.classifier.feature_names_in_
    then, now = first.graph, second.graph
    if not same or then.num_features != now.num_features:
        then, now = then.with_features(None), now.with_features(None)
    return shifts(then, now)

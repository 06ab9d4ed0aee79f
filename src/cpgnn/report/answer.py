"""The first thing a report says: how good the classes are, and against what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpgnn.report.grids import quoted

if TYPE_CHECKING:
    from cpgnn.evaluation.metrics import Evaluation, Scored
    from cpgnn.evaluation.without_graph import WithoutGraph
    from cpgnn.run.run import Run

PRIOR_ALONE = (
    "On the validation nodes the model did best without propagation, so none is used: the classes "
    "come from its prior alone, and the matrix below is an estimate that was not trained."
)


@dataclass(frozen=True)
class Bar:
    """A share with its 95 % interval; all in [0, 1]."""

    name: str
    note: str
    value: float
    low: float
    high: float
    ours: bool = False


@dataclass(frozen=True)
class Answer:
    """The accuracy beside what it must beat, and what that means in words."""

    bars: tuple[Bar, ...]
    n: int
    verdict: str
    """ "good", "unclear", "bad" or "unknown"."""
    headline: str
    sentences: tuple[str, ...]
    per_class: tuple[tuple[str, Bar | None, int, Bar | None, int], ...]
    """Class, precision, the n behind it, recall, the n behind it."""
    ranking: tuple[Bar, ...]
    """Scores of the ranking by the class `positive`, if there is one."""
    positive: str = ""


def answer(run: Run) -> Answer:
    """From the scores of a run."""
    test, blind = run.evaluation, run.without_graph
    more = () if run.classifier.num_layers_ else (PRIOR_ALONE,)
    if test is None:
        headline = "No labels were held out, so nothing here says how often the classes are right."
        hint = "Fit with --test 0.2 to find out."
        return Answer((), 0, "unknown", headline, (hint, *more), (), ())
    accuracy = _bar("this model", test.accuracy, True)
    bars = [accuracy, _bar("always the largest class", test.majority)]
    if blind:
        bars.insert(1, _bar("without the graph", blind.accuracy, note="an MLP on the features"))
    has_features = bool(run.classifier.n_features_in_)
    verdict, headline, why = _verdict(accuracy, test.majority.value, blind, has_features)
    return Answer(
        tuple(bars),
        test.accuracy.n,
        verdict,
        headline,
        (*why, *_weakest(test), *more),
        tuple(_class_row(name, test) for name in test.precision),
        _ranking(test),
        test.positive or "",
    )


def _verdict(
    accuracy: Bar, majority: float, blind: WithoutGraph | None, has_features: bool
) -> tuple[str, str, tuple[str, ...]]:
    """In one word, in one sentence, and why."""
    if accuracy.low <= majority:
        return (
            "bad",
            "Do not rely on these classes: they are not clearly better than always naming the "
            "largest class.",
            ("More labels, other features or more edges may help; see the findings below.",),
        )
    if blind is None:
        why = (
            "This run was not compared with a model without the graph."
            if has_features
            else "There are no features, so there is no model without the graph to compare with."
        )
        return "good", "Better than always naming the largest class.", (why,)
    gain = blind.gain
    between = (
        f"Of 100 held-out nodes, the graph gets {_more(100 * gain.value)} right than the same "
        f"features without it (95 % interval {100 * gain.low:+.1f} to "
        f"{100 * gain.high:+.1f}, both on the same nodes)."
    )
    if gain.low > 0:
        return "good", "The graph helps.", (between,)
    if gain.high < 0:
        advice = "The features alone are the better model here."
        return "bad", "The graph does harm.", (between, advice)
    return "unclear", "The graph makes no clear difference.", (between,)


def _weakest(test: Evaluation) -> tuple[str, ...]:
    """A warning about the class that is found least often, if it is missed more often than not."""
    known = {name: recall for name, recall in test.recall.items() if recall.n}
    name = min(known, key=lambda name: known[name].value)
    recall = known[name]
    if recall.value >= 0.5:
        return ()
    return (
        f"Careful with {quoted(name)}: of {recall.n:,} held-out nodes with this label, only "
        f"{round(recall.value * recall.n):,} are found (95 % interval {100 * recall.low:.0f} to "
        f"{100 * recall.high:.0f} %).",
    )


def _more(nodes: float) -> str:
    return f"{abs(nodes):.1f} {'more' if nodes >= 0 else 'fewer'}"


def _bar(name: str, scored: Scored, ours: bool = False, note: str = "") -> Bar:
    return Bar(name, note, scored.value, scored.low, scored.high, ours)


def _class_row(name: str, test: Evaluation) -> tuple[str, Bar | None, int, Bar | None, int]:
    precision, recall = test.precision[name], test.recall[name]
    bars = [_bar(name, scored) if scored.n else None for scored in (precision, recall)]
    return name, bars[0], precision.n, bars[1], recall.n


def _ranking(test: Evaluation) -> tuple[Bar, ...]:
    if test.roc_auc is None or test.average_precision is None:
        return ()
    scores = {"ROC-AUC": test.roc_auc, "average precision": test.average_precision}
    scores |= {f"precision at {k}": scored for k, scored in (test.precision_at or {}).items()}
    return tuple(_bar(name, s) for name, s in scores.items() if not np.isnan(s.low))

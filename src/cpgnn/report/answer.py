"""The first thing a report says: how good the classes are, and against what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cpgnn.report.grids import quoted

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


def answer(metrics: dict[str, Any]) -> Answer:
    """From what metrics.json holds."""
    test, blind = metrics["test"], metrics.get("without_graph")
    more = () if metrics["num_layers"] else (PRIOR_ALONE,)
    if test is None:
        headline = "No labels were held out, so nothing here says how often the classes are right."
        hint = "Fit with --test 0.2 to find out."
        return Answer((), 0, "unknown", headline, (hint, *more), (), ())
    accuracy, majority = _bar("this model", test["accuracy"], True), test["majority_class"]
    bars = [accuracy, _bar("always the largest class", majority)]
    if blind:
        bars.insert(1, _bar("without the graph", blind["accuracy"], note="an MLP on the features"))
    verdict, headline, reason = _verdict(accuracy, majority["value"], blind, metrics)
    names = test["per_class"]
    return Answer(
        tuple(bars),
        test["accuracy"]["n"],
        verdict,
        headline,
        (*reason, *_weakest(test["per_class"]), *more),
        tuple(_class_row(name, names[name]) for name in names),
        _ranking(test),
        test.get("positive", ""),
    )


def _verdict(
    accuracy: Bar, majority: float, blind: dict[str, Any] | None, metrics: dict[str, Any]
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
            "There are no features, so there is no model without the graph to compare with."
            if "without_graph" in metrics
            else "This run was fitted before the comparison with a model without the graph existed."
        )
        return "good", "Better than always naming the largest class.", (why,)
    gain = blind["gain"]
    between = (
        f"Of 100 held-out nodes, the graph gets {_more(100 * gain['value'])} right than the same "
        f"features without it (95 % interval {100 * gain['low']:+.1f} to "
        f"{100 * gain['high']:+.1f}, both on the same nodes)."
    )
    if gain["low"] > 0:
        return "good", "The graph helps.", (between,)
    if gain["high"] < 0:
        advice = "The features alone are the better model here."
        return "bad", "The graph does harm.", (between, advice)
    return "unclear", "The graph makes no clear difference.", (between,)


def _weakest(per_class: dict[str, Any]) -> tuple[str, ...]:
    """A warning about the class that is found least often, if it is missed more often than not."""
    recall = {name: scores["recall"] for name, scores in per_class.items()}
    known = {name: scored for name, scored in recall.items() if scored["value"] is not None}
    name = min(known, key=lambda name: known[name]["value"])
    scored = known[name]
    if scored["value"] >= 0.5:
        return ()
    found = round(scored["value"] * scored["n"])
    return (
        f"Careful with {quoted(name)}: of {scored['n']:,} held-out nodes with this label, only "
        f"{found:,} are found (95 % interval {100 * scored['low']:.0f} to "
        f"{100 * scored['high']:.0f} %).",
    )


def _more(nodes: float) -> str:
    return f"{abs(nodes):.1f} {'more' if nodes >= 0 else 'fewer'}"


def _bar(name: str, scored: dict[str, Any], ours: bool = False, note: str = "") -> Bar:
    return Bar(name, note, scored["value"], scored["low"], scored["high"], ours)


def _class_row(name: str, scores: dict[str, Any]) -> tuple[str, Bar | None, int, Bar | None, int]:
    precision, recall = scores["precision"], scores["recall"]
    bars = [None if s["value"] is None else _bar(name, s) for s in (precision, recall)]
    return name, bars[0], precision["n"], bars[1], recall["n"]


def _ranking(test: dict[str, Any]) -> tuple[Bar, ...]:
    if "positive" not in test:
        return ()
    scores = {"ROC-AUC": test["roc_auc"], "average precision": test["average_precision"]}
    scores |= {f"precision at {k}": scored for k, scored in test["precision_at"].items()}
    return tuple(_bar(name, s) for name, s in scores.items() if s["low"] is not None)

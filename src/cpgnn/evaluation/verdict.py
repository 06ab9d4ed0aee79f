"""The first thing to know about a run: can it be relied on, and does the graph help?

One judgement for terminal and page. Intervals decide, never values alone, and few nodes decide
nothing. A class that was asked for, or is rare, is judged by how well it is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cpgnn.engine.formatting import between, percent, quoted
from cpgnn.engine.text import count
from cpgnn.errors import advise
from cpgnn.evaluation.metrics import HELD_OUT, RARE, Evaluation, Scored
from cpgnn.evaluation.thresholds import Flag
from cpgnn.evaluation.without_graph import WithoutGraph

FEWEST, FEWEST_POSITIVES = 30, 5
"""Nodes, and nodes of the class that is looked for, below which no verdict is good or bad."""


@dataclass(frozen=True)
class Verdict:
    """In one word, in one sentence, and why."""

    word: Literal["good", "unclear", "bad", "unknown"]
    headline: str
    reasons: tuple[str, ...] = ()


def judge(
    test: Evaluation | None,
    blind: WithoutGraph | None = None,
    flag: Flag | None = None,
    *,
    has_features: bool = True,
    too_few_labels: bool = False,
) -> Verdict:
    """The verdict on the scores of a model and of one without the graph. `too_few_labels`: none
    could be held out."""
    if test is None:
        headline = "No labels were held out, so nothing here says how often the classes are right."
        if too_few_labels:
            return Verdict("unknown", headline, ("Label at least two nodes of every class.",))
        return Verdict("unknown", headline, (advise("Fit with {} to find out.", test=0.2),))
    if test.by_ranking:
        return _judge_ranking(test, blind, flag, has_features)
    if test.accuracy.n < FEWEST:
        headline = f"Too few nodes to tell: {measured(test, short=True)}."
        return Verdict("unclear", headline, (*_no_better(test), *_weakest(test)))
    if test.over_majority.low <= 0:
        headline = (
            "Do not rely on these classes: they are not clearly better than always predicting the "
            "largest class."
        )
        advice = (
            "More labels, other features or more edges may help. See what was found in the data."
        )
        return Verdict("bad", headline, (advice, *_weakest(test)))
    if blind is None:
        headline = "Better than always predicting the largest class."
        return Verdict("good", headline, (_not_compared(has_features), *_weakest(test)))
    return _graph("", _points(blind.gain, "accuracy"), blind.gain, _weakest(test))


def measured(test: Evaluation, *, short: bool = False) -> str:
    """ "1 held-out node", "48 held-out nodes", or how all labelled nodes were held out in turn."""
    if test.measured_on == HELD_OUT:
        return count(test.accuracy.n, "held-out node")
    every = count(test.accuracy.n, "labelled node")
    return every if short else f"{every}{test.measured_on.removeprefix('labelled nodes')}"


def times_chance(test: Evaluation) -> str:
    """ "59 times chance"."""
    if test.average_precision is None or test.chance is None or not test.chance.value:
        return ""
    times = test.average_precision.value / test.chance.value
    return f"{times:.0f} times chance" if times >= 9.95 else f"{times:.1f} times chance"


def _judge_ranking(
    test: Evaluation, blind: WithoutGraph | None, flag: Flag | None, has_features: bool
) -> Verdict:
    ap, chance, name = test.average_precision, test.chance, quoted(test.positive)
    assert ap is not None
    assert chance is not None
    facts = (_ranking(test), *_flagged(test, flag, blind), _accuracy(test))
    if ap.n < FEWEST_POSITIVES:
        are = "of them is" if ap.n == 1 else "of them are"
        headline = (
            f"Too few nodes to tell: {measured(test, short=True)}, only {ap.n:,} {are} {name}."
        )
        return Verdict("unclear", headline, facts)
    if ap.low <= chance.high:
        headline = f"Do not rely on this ranking: for {name}, it is not clearly better than chance."
        return Verdict("bad", headline, facts)
    gain = None if blind is None else blind.average_precision_gain
    if gain is None:
        headline = f"It finds {name} far better than chance: {times_chance(test)}."
        return Verdict("good", headline, (_not_compared(has_features), *facts))
    return _graph(f" to find {name}", _points(gain, "average precision"), gain, facts)


def _graph(what: str, between: str, gain: Scored, more: tuple[str, ...]) -> Verdict:
    """Does the graph help (to find a class)?"""
    if gain.low > 0:
        return Verdict("good", f"The graph helps{what}.", (between, *more))
    if gain.high < 0:
        advice = "The features alone are the better model here."
        return Verdict("bad", "The graph hurts.", (between, advice, *more))
    headline = "The graph makes no clear difference."
    if what:
        headline = f"It is not clear whether the graph helps{what}."
    return Verdict("unclear", headline, (between, *more))


def _points(gain: Scored, score: str) -> str:
    return (
        f"With the graph, {score} is {abs(100 * gain.value):.1f} points "
        f"{'higher' if gain.value >= 0 else 'lower'} than with the same features without it "
        f"(95 % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f}, on the same nodes)."
    )


def _not_compared(has_features: bool) -> str:
    if has_features:
        return "This run was not compared with a model without the graph."
    return "There are no features, so there is no model without the graph to compare with."


def _ranking(test: Evaluation) -> str:
    ap, chance = test.average_precision, test.chance
    assert ap is not None
    assert chance is not None
    text = (
        f"Average precision is {percent(ap.value)} (95 % interval {between(ap.low, ap.high)}), "
        f"{times_chance(test)} ({percent(chance.value)})"
    )
    at = (test.precision_at or {}).get(ap.n)
    if at is None:
        return f"{text}."
    first = "the node ranked first" if ap.n == 1 else f"the {ap.n:,} nodes ranked first"
    return f"{text}; of {first}, {percent(at.value)} are {quoted(test.positive)}."


def _flagged(test: Evaluation, flag: Flag | None, blind: WithoutGraph | None) -> tuple[str, ...]:
    if flag is None or flag.test is None:
        return ()
    name, recall, precision = quoted(flag.class_name), flag.test["recall"], flag.test["precision"]
    finds = "This" if test.measured_on == HELD_OUT else "A threshold chosen in the same way"
    text = (
        f"Nodes with a probability of at least {flag.value:.3g} are flagged. {finds} finds "
        f"{percent(recall.value)} of the {name} nodes "
        f"(95 % interval {between(recall.low, recall.high)})"
    )
    if precision.n:
        text += f", and {percent(precision.value)} of the flagged nodes are {name}"
    if blind is not None and blind.threshold is not None:
        other, right = blind.threshold["recall"], blind.threshold["precision"]
        text += f"; without the graph, {percent(other.value)} are found"
        if right.n:
            more_for_less = other.value > recall.value and right.value < precision.value
            text += f", {'but only' if more_for_less else 'and'} {percent(right.value)} of the "
            text += f"nodes flagged are {name}"
    return (f"{text}.",)


def _accuracy(test: Evaluation) -> str:
    text, largest = f"Accuracy is {percent(test.accuracy.value)}; ", percent(test.majority.value)
    if test.chance is None or test.chance.value >= RARE:
        return f"{text}always predicting the largest class gives {largest}."
    text = f"Accuracy ({percent(test.accuracy.value)}) says little here: "
    if len(test.recall) == 2:
        return f"{text}always predicting the largest class gives {largest}."
    most = percent(1 - test.chance.value)
    return f"{text}a model that never says {quoted(test.positive)} can reach {most}."


def _no_better(test: Evaluation) -> tuple[str, ...]:
    if test.over_majority.value > 0:
        return ()
    return (
        f"On these nodes, the model is no better than always predicting the largest class "
        f"({percent(test.accuracy.value)} against {percent(test.majority.value)}).",
    )


def _weakest(test: Evaluation) -> tuple[str, ...]:
    """A warning about the class that is found least often, if it is missed more often than not."""
    known = {name: recall for name, recall in test.recall.items() if recall.n}
    name = min(known, key=lambda name: known[name].value)
    recall = known[name]
    if recall.value >= 0.5:
        return ()
    return (
        f"Careful with {quoted(name)}: of {count(recall.n, 'node')} with this label, "
        f"{percent(recall.value)} are found (95 % interval {between(recall.low, recall.high)}).",
    )

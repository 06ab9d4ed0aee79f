"""Intervals decide, few nodes decide nothing, and a rare class is judged by how it is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpgnn.evaluation.metrics import Evaluation, Scored, evaluate, rare_class, share
from cpgnn.evaluation.thresholds import Flag
from cpgnn.evaluation.verdict import judge, measured, times_chance
from cpgnn.evaluation.without_graph import WithoutGraph

NAMES = ["fraud", "fine"]


def right(hits: int, n: int = 100, largest: int = 55) -> Evaluation:
    """`hits` of n nodes are right, anywhere; `largest` are "fine"."""
    labels = np.where(np.arange(n) < n - largest, 0, 1)
    wrong = np.random.default_rng(0).permutation(n)[: n - hits]
    predicted = labels.copy()
    predicted[wrong] = 1 - predicted[wrong]
    return evaluate(np.eye(2)[predicted], labels, NAMES)


def blind(low: float, high: float) -> WithoutGraph:
    return WithoutGraph(share(70, 100), Scored((low + high) / 2, 100, low, high))


@pytest.mark.parametrize(
    ("test", "without", "word", "says"),
    [
        (right(90), blind(0.1, 0.3), "good", "The graph helps."),
        (right(90), blind(-0.02, 0.05), "unclear", "no clear difference"),
        (right(90), blind(-0.08, -0.02), "bad", "The graph hurts"),
        (right(90), None, "good", "Better than always predicting the largest class."),
        (right(60), blind(0.1, 0.3), "bad", "Do not rely on these classes"),
        (right(4, 4, 2), blind(0.5, 1.0), "unclear", "Too few nodes to tell: 4 held-out nodes"),
        (right(1, 1, 1), None, "unclear", "Too few nodes to tell: 1 held-out node."),
        (None, None, "unknown", "No labels were held out"),
    ],
)
def test_by_accuracy(test, without, word, says):
    made = judge(test, without)
    assert made.word == word
    assert says in made.headline


def test_what_to_do_where_nothing_was_held_out():
    assert "test=0.2" in judge(None).reasons[0]
    assert judge(None, too_few_labels=True).reasons == ("Label at least two nodes of every class.",)


@pytest.mark.parametrize("n", range(1, 12))
@pytest.mark.parametrize("largest", [1, 2, 5])
def test_a_handful_of_nodes_never_earns_a_green_verdict(n, largest):
    best = right(n, n, min(largest, n))
    assert judge(best, blind(0.9, 1.0)).word != "good"
    assert judge(best).word != "good"


def test_better_than_the_largest_class_means_surely_better():
    """60 of 100 against 55: the intervals overlap, whatever the two values are."""
    assert right(60).accuracy.value > right(60).majority.value
    assert judge(right(60)).word == "bad"
    assert judge(right(75)).word == "good"


def test_reasons_are_the_reasons():
    assert "no features" in judge(right(90), has_features=False).reasons[0]
    assert "was not compared" in judge(right(90)).reasons[0]
    assert not any("Careful" in line for line in judge(right(90)).reasons)
    assert any("Careful with" in line for line in judge(right(40, 100, 80)).reasons)


# -- one class is looked for ----------------------------------------


def ranked(skill: float, positives: int = 20, n: int = 2000, seed: int = 0):
    """Scores of `positives` frauds among n nodes; a model never dares to name one."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) >= positives).astype(int)
    score = rng.normal(size=n) + skill * (labels == 0)
    p = 0.45 / (1 + np.exp(-score))
    return np.stack([p, 1 - p], axis=1), labels


def test_a_ranking_fifty_times_better_than_chance_is_not_worthless():
    P, labels = ranked(3.0)
    test = evaluate(P, labels, NAMES, positive=0)
    assert test.by_ranking
    assert test.accuracy.value == test.majority.value == 0.99
    assert test.roc_auc.value > 0.97
    assert test.average_precision.value > 0.4
    made = judge(test)
    assert made.word == "good"
    assert f"far better than chance: {times_chance(test)}" in made.headline
    assert any("Accuracy (99.0 %) says little here" in line for line in made.reasons)
    assert any("of the 20 nodes ranked first" in line for line in made.reasons)


def test_with_and_without_the_graph_by_average_precision():
    (P, labels), (other, _) = ranked(3.0, 60), ranked(0.5, 60, seed=1)
    test = evaluate(P, labels, NAMES, positive=0)
    helps = WithoutGraph.of(other, P, labels, positive=0)
    assert judge(test, helps).word == "good"
    assert "The graph helps to find “fraud”" in judge(test, helps).headline
    harm = WithoutGraph.of(P, other, labels, positive=0)
    assert judge(evaluate(other, labels, NAMES, positive=0, asked=True), harm).word == "bad"
    same = WithoutGraph.of(P, P, labels, positive=0)
    assert judge(test, same).word == "unclear"
    assert same.average_precision_gain.value == 0


def test_what_is_flagged_without_the_graph_has_a_price():
    """Who flags nearly everything finds nearly everything."""
    P, labels = ranked(3.0)
    test = evaluate(P, labels, NAMES, positive=0)

    def told(recall: float, precision: float) -> str:
        of = {"precision": share(30, 40), "recall": share(15, 20)}
        other = {"precision": share(2000 * precision, 2000), "recall": share(20 * recall, 20)}
        flag = Flag("fraud", 0.4, None, of)
        blind = replace(WithoutGraph.of(P, P, labels, positive=0), threshold=other)
        [line] = [line for line in judge(test, blind, flag).reasons if "are flagged" in line]
        return line.rpartition("; ")[2]

    said = "without the graph, 95.0 % are found, but only 1.0 % of the nodes flagged are “fraud”."
    assert told(0.95, 0.01) == said
    said = "without the graph, 50.0 % are found, and 60.0 % of the nodes flagged are “fraud”."
    assert told(0.5, 0.6) == said


def test_chance_and_few_positives():
    P, labels = ranked(0.0)
    made = judge(evaluate(P, labels, NAMES, positive=0))
    assert made.word == "bad"
    assert "not clearly better than chance" in made.headline
    P, labels = ranked(6.0, positives=4)
    made = judge(evaluate(P, labels, NAMES, positive=0))
    assert made.word == "unclear"
    assert "held-out nodes, only 4 of them are “fraud”" in made.headline


def test_what_the_threshold_finds_is_said():
    P, labels = ranked(3.0)
    flag = Flag("fraud", 0.31, None, {"recall": share(12, 20), "precision": share(12, 16)})
    reasons = " ".join(judge(evaluate(P, labels, NAMES, positive=0), None, flag).reasons)
    assert (
        "probability of at least 0.31 are flagged. This finds 60.0 % of the “fraud” nodes"
        in reasons
    )
    assert "75.0 % of the flagged nodes are “fraud”" in reasons
    turns = evaluate(P, labels, NAMES, positive=0, measured_on="labelled nodes, in turn")
    reasons = " ".join(judge(turns, None, flag).reasons)
    assert "flagged. A threshold chosen in the same way finds 60.0 % of" in reasons


def test_accuracy_says_little_of_a_rare_class_whatever_the_largest_is():
    """85 % against 32.5 % was called little, for a reason that spoke for it."""
    labels = np.array([0] * 2 + [1] * 49 + [2] * 49)
    P = np.eye(3)[np.where(labels == 0, 1, labels)]
    test = evaluate(P, labels, ["fraud", "shop", "person"], positive=0)
    says = "Accuracy (98.0 %) says little here: a model that never says “fraud” can reach 98.0 %."
    assert says in judge(test).reasons


def test_a_common_class_is_judged_by_accuracy_unless_asked_for():
    P, labels = ranked(3.0, positives=400)
    assert not evaluate(P, labels, NAMES, positive=0).by_ranking
    assert evaluate(P, labels, NAMES, positive=0, asked=True).by_ranking
    assert measured(evaluate(P, labels, NAMES)) == "2,000 held-out nodes"


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([990, 10], 1),
        ([40, 60], 0),
        ([900, 70, 30], 2),
        ([940, 30, 30], None),
        ([300, 300, 300, 20], None),
        ([950, 50, 0], None),
    ],
)
def test_which_class_is_looked_for(sizes, found):
    assert rare_class(np.array(sizes)) == found

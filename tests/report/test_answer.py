"""What a report says first: the scores beside what they must beat."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from cpgnn.evaluation.metrics import Evaluation, evaluate, share
from cpgnn.evaluation.thresholds import Flag
from cpgnn.evaluation.verdict import judge
from cpgnn.evaluation.without_graph import WithoutGraph
from cpgnn.report.answer import answer

NAMES = ["fraud", "fine"]


def run(test: Evaluation | None, blind: WithoutGraph | None = None, flag=None, layers: int = 1):
    """What `answer` reads of a run."""
    classifier = SimpleNamespace(num_layers_=layers, evidence_={})
    verdict = judge(test, blind, flag)
    return SimpleNamespace(
        evaluation=test, without_graph=blind, flag=flag, classifier=classifier, verdict=verdict
    )


def scored(positives: int, n: int = 200, **options) -> tuple[Evaluation, WithoutGraph]:
    rng = np.random.default_rng(0)
    labels = (np.arange(n) >= positives).astype(int)
    P, blind = (
        np.stack([p, 1 - p], axis=1)
        for p in 1 / (1 + np.exp(-rng.normal(size=(2, n)) - np.where(labels == 0, 1.5, -1.5)))
    )
    made = evaluate(P, labels, NAMES, positive=0, **options)
    return made, WithoutGraph.of(blind, P, labels, positive=0)


def test_accuracy_stands_first_beside_what_it_must_beat():
    test, blind = scored(80)
    made = answer(run(test, blind))
    assert made.score == test.accuracy
    assert made.score_is == "of 200 held-out nodes get the right class"
    caption, rows = made.tables[0]
    assert caption == "Accuracy on 200 held-out nodes"
    assert [row.name for row in rows] == [
        "this model",
        "without the graph",
        "always the largest class",
    ]
    assert [row.scored for row in rows] == [test.accuracy, blind.accuracy, test.majority]
    assert len(answer(run(test)).tables[0][1]) == 2


def test_one_node_is_not_nodes():
    test = evaluate(np.eye(2)[[0]], np.array([0]), NAMES)
    assert answer(run(test)).score_is == "of 1 held-out node gets the right class"


def test_a_rare_class_stands_first_by_its_ranking():
    test, blind = scored(8)
    flag = Flag("fraud", 0.25, None, {"recall": share(6, 8), "precision": share(6, 9)})
    made = answer(run(test, blind, flag))
    assert made.score == test.average_precision
    assert "average precision for “fraud”" in made.score_is
    captions = [caption for caption, _ in made.tables]
    assert captions[0].startswith("Average precision for “fraud”")
    assert "Recall at a threshold of 0.25" in captions
    assert made.more_tables[-1][0].startswith("Accuracy on")
    first = dict(made.tables)[captions[0]]
    assert [row.name for row in first] == ["this model", "without the graph", "a random order"]
    assert first[-1].scored.value == 0.04


def test_no_labels_held_out_and_a_prior_alone():
    made = answer(run(None))
    assert made.score is None
    assert not made.tables
    assert any("without propagation" in line for line in answer(run(None, layers=0)).more)

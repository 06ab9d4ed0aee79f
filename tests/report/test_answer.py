"""What a report says first follows from the scores."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cpgnn.evaluation.metrics import Evaluation, Scored, share
from cpgnn.evaluation.without_graph import WithoutGraph
from cpgnn.report.answer import answer


def run(hits=90, blind=(70, 0.1, 0.3), recall=0.9, layers=1, features=3):
    """What `answer` reads of a run: scores on 100 nodes, 40 of them of the largest class."""
    of = {"fraud": Scored(recall, 20, recall - 0.1, recall + 0.1)}
    test = None
    if hits is not None:
        accuracy, confusion = share(hits, 100), np.zeros((1, 1), dtype=int)
        test = Evaluation(accuracy, accuracy, share(40, 100), of, of, confusion)
    without = None
    if blind is not None:
        right, low, high = blind
        without = WithoutGraph(share(right, 100), Scored((hits - right) / 100, 100, low, high))
    classifier = SimpleNamespace(num_layers_=layers, n_features_in_=features)
    return SimpleNamespace(evaluation=test, without_graph=without, classifier=classifier)


@pytest.mark.parametrize(
    ("given", "verdict", "says"),
    [
        (run(), "good", "The graph helps"),
        (run(blind=(88, -0.02, 0.05)), "unclear", "no clear difference"),
        (run(blind=(95, -0.08, -0.02)), "bad", "does harm"),
        (run(blind=None), "good", "largest class"),
        (run(hits=45), "bad", "Do not rely"),
        (run(hits=None, blind=None), "unknown", "held out"),
    ],
)
def test_verdict(given, verdict, says):
    found = answer(given)
    assert found.verdict == verdict
    assert says in found.headline


def test_compares_with_what_there_is():
    assert [bar.name for bar in answer(run()).bars] == [
        "this model",
        "without the graph",
        "always the largest class",
    ]
    assert len(answer(run(blind=None)).bars) == 2
    assert "no features" in answer(run(blind=None, features=0)).sentences[0]
    assert "was not compared" in answer(run(blind=None)).sentences[0]


def test_warns_of_a_class_that_is_missed_and_of_an_unused_graph():
    assert not any("Careful" in sentence for sentence in answer(run()).sentences)
    weak = answer(run(recall=0.25)).sentences
    assert any("“fraud”: of 20 held-out nodes with this label, only 5" in line for line in weak)
    assert any("without propagation" in line for line in answer(run(layers=0)).sentences)

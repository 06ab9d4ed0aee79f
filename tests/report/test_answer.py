"""What a report says first follows from the scores."""

from __future__ import annotations

import pytest

from cpgnn.evaluation.metrics import share
from cpgnn.report.answer import answer


def metrics(hits=90, blind=(70, 0.1, 0.3), recall=0.9, layers=1):
    """Scores on 100 nodes, 40 of them of the largest class."""
    of = {"value": recall, "n": 20, "low": recall - 0.1, "high": recall + 0.1}
    test = {
        "accuracy": share(hits, 100).as_dict(),
        "majority_class": share(40, 100).as_dict(),
        "per_class": {"fraud": {"precision": of, "recall": of}},
    }
    without = None
    if blind is not None:
        accuracy, low, high = blind
        gain = {"value": (hits - accuracy) / 100, "n": 100, "low": low, "high": high}
        without = {"accuracy": share(accuracy, 100).as_dict(), "gain": gain}
    return {"test": test, "without_graph": without, "num_layers": layers}


@pytest.mark.parametrize(
    ("given", "verdict", "says"),
    [
        (metrics(), "good", "The graph helps"),
        (metrics(blind=(88, -0.02, 0.05)), "unclear", "no clear difference"),
        (metrics(blind=(95, -0.08, -0.02)), "bad", "does harm"),
        (metrics(blind=None), "good", "largest class"),
        (metrics(hits=45), "bad", "Do not rely"),
        ({"test": None, "num_layers": 1}, "unknown", "held out"),
    ],
)
def test_verdict(given, verdict, says):
    found = answer(given)
    assert found.verdict == verdict
    assert says in found.headline


def test_compares_with_what_there_is():
    assert [bar.name for bar in answer(metrics()).bars] == [
        "this model",
        "without the graph",
        "always the largest class",
    ]
    assert len(answer(metrics(blind=None)).bars) == 2
    assert "no features" in answer(metrics(blind=None)).sentences[0]
    before = metrics(blind=None)
    del before["without_graph"]
    assert "fitted before" in answer(before).sentences[0]


def test_warns_of_a_class_that_is_missed_and_of_an_unused_graph():
    assert not any("Careful" in sentence for sentence in answer(metrics()).sentences)
    weak = answer(metrics(recall=0.25)).sentences
    assert any("“fraud”: of 20 held-out nodes with this label, only 5" in line for line in weak)
    assert any("without propagation" in line for line in answer(metrics(layers=0)).sentences)

"""With and without the graph: it must help where it does, and not where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import Graph, Settings, Split
from cpgnn.check import check
from cpgnn.check.compare import LEAST_LABELS, _affordable, compare
from toys import planted


@pytest.fixture(autouse=True)
def fewer_epochs(monkeypatch):
    few = Settings(pretrain_epochs=30, epochs=60)
    monkeypatch.setattr("cpgnn.check.compare.SHORT", few)


def everything(graph):
    return np.arange(graph.num_nodes)


def test_a_graph_that_helps():
    graph = planted(n=400, degree=12, h=0.02, signal=0.6)
    found = compare(graph, everything(graph))
    assert found.verdict == "the graph helps"
    assert found.difference.low > 0.05
    assert found.without == "MLP"
    assert found.difference.n == 400
    gain = found.accuracy_with.value - found.accuracy_without.value
    assert found.difference.value == pytest.approx(gain)
    assert 0 < found.difference.low < found.difference.value < found.difference.high
    assert found.to_dict()["verdict"] == "the graph helps"


def test_a_graph_of_random_edges_does_not_help():
    graph = planted(n=300, degree=4, h=1 / 3, signal=1.0)
    assert compare(graph, everything(graph)).difference.low < 0.02


def test_without_features_the_largest_class_stands_in():
    graph = planted(n=240, degree=12, h=0.95, num_features=None, shares=[0.5, 0.3, 0.2])
    found = compare(graph, everything(graph))
    assert found.without == "largest class"
    assert found.accuracy_without.value == pytest.approx((graph.labels == 0).mean())
    assert found.verdict == "the graph helps"


def test_test_labels_are_not_looked_at():
    graph = planted(n=120)
    split = Split(np.arange(60), np.arange(60, 80), np.arange(80, 120))
    hidden = graph.labels.copy()
    hidden[80:] = (hidden[80:] + 1) % 3
    other = graph.with_labels(hidden, graph.class_names)
    found, again = check(graph, split), check(other, split)
    assert found.comparison == again.comparison
    assert found.independence == again.independence


def test_too_few_labels():
    graph = planted(n=100)
    assert "at least" in compare(graph, np.arange(LEAST_LABELS - 1))


def test_large_neighbourhoods_leave_labels_out(monkeypatch):
    monkeypatch.setattr("cpgnn.check.compare.MOST_FIELD", 200)
    star = Graph.from_edges(np.zeros(300, int), np.arange(1, 301))
    kept = _affordable(star, np.arange(301))
    assert kept.tolist() == list(range(1, 101))  # two each; the hub is left out

"""With and without the graph: it must help where it does, and not where it cannot."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cpgnn import Graph, Split
from cpgnn.check import check
from cpgnn.check.compare import LEAST_LABELS, Comparison, _affordable, _around, compare
from cpgnn.errors import InputError
from cpgnn.evaluation.metrics import Scored
from toys import planted


@pytest.fixture(autouse=True)
def dealt_once(monkeypatch):
    monkeypatch.setattr("cpgnn.check.compare.REPEATS", 1)


@pytest.fixture
def quick(monkeypatch):
    """For tests that are not about how good the models are."""

    def shares(graph, split, positive, seed):
        y = graph.labels[split.train]
        noise = np.random.default_rng(seed + graph.num_edges + y.sum())
        return noise.dirichlet(1 + np.bincount(y, minlength=graph.num_classes), graph.num_nodes)

    monkeypatch.setattr("cpgnn.check.compare._probabilities", shares)


def everything(graph):
    return np.arange(graph.num_nodes)


def test_a_graph_that_helps():
    graph = planted(n=400, degree=12, h=0.02, signal=0.6)
    found = compare(graph, everything(graph))
    assert found.verdict == "the graph helps"
    assert found.difference.low > 0.05
    assert found.without == "the same model without edges"
    assert found.difference.n == 400
    gain = found.score_with.value - found.score_without.value
    assert found.difference.value == pytest.approx(gain)
    assert 0 < found.difference.low < found.difference.value < found.difference.high
    assert found.to_dict()["verdict"] == "the graph helps"


def test_a_graph_of_random_edges_does_not_help():
    graph = planted(n=300, degree=4, h=1 / 3, signal=1.0)
    assert compare(graph, everything(graph)).difference.low < 0.02


def test_without_features_the_largest_class_stands_in():
    graph = planted(n=240, degree=12, h=0.95, num_features=None, shares=[0.5, 0.3, 0.2])
    found = compare(graph, everything(graph))
    assert found.without == "the largest class"
    assert found.score_without.value == pytest.approx((graph.labels == 0).mean())
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
    monkeypatch.setattr("cpgnn.check.compare.MOST_EDGES", 200)
    star = Graph.from_edges(np.zeros(300, int), np.arange(1, 301))
    kept = _affordable(star, np.arange(301))
    assert kept.tolist() == list(range(1, 101))  # two each; the hub is left out


def verdict(low, high, speaks):
    middle = Scored((low + high) / 2, 100, low, high)
    return Comparison("MLP", middle, middle, middle, 100, speaks).verdict


@pytest.mark.parametrize("speaks", [False, True])
def test_verdicts(speaks):
    assert verdict(0.02, 0.3, speaks) == "the graph helps"
    assert verdict(-0.3, -0.02, speaks) == "the graph hurts"


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.2), (-0.005, 0.005), (-0.3, -0.005)])
def test_no_difference_is_never_said_of_a_graph_that_speaks(low, high):
    assert verdict(low, high, False) == "no clear difference"
    assert "the graph says something" in verdict(low, high, True)
    assert verdict(0.005, 0.3, False) == "no clear difference"
    assert verdict(0.005, 0.3, True) == "the graph helps"


def columns_for_trees(n=500, seed=0):
    """Random edges; classes are a chequerboard of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    source, target = rng.integers(0, n, (2, 3 * n))
    kept = source != target
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return Graph.from_edges(source[kept], target[kept], num_nodes=n, labels=y, features=X)


def test_random_edges_get_no_credit_for_a_better_model_of_the_columns():
    """A network finds a chequerboard slowly: compared with one alone, any graph would help."""
    with pytest.warns(Warning, match="repeated others"):
        graph = columns_for_trees()
    found = compare(graph, everything(graph))
    assert found.verdict != "the graph helps"
    assert found.score_without.value > 0.7


def test_of_a_large_graph_the_labels_and_their_neighbours_are_compared(monkeypatch):
    graph = planted(n=400, degree=12, h=0.02, signal=0.6)
    monkeypatch.setattr("cpgnn.check.compare.MOST_EDGES", 2000)
    nodes = _affordable(graph, np.arange(0, 400, 5))
    part, where = _around(graph, nodes)
    assert part.num_edges < graph.num_edges
    assert list(part.node_ids[where]) == list(graph.node_ids[nodes])
    assert (part.labels[where] == graph.labels[nodes]).all()
    degrees = np.diff(graph.adjacency.indptr)
    assert (np.diff(part.adjacency.indptr)[where] == degrees[nodes]).all()
    found = compare(graph, np.arange(0, 400, 2))
    assert 60 < found.nodes <= 200
    assert found.difference.value > 0


def test_labels_that_meet_only_in_unlabelled_nodes_are_heard():
    """Labelled nodes know each other only through shops without a label or feature."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    shop = 120 + 2 * rng.integers(0, 15, (120, 4)) + (y[:, None] ^ (rng.random((120, 4)) < 0.1))
    pairs = np.unique(np.stack([np.repeat(np.arange(120), 4), shop.ravel()], axis=1), axis=0)
    graph = Graph.from_edges(*pairs.T, num_nodes=150, labels=np.append(y, np.full(30, -1)))
    found = compare(graph, np.arange(120))
    assert found.verdict == "the graph helps"


def test_few_labels_are_dealt_several_times(monkeypatch, quick):
    monkeypatch.setattr("cpgnn.check.compare.REPEATS", 3)
    graph = planted(n=60, degree=10, h=0.02)
    found = compare(graph, everything(graph))
    assert (found.repeats, found.difference.n) == (3, 60)
    assert "held out 3 times in 3 folds" in found.to_dict()["interval"]
    monkeypatch.setattr("cpgnn.check.compare.REPEATED_BELOW", 50)
    assert compare(graph, everything(graph)).repeats == 1


def rare(seed=0, n=900, hints=1.0):
    """4 % of the nodes are hunters, whose edges lead to prey; features hardly tell them."""
    graph = planted(seed, n=n, degree=10, h=0.1, shares=[0.5, 0.46, 0.04], signal=hints)
    return graph.with_labels(np.where(graph.labels == 2, "hunter", "other"))


def test_a_rare_class_is_compared_by_average_precision():
    report = check(rare(), seed=1)
    found = report.comparison
    assert (found.score, found.positive) == ("average precision", "hunter")
    share = (rare().labels == 0).mean()
    assert found.chance == pytest.approx(share, abs=0.01)
    assert found.score_with.value > 3 * found.chance
    gain = found.score_with.value - found.score_without.value
    assert found.difference.value == pytest.approx(gain)
    made = found.to_dict()
    assert {"average_precision_with", "average_precision_without", "chance"} <= set(made)
    assert not {"accuracy_with", "accuracy_without"} & set(made)
    warning = next(f for f in report.findings if f.code == "accuracy-says-nothing")
    assert warning.severity == "risk"
    assert f"{1 - share:.1%}".replace("%", " %") in warning.detail


def test_a_class_that_is_named_is_compared_by_average_precision(quick):
    graph = planted(n=150, degree=12, h=0.02, signal=0.6)
    found = check(graph, positive="c1").comparison
    assert (found.positive, found.score) == ("c1", "average precision")
    assert found.chance == pytest.approx((graph.labels == 1).mean(), abs=0.02)
    assert check(graph).comparison.score == "accuracy"
    with pytest.raises(InputError, match="be one of the classes c0, c1, c2"):
        check(graph, positive="c7")


def test_named_and_rare_is_only_a_note():
    report = check(rare(), positive="hunter", compare=False)
    warning = next(f for f in report.findings if f.code == "accuracy-says-nothing")
    assert warning.severity == "note"
    assert warning.advice.startswith("Nothing here. Give 'fit' positive='hunter' as well")


def test_too_few_of_the_class_that_is_looked_for():
    graph = planted(n=200, shares=[0.6, 0.39, 0.01])
    y = np.where(np.arange(200) < 5, 2, np.minimum(graph.labels, 1))
    few = graph.with_labels(y, graph.class_names)
    assert (
        compare(few, everything(few), positive=2) == "it needs at least 6 labels of the class 'c2'"
    )


@pytest.mark.slow
@pytest.mark.skipif("CPGNN_DATA" not in os.environ, reason="needs the published graphs")
@pytest.mark.parametrize("name", ["airports_brazil", "airports_europe", "twitch_ptbr"])
def test_real_graphs_that_speak(name):
    """Half of the labels, no features: `fit` gains on these, so check may not say "no"."""
    paths = list(Path(os.environ["CPGNN_DATA"]).rglob(f"{name}.npz"))
    if not paths:
        pytest.skip(f"CPGNN_DATA has no {name}.npz")
    with np.load(paths[0], allow_pickle=False) as data:
        y = np.where(np.random.default_rng(0).random(len(data["labels"])) < 0.5, data["labels"], -1)
        graph = Graph.from_edges(*data["edge_index"], num_nodes=len(y), labels=y)
    report = check(graph)
    assert report.independence.p <= 0.005
    assert report.comparison.verdict != "no clear difference"
    assert report.comparison.difference.value > 0

"""What the graph is credited with: the gain over the same model without edges, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from cpgnn import CPGNNClassifier, Graph, Split, stratified_split
from cpgnn.evaluation.part import without_edges
from cpgnn.evaluation.verdict import judge
from cpgnn.run.measure import Wanted, measure, without_graph
from toys import planted


def chequerboard(n=500):
    """Random edges; the classes are a chequerboard of two columns, which trees find first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    source, target = rng.integers(0, n, (2, 3 * n))
    kept = source != target
    y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
    return Graph.from_edges(source[kept], target[kept], num_nodes=n, labels=y, features=X)


@pytest.mark.filterwarnings("ignore:.*repeated others")
def test_random_edges_do_not_help_a_good_model_of_the_columns():
    graph = chequerboard()
    split = stratified_split(graph.labels, validation=0.2, test=0.4, seed=0)
    fitted = CPGNNClassifier(budget="fast").fit(graph, split=split)
    found = measure(fitted, Wanted())
    alone = clone(fitted).fit(without_edges(graph), split=split, scaler=fitted.scaler_)
    right = alone.prediction().probabilities[split.test].argmax(axis=1) == graph.labels[split.test]
    assert found.without_graph.accuracy.value == pytest.approx(right.mean())
    assert found.without_graph.gain.low <= 0
    assert "helps" not in judge(found.evaluation, found.without_graph).headline
    assert {row.split()[-1] for row in alone.name.split(";")[0].split(" + ")} <= {"trees", "mlp"}


def test_an_edgeless_graph_is_the_same_but_for_its_edges():
    graph = planted(n=60)
    bare = without_edges(graph)
    assert (bare.num_edges, bare.num_nodes) == (0, 60)
    assert (bare.labels == graph.labels).all()
    assert (bare.features == graph.features).all()
    assert graph.num_edges > 0


def test_a_threshold_is_chosen_on_all_labels_not_seen():
    """A tenth is looked for: validation nodes alone would be a handful of them."""
    graph = planted(n=300, degree=8, h=0.1, shares=[0.5, 0.4, 0.1])
    split = stratified_split(graph.labels, validation=0.2, test=0.2, seed=0)
    fitted = CPGNNClassifier("trees", budget="fast").fit(graph, split=split)
    found = measure(fitted, Wanted(2, True))
    known = np.concatenate([split.train, split.val])
    assert found.flag.chosen.positives == (graph.labels[known] == 2).sum()
    nodes, beliefs = fitted.out_of_fold()
    hit, called = graph.labels[nodes] == 2, beliefs[:, 2] >= found.flag.value
    assert found.flag.chosen.recall == pytest.approx((hit & called).sum() / hit.sum())


def test_of_a_large_graph_some_nodes_show_what_columns_look_like(monkeypatch):
    graph = planted(n=400, degree=6, h=0.1)
    split = stratified_split(graph.labels, validation=0.0, test=0.8, seed=0)
    split = Split(split.train, split.val, split.test[:100])
    fitted = CPGNNClassifier("trees", budget="fast").fit(graph, split=split)
    whole = without_graph(fitted)
    monkeypatch.setattr("cpgnn.run.measure.MOST_ALONE", 250)
    some = without_graph(fitted)
    asked = np.concatenate([split.train, split.test])
    shown = some.probabilities.sum(axis=1)
    assert shown == pytest.approx(shown.round())
    assert shown.sum() == pytest.approx(250)
    assert shown[asked] == pytest.approx(1)
    # Trees learn from labelled nodes alone: they say the same, whoever else is there.
    np.testing.assert_allclose(some.probabilities[asked], whole.probabilities[asked], atol=1e-6)
    np.testing.assert_array_equal(some.unseen[0], whole.unseen[0])
    np.testing.assert_allclose(some.unseen[1], whole.unseen[1], atol=1e-6)

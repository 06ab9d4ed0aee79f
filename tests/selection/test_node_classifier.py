"""Nodes as rows: scikit-learn's tools work on a graph, and no held-out label reaches a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)

from cpgnn.classifier import CPGNNClassifier
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.selection.node_classifier import NodeClassifier, NodeFolds, node_positions
from toys import planted

GRAPH = planted(n=90, signal=0.6)
Y = np.array(GRAPH.class_names)[GRAPH.labels]
FAST = CPGNNClassifier("mlp", 1, hidden=8, epochs=8, pretrain_epochs=8)
NODES = NodeClassifier(GRAPH, FAST)
IDS = np.arange(90)


def test_a_fit_is_that_of_a_graph_with_these_labels():
    known = np.full(90, None, dtype=object)
    known[10:70] = Y[10:70]
    expected = clone(FAST).fit(GRAPH, known)
    made = clone(NODES).fit(IDS[10:70], Y[10:70])
    np.testing.assert_array_equal(made.predict_proba(IDS), expected.predict_proba())
    np.testing.assert_array_equal(made.predict([80, 3]), expected.predict()[[80, 3]])
    assert made.score(IDS[70:], Y[70:]) == (expected.predict()[70:] == Y[70:]).mean()


@pytest.mark.parametrize("own", ["none", "true", "wrong"])
def test_labels_that_are_held_out_reach_no_fit(own, monkeypatch):
    """What every fit of a cross-validation saw: the labels of its rows, whatever the graph says."""
    seen = []
    fit = CPGNNClassifier.fit

    def watched(self, graph, *args, **options):
        seen.append(graph.labels.copy())
        return fit(self, graph, *args, **options)

    monkeypatch.setattr(CPGNNClassifier, "fit", watched)
    labels = {"none": np.full(90, -1), "true": GRAPH.labels, "wrong": GRAPH.labels[::-1]}[own]
    graph = GRAPH.with_labels(labels, GRAPH.class_names)
    folds = NodeFolds(3, seed=1)
    made = cross_val_predict(NodeClassifier(graph, FAST), IDS, Y, cv=folds, method="predict_proba")
    parts = list(folds.split(IDS, Y))
    assert len(seen) == len(parts) == 3
    for labels, (train, held) in zip(seen, parts, strict=True):
        np.testing.assert_array_equal(labels[train], GRAPH.labels[train])
        assert (labels[held] == -1).all()
    # The same numbers as from a graph that never had the labels of the fold.
    train, held = parts[0]
    hidden = GRAPH.labels.copy()
    hidden[held] = -1
    monkeypatch.undo()
    alone = clone(FAST).fit(GRAPH.with_labels(hidden, GRAPH.class_names))
    np.testing.assert_array_equal(made[held], alone.predict_proba()[held])


def test_noise_cannot_be_learned():
    """Labels drawn at random: a leak would show as accuracy well above a third."""
    rng = np.random.default_rng(12345)  # not the seed of the graph
    y = rng.integers(0, 3, 90)
    right = cross_val_score(NODES, IDS, y, cv=NodeFolds(5))
    assert right.mean() < 1 / 3 + 4 * np.sqrt(2 / 9 / 90)


def test_cross_validation_and_searches():
    shuffled = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(NODES, IDS, Y, cv=shuffled)
    assert scores.shape == (3,)
    both = cross_validate(
        NODES, IDS, Y, cv=NodeFolds(3), scoring=["accuracy", "f1_macro", "neg_log_loss"]
    )
    assert np.isfinite(both["test_neg_log_loss"]).all()
    search = GridSearchCV(NODES, {"estimator__num_layers": [0, 1]}, cv=NodeFolds(3))
    search.fit(IDS, Y)
    assert search.best_estimator_.graph is GRAPH
    best = search.best_params_["estimator__num_layers"]
    assert search.best_estimator_.estimator_.num_layers in (best, 0)
    assert search.predict(IDS[:4]).shape == (4,)


def test_clones_share_the_graph():
    copy = clone(NODES)
    assert copy.graph is GRAPH
    assert copy.estimator is not FAST
    assert copy.estimator.get_params() == FAST.get_params()
    assert clone(NodeClassifier(GRAPH)).estimator is None


def test_nodes_by_id_or_position():
    named = Graph.from_edges([0, 1], [1, 2], node_ids=["a", "b", "c"])
    np.testing.assert_array_equal(node_positions(named, ["c", "a"]), [2, 0])
    np.testing.assert_array_equal(node_positions(named, pd.Index(["c", "a"])), [2, 0])
    np.testing.assert_array_equal(node_positions(named, np.array([[2], [0]])), [2, 0])
    numbered = Graph.from_edges([0, 1], [1, 2], node_ids=[10, 2, 7])
    np.testing.assert_array_equal(node_positions(numbered, [7, 2]), [2, 1])
    with pytest.raises(InputError, match=r"A node id must be one of the graph's\. Got 0"):
        node_positions(numbered, [0])
    with pytest.raises(InputError, match=r"lie between 0 and 2\. Got 3"):
        node_positions(named, [3])
    with pytest.raises(InputError, match="'X' must be a list of node ids"):
        node_positions(named, np.eye(3))


def test_classes_may_be_any_numbers():
    """-1 is a class here, as everywhere in scikit-learn."""
    made = clone(NODES).fit(IDS[:60], np.where(GRAPH.labels[:60] == 0, -1, 1))
    assert made.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([0, 0, 1], ["a", "a", "b"], "'X' must name each node once"),
        ([0, 1], ["a", None], "'y' must have a class for each node"),
        ([0, 1], ["a"], "'y' must have one class for each of 2 nodes"),
    ],
)
def test_rows_that_make_no_sense(X, y, message):
    with pytest.raises(InputError, match=message):
        clone(NODES).fit(X, y)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_folds_share_nothing_and_keep_every_class_in_training(k):
    y = np.array(["common"] * 23 + ["some"] * 7 + ["pair"] * 2 + ["single"])
    held = []
    for train, test in NodeFolds(k, seed=4).split(np.arange(33), y):
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == 33
        assert set(y[train]) == set(y)
        common = (y[test] == "common").sum()
        assert 23 // k <= common <= -(-23 // k)
        held.append(test)
    np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.arange(32))
    again = [test for _, test in NodeFolds(k, seed=4).split(np.arange(33), y)]
    assert all((a == b).all() for a, b in zip(held, again, strict=True))


def test_folds_that_cannot_be():
    with pytest.raises(InputError, match="'n_splits' must be at least 2"):
        NodeFolds(1)
    with pytest.raises(InputError, match="'groups' must be None"):
        next(NodeFolds(2).split([1, 2], [0, 1], groups=[0, 0]))
    with pytest.raises(InputError, match="Got 2 for 5 folds"):
        next(NodeFolds(5).split([1, 2], [0, 1]))


def test_before_it_is_fitted_and_without_a_graph():
    with pytest.raises(NotFittedError):
        clone(NODES).predict(["a"])
    with pytest.raises(ValueError, match=r"cross-validate over nodes, use NodeClassifier\(graph"):
        cross_val_score(CPGNNClassifier(), np.arange(9), np.arange(9) % 2, cv=3)

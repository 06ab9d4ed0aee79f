"""Nodes without edges and features get the class shares, and are counted apart."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn import CPGNNClassifier, explain, load_run
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph
from cpgnn.run.folder import fit_run
from cpgnn.splits import Split

FAST = {"pretrain_epochs": 20, "epochs": 20, "hidden": 8}
N, ALONE = 160, 40


def graph(features: bool) -> Graph:
    """Two classes, three of four nodes "zebra", joined with their like; the last 40 alone."""
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(N) % 4 == 0, "apple", "zebra")
    joined = np.arange(N - ALONE)
    pairs = [
        (u, v) for u in joined for v in rng.choice(joined[labels[joined] == labels[u]], 4) if u != v
    ]
    X = None
    if features:
        X = np.where((labels == "apple")[:, None], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0])
        X[N - ALONE :] = 0
        X = sp.csr_array(X)
    source, target = np.unique(np.sort(np.array(pairs), axis=1), axis=0).T
    return Graph.from_edges(source, target, num_nodes=N, labels=labels, features=X)


def split() -> Split:
    nodes = np.random.default_rng(1).permutation(N)
    return Split(np.sort(nodes[:60]), np.sort(nodes[60:80]), np.sort(nodes[80:]))


@pytest.mark.parametrize(
    ("features", "prior"), [(True, "mlp"), (True, "cheby"), (False, "mlp"), (False, "link")]
)
def test_class_shares_where_nothing_is_known(features, prior, tmp_path):
    given, parts = graph(features), split()
    fitted = CPGNNClassifier(prior, 1, **FAST).fit(given, split=parts)
    shares = np.bincount(given.labels[parts.train]) / len(parts.train)
    nothing = np.arange(N) >= N - ALONE
    if not features and prior == "mlp":  # which knows its training nodes by heart
        nothing[parts.train] = False
    made = fitted.prediction()
    np.testing.assert_array_equal(made.nothing_known, nothing)
    np.testing.assert_allclose(fitted.predict_proba()[nothing], np.tile(shares, (nothing.sum(), 1)))
    assert set(fitted.predict()[nothing]) == {"zebra"}, "not the first of the alphabet"
    fitted.save(tmp_path / "model")
    for again in (CPGNNClassifier.load(tmp_path / "model", given),):
        np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())


def test_a_node_of_a_later_graph():
    """Known to the model by its features or by an edge, or not at all."""
    fitted = CPGNNClassifier("mlp", 1, **FAST).fit(graph(True), split=split())
    X = sp.csr_array(np.array([[1.0, 0, 1], [0, 0, 0], [0, 0, 0]]))
    later = Graph.from_edges([0], [1], num_nodes=3, features=X)
    assert fitted.prediction(later).nothing_known.tolist() == [False, False, True]
    np.testing.assert_allclose(fitted.predict_proba(later)[2], fitted.class_shares_)


def test_an_explanation_says_so():
    fitted = CPGNNClassifier("mlp", 1, **FAST).fit(graph(True), split=split())
    made = explain(fitted, nodes=[N - 1, 0])
    assert "nothing is known about it: these are the shares of the classes" in made.words(0)
    assert "By itself it looks like" not in made.words(0)
    assert "nothing is known" not in made.words(1)


def test_zeros_are_features_where_they_are_numbers():
    """Standardised columns: 0 is a value like any other, unless it is everybody's mean."""
    given = graph(True)
    dense = given.with_features(given.features.toarray() + np.arange(N)[:, None])
    fitted = CPGNNClassifier("mlp", 1, **FAST).fit(dense, split=split())
    assert not fitted.prediction().nothing_known.any()


def test_a_run_says_so_and_scores_both_ways(tmp_path):
    given, parts = graph(True), split()
    column = np.full(N, "test", dtype=object)
    column[parts.train], column[parts.val] = "train", "val"
    run = fit_run(LoadedGraph(given, column), CPGNNClassifier("mlp", 1, **FAST), tmp_path / "run")
    table = pd.read_csv(tmp_path / "run" / "predictions.csv", keep_default_na=False)
    assert list(table)[:4] == ["id", "class", "label", "split"]
    assert list(table)[-1] == "basis"
    expected = np.where(np.arange(N) >= N - ALONE, "nothing known", "")
    assert table["basis"].tolist() == expected.tolist()
    known = parts.test[parts.test < N - ALONE]
    right = run.classifier.predict() == np.array(given.class_names)[given.labels]
    assert run.evaluation.accuracy.value == pytest.approx(right[parts.test].mean())
    assert run.known_only.accuracy.value == pytest.approx(right[known].mean())
    assert run.known_only.accuracy.n == len(known)
    assert run.calibration.after.count.sum() == len(known)
    written = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert written["test"]["accuracy"]["n"] == len(parts.test)
    assert written["test_known_only"]["accuracy"]["n"] == len(known)
    again = load_run(tmp_path / "run")
    assert again.known_only.accuracy == run.known_only.accuracy
    said = f"{len(parts.test) - len(known)} of these nodes have neither edges nor features"
    assert said in again.verdict.reasons[-1]
    assert said in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_where_all_is_known_nothing_changes(tmp_path):
    given = graph(True)
    ones = sp.csr_array(np.maximum(given.features.toarray(), 0.5))
    classifier = CPGNNClassifier("mlp", 1, **FAST)
    run = fit_run(LoadedGraph(given.with_features(ones), None), classifier, tmp_path / "run")
    assert run.known_only is None
    assert "basis" not in pd.read_csv(tmp_path / "run" / "predictions.csv")

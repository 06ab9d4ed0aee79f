"""Every labelled node is predicted by models that have not seen its label, within a budget."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cpgnn.evaluation import cross_validation
from cpgnn.evaluation.cross_validation import FOLDS, REPEATS, cross_validated
from cpgnn.io import LoadedGraph
from cpgnn.run.folder import fit_run, load_run
from hostile import hostile_graph, quick_classifier
from toys import planted

LABELS = np.where(np.arange(60) % 3 == 2, -1, np.arange(60) % 3)


def test_nodes_are_held_out_once_a_repeat_and_keep_their_places():
    seen = []

    def predict(split):
        assert (LABELS[np.concatenate([split.train, split.val, split.test])] >= 0).all()
        assert set(LABELS[split.train]) == {0, 1}
        seen.append(split.test)
        P = np.zeros((60, 2))
        P[:, 0] = np.arange(60)  # says who it is
        P[split.train] = np.nan
        return P, -P

    found = cross_validated(LABELS, predict, seconds=60)
    assert found.probabilities.shape == (REPEATS, 40, 2)
    np.testing.assert_array_equal(found.nodes, np.flatnonzero(LABELS >= 0))
    np.testing.assert_array_equal(found.probabilities[:, :, 0], np.tile(found.nodes, (REPEATS, 1)))
    np.testing.assert_array_equal(found.without_graph, -found.probabilities)
    for repeat in range(REPEATS):
        held_out = np.concatenate(seen[repeat * FOLDS : (repeat + 1) * FOLDS])
        np.testing.assert_array_equal(np.sort(held_out), found.nodes)
    assert not np.array_equal(np.sort(seen[0]), np.sort(seen[FOLDS]))
    assert "5-fold cross-validation, repeated 5 times" in str(found)


def test_a_class_of_two_makes_two_folds():
    labels = np.repeat([0, 1], [10, 2])
    found = cross_validated(labels, lambda split: (np.zeros((12, 2)), None), seconds=60)
    assert found.folds == 2
    assert found.without_graph is None


def test_what_takes_too_long_is_left_out(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(cross_validation, "perf_counter", lambda: float(next(clock)))
    calls = []

    def predict(split):
        calls.append(split)
        return np.zeros((60, 2)), None

    # the clock moves a second at every look: one fold takes a second, five take five
    assert cross_validated(LABELS, predict, seconds=4.0) is None
    assert len(calls) == 1
    found = cross_validated(LABELS, predict, seconds=5.0)
    assert 1 <= len(found.probabilities) < REPEATS
    assert cross_validated(LABELS, predict, seconds=0.0) is None
    calls.clear()
    assert cross_validated(LABELS, predict, expected=15.0, seconds=60.0) is None
    assert not calls, "a fit that took a quarter of the budget is not begun again"


def test_a_run_with_few_labels_says_how_it_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(cross_validation, "SECONDS", 60.0)
    monkeypatch.setattr(cross_validation, "REPEATS", 2)
    run = fit_run(LoadedGraph(planted(n=60), None), quick_classifier(), tmp_path / "run")
    assert len(run.split.test) < 20
    assert run.evaluation.accuracy.n == run.without_graph.accuracy.n == 60
    written = json.loads((tmp_path / "run" / "metrics.json").read_text())["test"]
    assert written["accuracy"]["n"] == 60
    how = "labelled nodes, each held out in turn (5-fold cross-validation, repeated 2 times)"
    assert written["measured_on"] == how
    again = load_run(tmp_path / "run").evaluation
    assert again.measured_on == how
    np.testing.assert_allclose(again.confusion, run.evaluation.confusion)
    assert how in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("kind", ["many", "given"])
def test_enough_test_nodes_or_a_split_of_the_user_are_taken_as_they_are(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(cross_validation, "SECONDS", 60.0)
    loaded = hostile_graph()  # 300 nodes: 60 are held out
    if kind == "given":
        loaded = LoadedGraph(planted(n=60), np.array(["train", "val", "test"] * 20, dtype=object))
    run = fit_run(loaded, quick_classifier(), tmp_path / "run")
    assert run.evaluation.measured_on == "held-out nodes"
    assert run.evaluation.accuracy.n == len(run.split.test)


def test_the_only_label_of_a_class_is_always_trained_on():
    labels = np.array([0] * 6 + [1] * 6 + [2] + [-1])
    seen = []

    def predict(split):
        seen.append(split)
        return np.full((len(labels), 3), 1 / 3), None

    made = cross_validated(labels, predict, seconds=60)
    assert made is not None
    assert 12 not in made.nodes
    assert all(12 in split.train for split in seen)
    np.testing.assert_array_equal(made.nodes, np.arange(12))
    assert cross_validated(np.array([0, 0, 0, 1]), predict, seconds=60) is None  # one class to test

"""Every labelled node is predicted by models that have not seen its label, within a budget."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.errors import LARGEST_SEED
from cpgnn.evaluation import cross_validation
from cpgnn.evaluation.cross_validation import (
    FOLDS,
    REPEATS,
    affordable,
    cross_validated,
    expected_seconds,
)
from cpgnn.evaluation.thresholds import choose_threshold
from cpgnn.io import LoadedGraph
from cpgnn.run.folder import fit_run
from cpgnn.run.load import load_run
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
        called = np.zeros(60, dtype=bool)
        called[split.test[0]] = True
        return {"probabilities": P, "without_graph": -P, "called": called}

    found = cross_validated(LABELS, predict)
    assert found.probabilities.shape == (REPEATS, 40, 2)
    np.testing.assert_array_equal(found.nodes, np.flatnonzero(LABELS >= 0))
    np.testing.assert_array_equal(found.probabilities[:, :, 0], np.tile(found.nodes, (REPEATS, 1)))
    np.testing.assert_array_equal(found.without_graph, -found.probabilities)
    assert found.called.sum(axis=1).tolist() == [FOLDS] * REPEATS
    assert found.called_without is None
    for repeat in range(REPEATS):
        held_out = np.concatenate(seen[repeat * FOLDS : (repeat + 1) * FOLDS])
        np.testing.assert_array_equal(np.sort(held_out), found.nodes)
    assert not np.array_equal(np.sort(seen[0]), np.sort(seen[FOLDS]))
    assert "5-fold cross-validation, repeated 5 times" in str(found)


@pytest.mark.parametrize("seed", [0, 2**32 - 1, LARGEST_SEED])
def test_a_class_of_two_makes_two_folds_with_every_seed(seed):
    labels = np.repeat([0, 1], [10, 2])
    predict = lambda split: {"probabilities": np.zeros((12, 2))}  # noqa: E731
    found = cross_validated(labels, predict, seed=seed)
    assert found.folds == 2
    assert found.without_graph is None


def test_how_often_follows_from_the_size_never_from_the_clock(monkeypatch):
    monkeypatch.setattr(cross_validation, "SECONDS", 60.0)
    monkeypatch.setattr(cross_validation, "LONGEST", 600.0)
    assert affordable(0.1, 0.25) == (REPEATS, False)
    assert affordable(5.0, 0.25) == (2, False)  # 5 folds of 5 seconds, twice
    assert affordable(13.0, 0.25) == (1, True)  # 65 seconds: once, a quarter as long
    assert affordable(13.0, 1.0) == (1, False)  # nothing to shorten
    assert affordable(121.0, 1.0) == (0, False)
    assert affordable(481.0, 0.25) == (0, True)
    assert cross_validated(LABELS, pytest.fail, repeats=0) is None


def test_larger_graphs_are_expected_to_take_longer():
    small, large = planted(n=60, num_features=5), planted(n=600, num_features=5)
    assert expected_seconds(small) < expected_seconds(large) < 2
    assert expected_seconds(small, epochs=10) < expected_seconds(large, epochs=10)
    assert expected_seconds(large, 200) == pytest.approx(2 * expected_seconds(large, 100))


def test_a_fit_too_long_to_repeat_is_repeated_briefly(tmp_path, monkeypatch):
    """Forty labels in a graph of 3,000 nodes were judged by eight of them."""
    monkeypatch.setattr(cross_validation, "LONGEST", 600.0)
    budgets = []
    fit = CPGNNClassifier.fit

    def counted(self, *given, **rest):
        budgets.append((self.budget, rest["split"].test.tolist()))
        return fit(self, *given, **rest)

    monkeypatch.setattr(CPGNNClassifier, "fit", counted)
    run = fit_run(LoadedGraph(planted(n=60), None), CPGNNClassifier("trees"), tmp_path / "run")
    assert run.evaluation.accuracy.n == 60
    how = "labelled nodes, each held out in turn (5-fold cross-validation, models trained briefly)"
    assert run.evaluation.measured_on == how
    assert budgets[0][0] == "normal"
    folds = {tuple(test) for budget, test in budgets if budget == "fast"}
    assert len(folds) == FOLDS
    assert sorted(node for fold in folds for node in fold) == list(range(60))


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


@pytest.mark.parametrize(("rare", "turns"), [(12, True), (60, False)])
def test_a_rare_class_is_held_out_in_turn_where_few_are_held_out(
    tmp_path, monkeypatch, rare, turns
):
    """Two frauds among 180 held-out nodes gave an average precision of 100 %."""
    monkeypatch.setattr(cross_validation, "SECONDS", 60.0)
    monkeypatch.setattr(cross_validation, "REPEATS", 1)
    graph = planted(n=300)
    y = np.where(np.arange(300) < rare, 1, 0)
    given = LoadedGraph(graph.with_labels(y, ["ordinary", "fraud"]), None)
    run = fit_run(given, quick_classifier(), tmp_path / "run", positive="fraud")
    assert len(run.split.test) == 60
    assert run.evaluation.accuracy.n == (300 if turns else 60)
    assert run.evaluation.average_precision.n == (rare if turns else rare // 5)
    assert ("held out in turn" in run.evaluation.measured_on) == turns
    recall, without = run.flag.test["recall"], run.without_graph.threshold["recall"]
    assert recall.n == without.n == (rare if turns else rare // 5)  # of the same nodes


def test_each_fold_flags_by_a_threshold_of_its_own(tmp_path, monkeypatch):
    """Two frauds among the held-out nodes said that a threshold finds none of twelve."""
    monkeypatch.setattr(cross_validation, "SECONDS", 60.0)
    monkeypatch.setattr(cross_validation, "REPEATS", 1)
    y = np.where(np.arange(200) < 15, 1, 0)
    given = LoadedGraph(planted(n=200).with_labels(y, ["ordinary", "fraud"]), None)
    splits = []
    fit = CPGNNClassifier.fit

    def kept(self, *given, **rest):
        made = fit(self, *given, **rest)
        splits.append((made, rest["split"]))
        return made

    monkeypatch.setattr(CPGNNClassifier, "fit", kept)
    run = fit_run(given, quick_classifier(), tmp_path / "run", positive="fraud")
    hits = called = 0
    assert len(splits) == 1 + FOLDS
    for made, split in splits[1:]:
        P = made.prediction().probabilities[:, 1]
        chosen = choose_threshold(P[split.val], y[split.val] == 1)
        flags = P[split.test] >= chosen.value
        hits, called = hits + (flags & (y[split.test] == 1)).sum(), called + flags.sum()
    found = run.flag.test
    assert (found["recall"].value, found["recall"].n) == (hits / 15, 15)
    assert found["precision"].value == pytest.approx(hits / called)


def test_the_only_label_of_a_class_is_always_trained_on():
    labels = np.array([0] * 6 + [1] * 6 + [2] + [-1])
    seen = []

    def predict(split):
        seen.append(split)
        return {"probabilities": np.full((len(labels), 3), 1 / 3)}

    made = cross_validated(labels, predict)
    assert made is not None
    assert 12 not in made.nodes
    assert all(12 in split.train for split in seen)
    np.testing.assert_array_equal(made.nodes, np.arange(12))
    assert cross_validated(np.array([0, 0, 0, 1]), predict) is None  # one class to test

"""Boosted trees against what must hold of any: sums, blindness to held-out labels, order."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.priors.trees import ABSENT, Boosting, Trees, fit_trees

SHORT = Boosting(rounds=6, check=6)
"""Six rounds, whatever the held-out labels say."""


def table(n: int = 240, *, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, Worlds]:
    """Column 2 decides alone; a tenth of the cells is missing, but none of column 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    labels = np.digitize(X[:, 2], np.linspace(-0.5, 0.5, classes - 1))
    gaps = rng.random(X.shape) < 0.1
    gaps[:, 2] = False
    X[gaps] = np.nan
    order = rng.permutation(n)
    return X, Worlds.of(labels, classes, order[: n // 2], order[n // 2 : 3 * n // 4], num_folds=3)


@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_sum_to_the_logits_and_the_deciding_column_leads(classes):
    X, worlds = table(classes=classes)
    trees, logs = fit_trees(X, worlds, Boosting(rounds=30))
    logits, parts = trees.logits(X), trees.contributions(X)
    assert parts.shape == (len(X), classes, 6)
    assert np.abs(parts.sum(axis=2) - logits).max() < 1e-5
    assert np.abs(parts[:, :, :5]).mean(axis=(0, 1)).argmax() == 2
    assert np.allclose(logs[-1], log_softmax(logits, axis=1), atol=1e-6)
    assert (worlds.honest(logs).argmax(axis=1) == worlds.labels[worlds.judged]).mean() > 0.8


def test_a_world_does_not_see_the_labels_that_it_holds_out():
    X, worlds = table()
    _, before = fit_trees(X, worlds, SHORT)
    for f in range(worlds.num_folds):
        held = worlds.train[worlds.fold == f]
        labels = worlds.labels.copy()
        labels[held] = (labels[held] + 1) % 3
        _, after = fit_trees(X, replace(worlds, labels=labels), SHORT)
        assert (before[f] == after[f]).all()
        assert not (before[-1] == after[-1]).all()  # the last world knows them all


def test_labels_that_only_choose_do_not_fit():
    X, worlds = table()
    labels = worlds.labels.copy()
    labels[worlds.val] = 0
    assert (
        fit_trees(X, worlds, SHORT)[1] == fit_trees(X, replace(worlds, labels=labels), SHORT)[1]
    ).all()


def test_the_text_is_all_that_prediction_needs_and_the_seed_all_that_chance_is():
    X, worlds = table()
    trees, logs = fit_trees(X, worlds, Boosting(rounds=9))
    again = Trees(trees.text, trees.present, trees.num_classes, trees.num_columns)
    assert (again.logits(X) == trees.logits(X)).all()
    assert (fit_trees(X, worlds, Boosting(rounds=9))[1] == logs).all()
    assert not (fit_trees(X, worlds, Boosting(rounds=9, seed=1))[1] == logs).all()


def test_sparse_columns_are_the_same_columns():
    X, worlds = table()
    X = np.where(np.isnan(X) | (X < 0), 0, X)
    dense, _ = fit_trees(X, worlds, SHORT)
    sparse, _ = fit_trees(sp.csr_array(X), worlds, SHORT)
    assert np.allclose(sparse.logits(sp.csr_array(X)), sparse.logits(X))
    assert np.allclose(dense.logits(X), sparse.logits(X), atol=1e-5)
    assert np.allclose(sparse.contributions(sp.csr_array(X)), sparse.contributions(X))


def test_that_a_value_is_missing_can_decide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    labels = rng.integers(0, 2, 200)
    X[labels == 1, 0] = np.nan
    worlds = Worlds.of(labels, 2, np.arange(100), np.arange(100, 100), num_folds=3)
    trees, _ = fit_trees(X, worlds, Boosting(rounds=60))
    assert (trees.logits(X[100:]).argmax(axis=1) == labels[100:]).all()


def test_classes_without_a_training_node_stay_out_of_reach():
    X, worlds = table()
    worlds = replace(worlds, num_classes=5, labels=np.where(worlds.labels == 2, 4, worlds.labels))
    trees, logs = fit_trees(X, worlds, SHORT)
    assert trees.present == (0, 1, 4)
    assert trees.logits(X)[:, [2, 3]] == pytest.approx(ABSENT)
    assert trees.contributions(X).sum(axis=2) == pytest.approx(trees.logits(X), abs=1e-5)
    assert logs.shape == (4, len(X), 5)
    one = replace(worlds, labels=np.full_like(worlds.labels, 3))
    trees, logs = fit_trees(X, one, SHORT)
    assert (trees.logits(X).argmax(axis=1) == 3).all()
    assert (logs.argmax(axis=2) == 3).all()
    assert trees.contributions(X).sum(axis=2) == pytest.approx(trees.logits(X), abs=1e-6)


def test_class_weights_count_as_copies_of_nodes():
    """Weight 3 for class 1 moves its share towards 3 p / (1 + 2 p), as three copies would."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(600, 2)).astype(np.float32), np.arange(600) % 4 // 3
    worlds = Worlds.of(labels, 2, np.arange(600), np.arange(600, 600), num_folds=2)
    how = Boosting(rounds=1, check=1)
    _, logs = fit_trees(X, worlds, how, weight=np.array([1.0, 3.0]))
    assert np.exp(logs[-1][:, 1]).mean() == pytest.approx(0.5, abs=0.03)


def test_progress_is_told_the_rounds():
    told = []

    def begin(name, rounds):
        told.append((name, rounds))
        return lambda epoch: told.append(epoch.epoch)

    X, worlds = table()
    fit_trees(X, worlds, SHORT, begin=begin)
    assert told == [("trees", 6), 1, 2, 3, 4, 5, 6]


def test_lightgbm_is_imported_when_trees_grow():
    probe = "import sys, cpgnn.cli, cpgnn.priors.trees; print('lightgbm' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"

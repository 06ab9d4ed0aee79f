"""Constant columns, and columns that give the label away."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn import Graph
from cpgnn.check.columns import BINS, _Cells, column_rates, dealt
from cpgnn.check.columns import constant_columns as constant
from cpgnn.check.columns import given_away as away

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 300)
NOISE = RNG.normal(size=(300, 4))


def constant_columns(graph):
    return list(constant(graph))


def given_away(graph):
    return list(away(graph))


def with_features(X, y=Y, sparse=False):
    X = sp.csr_array(X) if sparse else X
    return Graph.from_edges([0], [1], num_nodes=len(y), labels=y, features=X)


@pytest.mark.parametrize("sparse", [False, True])
def test_constant_columns(sparse):
    X = NOISE.copy()
    X[:, 1], X[:, 3] = 0, 7
    (found,) = constant_columns(with_features(X, sparse=sparse))
    assert (found.count, found.severity) == (2, "note")
    assert "column 2, column 4." in found.detail
    assert not constant_columns(with_features(NOISE, sparse=sparse))
    (found,) = constant_columns(with_features(np.ones((300, 2)), sparse=sparse))
    assert found.severity == "problem"
    assert not constant_columns(with_features(None))
    assert not given_away(with_features(np.empty((300, 0))))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "column",
    [Y, -2.5 * Y, Y + RNG.normal(size=300) / 50, np.where(np.arange(300) % 30, Y, 0)],
    ids=["the label", "scaled", "with noise", "almost"],
)
def test_a_column_with_the_label(column, sparse):
    (found,) = given_away(with_features(np.c_[NOISE, column], sparse=sparse))
    assert (found.code, found.severity, found.count) == ("labels-in-features", "problem", 1)
    assert "column 5 alone avoids" in found.detail


def test_one_hot_labels_and_a_single_class():
    (found,) = given_away(with_features(np.c_[NOISE, np.eye(3)[Y]]))
    assert (found.severity, found.count) == ("problem", 3)
    (found,) = given_away(with_features(np.c_[NOISE, Y == 1]))
    assert (found.severity, found.count) == ("risk", 1)
    assert "'1'" in found.title


def test_columns_by_their_names():
    names = ["age", "size", "wealth", "speed", "answer"]
    graph = Graph.from_edges(
        [0], [1], num_nodes=300, labels=Y, features=np.c_[NOISE, Y], feature_names=names
    )
    (found,) = given_away(graph)
    assert "'answer' alone avoids" in found.detail


def test_honest_features_are_fine():
    assert not given_away(with_features(NOISE))
    helpful = NOISE + Y[:, None]  # each column is worth something, none gives the class away
    assert not given_away(with_features(helpful))
    rates = column_rates(with_features(helpful))
    assert rates.avoided.max() > rates.by_chance
    many = np.random.default_rng(1).normal(size=(300, 500))
    assert not given_away(with_features(many))


def test_a_rare_class_is_no_reason_for_alarm():
    """98 % right by always saying "no" is not a column that tells."""
    y = (np.arange(1000) % 40 == 0).astype(int)
    X = np.random.default_rng(0).integers(0, 2, (1000, 20))
    assert not given_away(with_features(X, y))


def test_too_few_labels_to_tell():
    assert column_rates(with_features(NOISE[:12], Y[:12])) is None


@pytest.mark.parametrize("sparse", [False, True])
def test_errors_avoided_by_brute_force(sparse):
    rng = np.random.default_rng(3)
    n, c = 90, 3
    y = rng.integers(0, c, n)
    X = rng.choice([0.0, 0.0, 1.0, -2.0, 3.0], (n, 6))
    fitted = rng.random(n) < 0.5
    found = _Cells.of(sp.csr_array(X) if sparse else X).avoided(y, fitted, c)
    for j in range(6):
        for k in range(c):
            is_k = y == k
            wrong = 0
            for i in np.flatnonzero(~fitted):
                like = is_k[fitted & (X[:, j] == X[i, j])]
                says_yes = like.sum() * 2 > len(like)
                wrong += says_yes != is_k[i]
            baseline = min(is_k[~fitted].sum(), (~is_k[~fitted]).sum())
            assert found[j, k] == pytest.approx(1 - wrong / baseline)


def test_many_values_are_cut_into_few_parts():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[:, 1] = np.round(X[:, 1])
    cells = _Cells.of(X)
    parts = np.bincount(cells.column)
    assert parts[0] == BINS
    assert parts[1] == len(np.unique(X[:, 1])) - 1  # zeros are the rest
    first = cells.part < BINS
    order = np.argsort(X[cells.row[first], 0])
    assert (np.diff(cells.part[first][order]) >= 0).all()


def test_every_class_is_dealt_evenly():
    y = np.repeat([0, 1], [30, 61])
    part = dealt(y, 3, np.random.default_rng(0))
    counts = np.array([np.bincount(part[y == c], minlength=3) for c in (0, 1)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert len(np.unique(part[:6])) > 1  # in random order

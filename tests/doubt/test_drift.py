"""Drift: planted shifts are named, and nothing is said where nothing moved."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.doubt.drift import drift_notice, shifts
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from toys import planted


def test_the_shifted_feature_is_named_and_no_other():
    then, now = planted(0, n=300, num_features=5), planted(0, n=300, num_features=5)
    X = now.features.copy()
    X[:, 2] += 2.0
    (found,) = shifts(then, now.with_features(X))
    assert found.what == "feature 3"
    assert found.after - found.before == pytest.approx(2.0, abs=1e-4)


def test_degrees_are_compared():
    then, now = planted(0, n=300, degree=4), planted(1, n=300, degree=12)
    found = shifts(then.with_features(None), now.with_features(None))
    assert [shift.what for shift in found] == ["number of neighbours"]
    assert found[0].after > 2 * found[0].before


@pytest.mark.parametrize("seed", range(5))
def test_graphs_of_one_kind_are_not_told_apart(seed):
    then, now = (planted(s, n=200, num_features=None) for s in (seed, seed + 50))
    assert shifts(then, now) == []


def test_a_notice_is_about_the_new_nodes():
    then = planted(0, n=300, num_features=3)
    X = np.vstack([then.features[:200], then.features[200:] + 3])
    now = then.with_features(X)
    assert "not like those of the fit" in drift_notice(then, now, np.arange(200, 300))
    assert drift_notice(then, now, np.arange(200)) == ""
    assert drift_notice(then, now, np.arange(290, 300)) == ""  # ten nodes tell nothing


@pytest.mark.parametrize("seed", range(5))
def test_nodes_that_arrive_are_alike_although_the_first_knew_fewer_neighbours(seed):
    """Half of a graph is fitted; then the other half comes, which is drawn like it."""
    whole = planted(seed, n=400, num_features=None, degree=8)
    u, v = whole.adjacency.tocoo().coords
    u, v = u[u < v], v[u < v]
    inside = (u < 200) & (v < 200)
    half = Graph.from_edges(u[inside], v[inside], num_nodes=200)
    assert whole.num_neighbours[200:].mean() > 1.5 * half.num_neighbours.mean()
    assert drift_notice(half, whole, np.arange(200, 400)) == ""
    few = inside | (np.random.default_rng(seed).random(len(u)) < 0.2)
    sparse = Graph.from_edges(u[few], v[few], num_nodes=400)  # who comes knows hardly anybody
    assert "number of neighbours" in drift_notice(half, sparse, np.arange(200, 400))


def test_only_nodes_that_are_predicted_are_compared():
    """Accounts are not unlike the fit because cards have fewer neighbours and other columns."""
    graph = planted(0, n=300, num_features=3)
    X, y = graph.features.copy(), graph.labels.copy()
    X[200:], y[200:] = X[200:] + 9, -1
    graph = graph.with_features(X).with_labels(y, graph.class_names)
    kinds = graph.with_kinds(["account"] * 200 + ["card"] * 100)
    some = np.arange(100)
    assert shifts(graph, graph, some)
    assert shifts(kinds, kinds, some) == []
    assert shifts(kinds, kinds, np.arange(200, 300)) == []


def test_other_features_cannot_be_compared():
    then, now = planted(0, num_features=3), planted(0, num_features=4)
    with pytest.raises(InputError, match=r"must have the same features\. Got 3 and 4"):
        shifts(then, now)

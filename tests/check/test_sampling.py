"""Labelled nodes that are not like the others: by brute force, level, power and words."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn import Graph, generate_graph
from cpgnn.check import check
from cpgnn.check.sampling import differences, unlike_the_rest
from toys import planted


def hidden(graph, known):
    """The graph with the labels of these nodes only."""
    y = np.full(graph.num_nodes, -1)
    y[known] = graph.labels[known]
    return graph.with_labels(y, graph.class_names)


def test_differences_by_brute_force():
    """Against every way to choose four of nine nodes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3)) * [1, 10, 0.1]
    X[:, 2] = np.round(X[:, 2], 1)
    one = np.arange(9) < 4
    found, p = differences(sp.csc_array(X), one, rng, deals=20_000)

    def apart(chosen):
        rest = np.setdiff1d(np.arange(9), chosen)
        return (X[list(chosen)].mean(axis=0) - X[rest].mean(axis=0)) / X.std(axis=0)

    np.testing.assert_allclose(found, apart(range(4)))
    largest = np.array([np.abs(apart(chosen)).max() for chosen in combinations(range(9), 4)])
    wanted = [(largest >= abs(value) - 1e-9).mean() for value in found]
    np.testing.assert_allclose(p, wanted, atol=0.015)


def test_a_constant_column_differs_from_nothing():
    X = np.c_[np.full(30, 0.1), np.arange(30)]
    found, p = differences(sp.csc_array(X), np.arange(30) < 10, np.random.default_rng(0), 99)
    assert found[0] == 0
    assert p[0] == 1
    assert p[1] == pytest.approx(0.01)


def test_its_level():
    """Random samples are called unlike the rest in about 1 % of cases, whatever the features."""
    rng = np.random.default_rng(0)
    X = np.c_[
        rng.normal(size=(120, 3)), rng.exponential(size=(120, 3)) ** 3, rng.random((120, 9)) < 0.1
    ]
    least = [
        differences(sp.csc_array(X), rng.permutation(120) < 40, rng, deals=199)[1].min()
        for _ in range(800)
    ]
    assert 0.03 <= np.mean(np.array(least) <= 0.05) <= 0.07


def test_hubs_first():
    """The older nodes of a growing graph have more neighbours."""
    graph = generate_graph([400, 400], [[0.2, 0.8], [0.8, 0.2]], edges_per_node=3, seed=0)
    (found,) = unlike_the_rest(hidden(graph, np.arange(300)))
    assert (found.code, found.severity, found.count) == ("labelled-unlike-others", "risk", 500)
    degree = np.diff(graph.adjacency.indptr)
    assert f"{degree[:300].mean():.1f} neighbours on average" in found.detail
    assert f"the others {degree[300:].mean():.1f}" in found.detail
    assert "may not hold for the others" in found.detail
    drawn = np.random.default_rng(0).permutation(800)[:300]
    assert not [*unlike_the_rest(hidden(graph, drawn))]


@pytest.mark.parametrize("sparse", [False, True])
def test_features(sparse):
    graph = planted(n=300, num_features=5)
    X = graph.features.copy()
    X[:, 3] += np.arange(300) < 100
    X = sp.csr_array(X) if sparse else X
    (found,) = unlike_the_rest(hidden(graph.with_features(X), np.arange(100)))
    assert found.detail.startswith("They differ in column 4 (p = 0.001")


def test_too_few_to_tell():
    graph = planted(n=100)
    assert not [*unlike_the_rest(graph)]
    assert not [*unlike_the_rest(hidden(graph, np.arange(19)))]
    assert not [*unlike_the_rest(Graph.from_edges([], [], num_nodes=0))]


def test_large_graphs_are_sampled(monkeypatch):
    monkeypatch.setattr("cpgnn.check.sampling.MOST_NODES", 1000)
    graph = planted(n=3000, degree=4)
    X = graph.features + (np.arange(3000) < 1000)[:, None]
    (found,) = unlike_the_rest(hidden(graph.with_features(X), np.arange(1000)))
    assert found.count == 2000


def test_check_finds_it():
    graph = planted(n=300, num_features=5)
    shifted = graph.with_features(graph.features + (np.arange(300) < 100)[:, None])
    report = check(hidden(shifted, np.arange(100)), compare=False)
    assert "labelled-unlike-others" in [finding.code for finding in report.findings]
    assert not report.clean


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
def test_labelled_nodes_are_compared_with_others_of_their_kind():
    """Devices have other degrees than accounts, and no account is unlike the others for it."""
    rng = np.random.default_rng(0)
    users = np.arange(200)
    graph = Graph.from_edges(
        np.concatenate([users, rng.permutation(1000) % 200]),
        np.concatenate([200 + users % 60, rng.permutation(1000) % 200]),
        num_nodes=260,
        labels=np.where((np.arange(260) < 200) & (np.arange(260) % 2 == 0), np.arange(260) % 4, -1),
    )
    (found,) = unlike_the_rest(graph)
    assert found.detail.endswith("may not hold for the others.")
    assert "corrected for 1 comparison)" in found.detail
    kinds = ["account"] * 200 + ["device"] * 60
    assert not list(unlike_the_rest(graph.with_kinds(kinds)))

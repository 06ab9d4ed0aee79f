"""h and H by hand, and against counting edge by edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.errors import GraphNotice
from cpgnn.graph import Graph
from cpgnn.homophily import (
    adjusted_homophily,
    class_edge_counts,
    compatibility_matrix,
    homophily_ratio,
    label_informativeness,
    node_homophily,
)
from toys import Toy, toy, toys


def five_nodes(labels) -> Graph:
    """Edges 0-1, 0-2, 1-2, 2-3 and self-loops at 0, 3 (twice) and the isolated node 4."""
    with pytest.warns(GraphNotice, match="4 self-loop rows were set aside"):
        return Graph.from_edges(
            [0, 0, 1, 2, 0, 3, 3, 4],
            [1, 2, 2, 3, 0, 3, 3, 4],
            labels=labels,
            class_names=["a", "b", "c"],
        )


def test_by_hand():
    graph = five_nodes([0, 0, 1, 1, 2])
    assert homophily_ratio(graph) == 2 / 4
    H = compatibility_matrix(graph)
    np.testing.assert_allclose(H[:2], [[2 / 4, 2 / 4, 0], [2 / 4, 2 / 4, 0]])
    assert np.isnan(H[2]).all()


def test_by_hand_with_self_loops():
    """Each edge and each self-loop counts once: 2 of 4 edges and 3 of 3 self-loops."""
    graph = five_nodes([0, 0, 1, 1, 2])
    assert homophily_ratio(graph, self_loops=True) == 5 / 7
    H = compatibility_matrix(graph, self_loops=True)
    np.testing.assert_allclose(H, [[3 / 5, 2 / 5, 0], [2 / 5, 3 / 5, 0], [0, 0, 1]])


def test_edges_with_an_unlabelled_end_do_not_count():
    graph = five_nodes([0, -1, 1, 1, -1])
    assert homophily_ratio(graph) == 1 / 2  # 0-2 and 2-3 are left
    assert homophily_ratio(graph, self_loops=True) == 3 / 4  # with 0-0 and 3-3, not 4-4
    np.testing.assert_allclose(compatibility_matrix(graph)[:2], [[0, 1, 0], [1 / 3, 2 / 3, 0]])


def test_no_evidence_is_nan():
    graph = five_nodes([0, -1, -1, 1, -1])
    assert np.isnan(homophily_ratio(graph))
    assert np.isnan(compatibility_matrix(graph)).all()
    assert homophily_ratio(graph, self_loops=True) == 1.0


def test_weights_count_as_so_many_edges():
    graph = Graph.from_edges([0, 0], [1, 2], weights=[3, 1], labels=[0, 0, 1])
    assert homophily_ratio(graph) == 3 / 4
    np.testing.assert_allclose(compatibility_matrix(graph), [[6 / 7, 1 / 7], [1, 0]])


@given(toys(), st.integers(0, 2**16))
def test_against_counting_edge_by_edge(toy: Toy, seed):
    labels = np.where(np.random.default_rng(seed).random(toy.n) < 0.3, -1, toy.y)
    graph = toy.graph.with_labels(labels, toy.graph.class_names)
    C = np.zeros((toy.c, toy.c))
    same = every = 0.0
    for u in range(toy.n):
        for v in range(toy.n):
            if labels[u] >= 0 and labels[v] >= 0:
                C[labels[u], labels[v]] += toy.A[u, v]
                if u < v:
                    every += toy.A[u, v]
                    same += toy.A[u, v] * (labels[u] == labels[v])
    np.testing.assert_allclose(class_edge_counts(graph), C)
    np.testing.assert_allclose(homophily_ratio(graph), same / every if every else np.nan)
    H = compatibility_matrix(graph)
    for i in range(toy.c):
        total = C[i].sum()
        np.testing.assert_allclose(H[i], C[i] / total if total else np.full(toy.c, np.nan))


def test_self_loops_change_nothing_where_there_are_none():
    graph = toy(3, weighted=True).graph
    assert homophily_ratio(graph) == homophily_ratio(graph, self_loops=True)
    np.testing.assert_array_equal(
        compatibility_matrix(graph), compatibility_matrix(graph, self_loops=True)
    )


@given(toys(c=3, density=0.5))
def test_measures_of_likeness_from_dense_arrays(toy):
    """Each by its definition, as sums over ordered pairs of joined nodes."""
    A, y = toy.A, toy.y
    graph = toy.graph
    total = A.sum()
    if not total:
        assert np.isnan(adjusted_homophily(graph))
        return
    same = (y[:, None] == y[None, :]).astype(float)
    shares = [(A[v] * same[v]).sum() / A[v].sum() for v in range(toy.n) if A[v].sum() > 0]
    assert node_homophily(graph) == pytest.approx(np.mean(shares))
    degree = A.sum(axis=1)
    chance = sum((degree[y == k].sum() / total) ** 2 for k in range(3))
    h = (A * same).sum() / total
    if chance < 1:
        assert adjusted_homophily(graph) == pytest.approx((h - chance) / (1 - chance))
    p = np.array([degree[y == k].sum() / total for k in range(3)])
    entropy = -sum(q * np.log(q) for q in p if q > 0)
    information = 0.0
    for i in range(3):
        for j in range(3):
            joint = A[np.ix_(y == i, y == j)].sum() / total
            if joint > 0:
                information += joint * np.log(joint / (p[i] * p[j]))
    if entropy > 0:
        assert label_informativeness(graph) == pytest.approx(information / entropy, abs=1e-9)


def test_ends_of_the_measures():
    """Two classes that only meet each other: no homophily, full information. And the opposite."""
    across = Graph.from_edges([0, 1, 0], [2, 3, 3], labels=[0, 0, 1, 1])
    assert adjusted_homophily(across) == pytest.approx(-1)
    assert label_informativeness(across) == pytest.approx(1)
    assert node_homophily(across) == 0
    within = Graph.from_edges([0, 2], [1, 3], labels=[0, 0, 1, 1])
    assert adjusted_homophily(within) == label_informativeness(within) == pytest.approx(1)
    assert node_homophily(within) == 1
    everywhere = Graph.from_edges([0, 0, 1, 1], [2, 3, 2, 3], labels=[0, 1, 0, 1])
    assert label_informativeness(everywhere) == pytest.approx(0, abs=1e-12)
    assert adjusted_homophily(everywhere) == pytest.approx(0)


def test_weighted_edges_count_by_weight_or_once():
    graph = Graph.from_edges(
        [0, 0, 1], [1, 2, 2], weights=[6.0, 1.0, 1.0], num_nodes=3, labels=[0, 1, 1]
    )
    assert homophily_ratio(graph) == 1 / 8
    assert homophily_ratio(graph, by_weight=False) == 1 / 3

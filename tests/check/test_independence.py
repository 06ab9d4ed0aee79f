"""The test of independence: by brute force, its level on shuffled labels, its power."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
import scipy.stats

from cpgnn import Graph
from cpgnn.check.independence import Independence, corrected
from toys import planted, toy


def everything(graph):
    return np.flatnonzero(graph.labels >= 0)


def chi_square(y, c, pairs):
    C = np.zeros((c, c))
    for u, v, weight in pairs:
        C[y[u], y[v]] += weight
        C[y[v], y[u]] += weight
    kept = C.sum(axis=0) > 0
    return scipy.stats.chi2_contingency(C[kept][:, kept], correction=False).statistic


def pairs_by_hand(A, known):
    n = len(A)
    edges = [(u, v, 1.0) for u in known for v in known if u < v and A[u, v]]
    steps = []
    for u in known:
        for v in known:
            if u < v and not A[u, v]:
                shared = [m for m in range(n) if A[u, m] and A[m, v]]
                weight = sum(1 / (sum(A[m, k] > 0 for k in known) - 1) for m in shared)
                if weight:
                    steps.append((u, v, weight))
    return edges, steps


@pytest.mark.parametrize(("seed", "c"), [(0, 2), (1, 2), (2, 3), (3, 2), (4, 3)])
def test_every_deal_by_brute_force(seed, c):
    """All n! orders of the labels, χ² from SciPy, H of Kruskal and Wallis from SciPy."""
    made = toy(seed, n=8, c=c, weighted=bool(seed % 2))
    known = list(range(7))
    y = np.append(made.y[:7], -1)
    graph = made.graph.with_labels(y, made.graph.class_names)
    edges, steps = pairs_by_hand(made.A, known)
    degree = (made.A > 0).sum(axis=1)

    def looked_at(y):
        classes = [degree[:7][y == k] for k in range(c)]
        ranked = scipy.stats.kruskal(*classes).statistic
        return [chi_square(y, c, edges), chi_square(y, c, steps), ranked]

    orders = sorted(set(permutations(y[:7].tolist())))  # each stands for as many of the n!
    drawn = np.array([looked_at(np.array(order)) for order in orders]).round(6)
    as_far = (drawn[None] >= drawn[:, None]).sum(axis=1)  # [deals, 3]
    at_hand = as_far[orders.index(tuple(y[:7].tolist()))]
    wanted = [(as_far.min(axis=1) <= count).mean() for count in at_hand]
    found = Independence.of(graph, everything(graph))
    assert found.exact
    assert (found.p_edge, found.p_two_steps, found.p_degree) == pytest.approx(tuple(wanted))
    sampled = Independence.of(graph, everything(graph), deals=found.deals - 1, seed=1)
    assert not sampled.exact


def test_sampled_deals_come_close_to_all_of_them():
    made = toy(5, n=12, c=2, isolated=0).graph
    exact = Independence.of(made, everything(made))
    assert exact.exact
    sampled = Independence.of(made, everything(made), deals=exact.deals - 1, seed=3)
    assert sampled.p_edge == pytest.approx(exact.p_edge, abs=0.08)
    assert sampled.p_degree == pytest.approx(exact.p_degree, abs=0.08)


def test_correction_of_one_is_none_and_of_copies_is_none():
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(999, 1))
    p = (drawn >= 1.5).mean()
    assert corrected(np.array([1.5]), drawn) == [pytest.approx(p)]
    assert corrected(np.array([1.5, 1.5]), np.repeat(drawn, 2, axis=1)) == pytest.approx([p, p])
    many = rng.normal(size=(9999, 3))
    assert corrected(np.full(3, 2.5), many) == pytest.approx([1 - (1 - 0.0062) ** 3] * 3, abs=0.006)


def test_its_level_on_shuffled_labels():
    """Of 800 graphs whose labels say nothing, about 5 % are said to speak at p = 0.05."""
    rng = np.random.default_rng(7)
    called = 0
    for seed in range(800):
        if seed % 2:
            there = nx.barabasi_albert_graph(40, 2, seed=seed)
        else:
            there = nx.gnm_random_graph(40, 70, seed=seed)
        y = rng.choice(3, 40, p=[0.5, 0.3, 0.2])
        y[30:] = -1
        graph = Graph.from_edges(*np.array(there.edges).T, num_nodes=40, labels=y)
        called += Independence.of(graph, everything(graph), deals=199, seed=seed).speaks
    assert 0.03 <= called / 800 <= 0.07


@pytest.mark.parametrize("h", [0.02, 0.1, 0.6, 0.9])
def test_its_power(h):
    for seed in range(5):
        graph = planted(seed, n=150, degree=6, h=h, num_features=None)
        found = Independence.of(graph, np.arange(100), deals=999)
        assert found.p_edge <= 0.01
        assert found.speaks


def test_two_steps_speak_where_edges_cannot():
    """Buyers and sellers: labels on one side only, told by whom they share."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    ends = 80 + 2 * rng.integers(0, 10, (80, 3)) + (y[:, None] ^ (rng.random((80, 3)) < 0.15))
    pairs = np.unique(np.stack([np.repeat(np.arange(80), 3), ends.ravel()], axis=1), axis=0)
    graph = Graph.from_edges(*pairs.T, num_nodes=100, labels=np.append(y, np.full(20, -1)))
    found = Independence.of(graph, everything(graph), deals=999)
    assert found.p_edge is None
    assert found.p_two_steps == pytest.approx(0.001)
    assert "two steps apart are not independent (p = 0.001)" in str(found)


def test_degrees_speak():
    """Nodes of the first class have many neighbours, whoever these are."""
    rng = np.random.default_rng(0)
    y = np.append(rng.integers(0, 2, 60), np.full(300, -1))
    ends = [(u, v) for u in range(60) for v in rng.integers(60, 360, 2 + 6 * (1 - y[u]))]
    graph = Graph.from_edges(*np.unique(ends, axis=0).T, num_nodes=360, labels=y)
    found = Independence.of(graph, everything(graph), deals=999)
    assert found.p_degree <= 0.003
    assert "in their number of neighbours (p = 0.00" in str(found)


def test_words():
    assert str(Independence(0.0001, 0.0001, 0.4, 9999, False)) == (
        "The graph says something about the classes: the classes at the two ends of an edge are "
        "not independent (p = 0.0001); nor are those two steps apart (p = 0.0001)."
    )
    silent = Independence(0.31, None, 0.8, 9999, False)
    assert not silent.speaks
    assert "look just as connected (p = 0.31)" in str(silent)
    assert silent.to_dict()["p_two_steps"] is None


def test_nothing_to_look_at():
    lonely = Graph.from_edges([], [], num_nodes=5, labels=[0, 1, 0, 1, 0])
    assert Independence.of(lonely, np.arange(5)) is None
    one_class = planted(n=50).with_labels(np.zeros(50, int))
    assert Independence.of(one_class, np.arange(50)) is None
    assert Independence.of(planted(n=50), np.empty(0, int)) is None


def test_large_graphs_are_sampled(monkeypatch):
    for limit, value in (("MOST_PAIRS", 300), ("MOST_STEPS", 4000), ("MOST_WORK", 10_000)):
        monkeypatch.setattr(f"cpgnn.check.independence.{limit}", value)
    graph = planted(n=600, degree=10, h=0.02)
    found = Independence.of(graph, np.arange(600))
    assert found.deals == 999
    assert found.p_edge <= 0.01


@pytest.mark.parametrize("sizes", [(2, 2), (2, 1), (2, 2, 2), (3, 3), (4, 2)])
def test_the_least_p_value_of_few_labels(sizes):
    """Over every order of the labels, none falls below it; so few labels are said to be too few."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    n = len(y)
    there = nx.gnm_random_graph(3 * n, 8 * n, seed=1)
    every = []
    for order in set(permutations(y.tolist())):
        labels = np.append(order, np.full(2 * n, -1))
        graph = Graph.from_edges(*np.array(there.edges).T, num_nodes=3 * n, labels=labels)
        found = Independence.of(graph, np.arange(n))
        every.append(found.p)
        assert ("it cannot be below" in str(found)) == (found.least > 0.05)
    assert min(every) >= found.least - 1e-12
    if sizes == (2, 2):
        assert found.least == pytest.approx(1 / 3)

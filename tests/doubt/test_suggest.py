"""Labels to ask for: the expected change by enumeration, batches that spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.doubt import cover
from cpgnn.doubt.suggest import COLUMNS, cells, expected_change, suggest
from cpgnn.errors import InputError
from toys import planted, softmax, toy

RULES = ["auto", "cover", "change", "spread", "centre", "uncertainty", "margin", "random"]


@pytest.fixture(scope="module")
def fitted() -> CPGNNClassifier:
    graph = planted(0, n=300)
    labels = np.where(np.arange(300) < 30, graph.labels, -1)
    graph = graph.with_labels(labels, graph.class_names)
    return CPGNNClassifier("mlp", 1, pretrain_epochs=10, epochs=10).fit(graph)


def test_the_expected_change_is_that_of_every_label_in_turn():
    t = toy(3, n=8, c=3)
    rng = np.random.default_rng(0)
    P, H_bar = softmax(rng.normal(size=(t.n, 3))), rng.normal(size=(3, 3))
    made = expected_change(t.graph.adjacency, P, H_bar)
    for v in range(t.n):
        expected = 0.0
        for u in np.flatnonzero(t.A[v]):
            for y in range(3):
                told = (np.eye(3)[y] - P[v]) @ H_bar
                share = t.A[u, v] / t.A[u].sum()
                expected += P[v, y] * share * (told @ told) * (1 - P[u].max())
        np.testing.assert_allclose(made[v], expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_a_batch_is_new_nodes_once_each(fitted, rule):
    table = suggest(fitted, 12, rule=rule)
    assert list(table.columns) == COLUMNS
    assert table["id"].is_unique
    where = fitted.graph_.node_ids.astype(str).get_indexer(table["id"])
    assert (fitted.graph_.labels[where] < 0).all()
    assert len(table) == 12
    assert (table["label"] == "").all()
    again = suggest(fitted, 12, rule=rule)
    assert again.equals(table)


def test_cells_are_of_one_size_and_cut_where_the_rows_differ():
    rng = np.random.default_rng(0)
    side = np.repeat([-5.0, 5.0], [30, 30])
    Z = np.stack([side, rng.normal(size=60)], axis=1).astype(np.float32)
    cell = cells(Z, 8, rng)
    sizes = np.bincount(cell)
    assert len(sizes) == 8
    assert set(sizes) <= {7, 8}
    assert not set(cell[:30]) & set(cell[30:])


@pytest.mark.parametrize(("m", "k"), [(7, 7), (7, 5), (1, 1), (100, 33)])
def test_no_cell_is_empty_even_where_all_rows_are_alike(m, k):
    cell = cells(np.zeros((m, 3), dtype=np.float32), k, np.random.default_rng(0))
    assert sorted(set(cell)) == list(range(k))


@pytest.fixture
def half_known():
    """Fitted to two kinds of nodes, of which those from 150 on have no label at all."""
    graph = planted(0, n=300)
    X = graph.features.copy()
    X[:150, 0] += 50
    labels = np.where(np.arange(300) < 30, graph.labels, -1)
    graph = graph.with_features(X).with_labels(labels, graph.class_names)
    return CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=5).fit(graph)


def test_a_batch_covers_what_no_label_does(half_known):
    asked = suggest(half_known, 20, rule="spread")["id"].astype(int)
    assert (asked >= 150).mean() > 0.6  # a fair sample of the pool would have 0.56


def test_medoids_are_those_of_the_plain_greedy_search():
    rng = np.random.default_rng(0)
    D, far, w = rng.random((40, 60)), rng.random(60) + 0.2, rng.random(60)
    expected: list[int] = []
    left = far.copy()
    for _ in range(12):
        loss = [np.inf if i in expected else w @ np.minimum(left, D[i]) for i in range(40)]
        expected.append(int(np.argmin(loss)))
        left = np.minimum(left, D[expected[-1]])
    assert cover.medoids(D, far, w, 12).tolist() == expected
    assert sorted(cover.medoids(D, far, w, 99)) == list(range(40))


def test_a_view_counts_as_much_as_its_nearest_labels_tell():
    labels = np.repeat([0, 1, 2, 3], 10)
    rng = np.random.default_rng(0)
    telling = np.eye(4)[labels] + 0.1 * rng.normal(size=(40, 4))
    silent = rng.normal(size=(40, 4))
    a, b = cover.weights([telling, silent], labels, 4)
    assert cover.right_nearest(telling, labels) == 1.0
    assert a > 5 * b > 0
    assert a + b == pytest.approx(1)
    few = cover.weights([telling[::4], silent[::4]], labels[::4], 4)
    assert few.tolist() == [0.5, 0.5]


def test_distances_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    expected = np.linalg.norm(X[:, None] - Y[None], axis=2)
    np.testing.assert_allclose(cover.distances(X, Y), expected, rtol=1e-5)


def test_the_default_asks_where_no_label_is_near(half_known):
    asked = suggest(half_known, 8)["id"].astype(int)
    assert (asked[:4] >= 150).all()
    assert suggest(half_known, 8).equals(suggest(half_known, 8, rule="cover"))


def test_a_batch_is_not_asked_of_one_place():
    """Copies of one node are asked once while others are left."""
    graph = planted(0, n=200)
    X = graph.features.copy()
    X[50:120] = X[50]
    empty = np.full(200, -1)
    empty[:30] = graph.labels[:30]
    alone = graph.with_features(X).with_labels(empty, graph.class_names)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=5).fit(alone)
    Z = cover.views(model.prediction().scaled)[2]
    np.testing.assert_allclose(cover.distances(Z[50:51], Z[60:61]), 0, atol=1e-3)
    D = cover.distances(Z[30:], Z[30:])
    order = cover.medoids(D, np.full(170, 2.0), np.ones(170), 10)
    assert ((order >= 20) & (order < 90)).sum() <= 1


@pytest.mark.parametrize("most", [1, 7, 25])
def test_of_many_nodes_some_are_looked_at(fitted, monkeypatch, most):
    monkeypatch.setattr(cover, "MOST", most)
    table = suggest(fitted, 30)
    assert table["id"].is_unique
    assert len(table) == 30


def test_more_than_there_are(fitted):
    assert len(suggest(fitted, 1000, rule="random")) <= 270
    assert len(suggest(fitted, 1000)) == len(suggest(fitted, 1000, rule="random"))


def test_refusals(fitted):
    with pytest.raises(InputError, match="'k' must be at least 1"):
        suggest(fitted, 0)
    with pytest.raises(InputError, match="'rule' must be 'auto'"):
        suggest(fitted, 3, rule="best")
    whole = planted(0, n=60)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=2, epochs=2).fit(whole)
    with pytest.raises(InputError, match="nodes without a label to ask for"):
        suggest(model, 3)
    assert replace(whole).num_nodes == 60

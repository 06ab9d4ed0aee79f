"""Labels to ask for: the expected change by enumeration, batches that spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.doubt.suggest import COLUMNS, SPARSE, cells, expected_change, suggest
from cpgnn.errors import InputError
from toys import planted, softmax, toy

RULES = ["auto", "change", "spread", "centre", "uncertainty", "margin", "random"]


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


def test_a_batch_covers_what_no_label_does():
    """Two kinds of nodes, of one of which nobody is labelled: that one is asked most."""
    graph = planted(0, n=300)
    X = graph.features.copy()
    X[:150, 0] += 50
    labels = np.where(np.arange(300) < 30, graph.labels, -1)
    graph = graph.with_features(X).with_labels(labels, graph.class_names)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=5).fit(graph)
    asked = suggest(model, 20, rule="spread")["id"].astype(int)
    assert (asked >= 150).mean() > 0.6  # a fair sample of the pool would have 0.56


def test_dense_graphs_get_a_fair_sample(fitted):
    assert fitted.graph_.adjacency.nnz <= SPARSE * 300
    assert suggest(fitted, 9).equals(suggest(fitted, 9, rule="change"))
    graph = planted(0, n=120, degree=30)
    labels = np.where(np.arange(120) < 30, graph.labels, -1)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=5)
    model.fit(graph.with_labels(labels, graph.class_names))
    assert suggest(model, 9).equals(suggest(model, 9, rule="random"))


def test_more_than_there_are(fitted):
    assert len(suggest(fitted, 1000, rule="random")) <= 270


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

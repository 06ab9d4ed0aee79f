"""Labels to ask for: the expected change by enumeration, batches that spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.doubt.suggest import COLUMNS, expected_change, groups, suggest
from cpgnn.errors import InputError
from toys import planted, softmax, toy

RULES = ["mixed", "change", "uncertainty", "margin", "centre", "random"]


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
    assert 6 <= len(table) <= 12
    assert (table["label"] == "").all()
    again = suggest(fitted, 12, rule=rule)
    assert again.equals(table)


def test_one_node_of_each_group_is_asked(fitted):
    graph = fitted.graph_
    pool = np.flatnonzero((graph.labels < 0) & (np.diff(graph.adjacency.indptr) > 0))
    group, _ = groups(graph, pool, 10, 0)
    table = suggest(fitted, 10, rule="uncertainty")
    where = graph.node_ids.astype(str).get_indexer(table["id"])
    asked = group[np.searchsorted(pool, where)]
    assert len(set(asked)) == len(asked)


def test_more_than_there_are(fitted):
    assert len(suggest(fitted, 1000, rule="random")) <= 270


def test_refusals(fitted):
    with pytest.raises(InputError, match="'k' must be at least 1"):
        suggest(fitted, 0)
    with pytest.raises(InputError, match="'rule' must be 'change'"):
        suggest(fitted, 3, rule="best")
    whole = planted(0, n=60)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=2, epochs=2).fit(whole)
    with pytest.raises(InputError, match="nodes without a label to ask for"):
        suggest(model, 3)
    assert replace(whole).num_nodes == 60

"""Planted label errors are found, named with their neighbours, from beliefs that never saw them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier, Graph
from cpgnn.doubt.folds import out_of_fold
from cpgnn.doubt.labels import COLUMNS, but_missed, review_labels
from cpgnn.engine.text import of_a_cell
from cpgnn.errors import InputError
from toys import planted

FAST = {"pretrain_epochs": 30, "epochs": 30}


@pytest.fixture(scope="module")
def spoilt():
    """Opposites attract; features tell the classes apart; ten labels are wrong."""
    graph = planted(0, n=300, c=2, h=0.05, signal=2.0)
    wrong = np.random.default_rng(1).permutation(300)[:10]
    labels = graph.labels.copy()
    labels[wrong] = 1 - labels[wrong]
    graph = graph.with_labels(labels, graph.class_names)
    return CPGNNClassifier("mlp", 1, **FAST).fit(graph), wrong


def test_planted_errors_come_first(spoilt):
    model, wrong = spoilt
    table = review_labels(model)
    assert list(table.columns) == COLUMNS
    ids = set(model.graph_.node_ids[wrong].astype(str))
    assert table["id"][:10].isin(ids).mean() >= 0.7
    assert (table["label"] != table["suggested"]).all()
    assert table["doubt"].is_monotonic_decreasing
    np.testing.assert_allclose(table["doubt"], np.log(table["p_suggested"] / table["p_label"]))


def test_neighbours_that_contradict_are_of_the_label_itself(spoilt):
    """Where opposites attract, a neighbour with the same label contradicts it."""
    model, _ = spoilt
    graph, table = model.graph_, review_labels(model)
    assert model.compatibility_[0, 1] > 0.5
    row = table[table["against"] > 0].iloc[0]
    v = graph.positions([int(row["id"])])[0]
    near = graph.adjacency.indices[graph.adjacency.indptr[v] : graph.adjacency.indptr[v + 1]]
    same = near[graph.labels[near] == graph.labels[v]]
    assert row["against"] == len(same)
    assert set(row["who"].split("|")) <= set(graph.node_ids[same].astype(str))


def test_ids_that_hold_the_separator_are_told_apart(spoilt):
    model, _ = spoilt
    graph = model.graph_
    named = replace(graph, node_ids=pd.Index([f"n|{i}" for i in range(graph.num_nodes)]))
    table = review_labels(CPGNNClassifier("mlp", 1, **FAST).fit(named))
    row = table[table["against"] > 0].iloc[0]
    assert set(of_a_cell(row["who"])) <= set(named.node_ids)
    assert 1 <= len(of_a_cell(row["who"])) <= row["against"]


def test_a_node_without_a_class_contradicts_nobody(spoilt):
    model, _ = spoilt
    graph, cards = model.graph_, np.arange(300, 600)
    u, v = graph.adjacency.nonzero()
    once = u < v
    whole = Graph.from_edges(
        np.append(u[once], np.arange(300)),
        np.append(v[once], cards),
        num_nodes=600,
        features=np.vstack([graph.features, graph.features[::-1]]),
        labels=np.append(graph.labels, np.full(300, -1)),
    ).with_kinds(["account"] * 300 + ["card"] * 300)
    table = review_labels(CPGNNClassifier("mlp", 1, **FAST).fit(whole))
    who = set("|".join(table["who"]).split("|"))
    assert len(who) > 5
    assert not who & set(map(str, cards))


def test_a_label_does_not_speak_for_itself(spoilt):
    """The belief about a node is the same whatever its own label says."""
    model, _ = spoilt
    nodes, P = out_of_fold(model, folds=2)
    assert len(nodes) == 300
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-6)
    accuracy = (P.argmax(axis=1) == model.graph_.labels[nodes]).mean()
    assert 0.8 < accuracy < 0.98  # the wrong ones are not learned by heart


def test_two_labels_a_class_are_enough():
    graph = planted(2, n=80)
    few = np.concatenate([np.flatnonzero(graph.labels == c)[:2] for c in range(3)])
    labels = np.full(80, -1)
    labels[few] = graph.labels[few]
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=3, epochs=3)
    model.fit(graph.with_labels(labels, graph.class_names))
    nodes, P = out_of_fold(model)
    np.testing.assert_array_equal(nodes, np.sort(few))
    assert np.isfinite(P).all()
    assert len(review_labels(model)) <= 6


def test_kept_beliefs_are_used(spoilt):
    model, _ = spoilt

    class Honest:
        nodes = model.split_.train
        logits = np.eye(2)[1 - model.graph_.labels[nodes]] * 9  # the opposite of every label

    model.honest_ = Honest()
    try:
        table = review_labels(model, strength=0.0)
    finally:
        del model.honest_
    assert set(model.graph_.node_ids[Honest.nodes].astype(str)) <= set(table["id"])


def test_too_few_labels_to_hold_out_any():
    graph = planted(2, n=40)
    labels = np.full(40, -1)
    first = [int(np.flatnonzero(graph.labels == c)[0]) for c in range(3)]
    labels[first] = graph.labels[first]
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=2, epochs=2)
    model.fit(graph.with_labels(labels, graph.class_names))
    with pytest.raises(InputError, match="at least four labels of two classes"):
        review_labels(model)


def test_a_saved_model_keeps_what_it_said_out_of_fold(tmp_path):
    graph = planted(0, n=120)
    model = CPGNNClassifier(budget="fast").fit(graph)
    nodes, P = out_of_fold(model)
    model.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model", graph)
    same, Q = out_of_fold(again)
    np.testing.assert_array_equal(same, nodes)
    np.testing.assert_allclose(Q, P, atol=1e-6)
    assert review_labels(again)["id"].tolist() == review_labels(model)["id"].tolist()


def test_a_rare_class_is_not_suspected_everywhere():
    """Edges of thieves lead to others, but those of others do not therefore lead to thieves."""
    rng = np.random.default_rng(0)
    y = (np.arange(400) >= 385).astype(int)
    pairs = [rng.integers(0, 385, (1500, 2))]
    pairs += [np.stack([np.full(4, v), rng.integers(0, 385, 4)], axis=1) for v in range(385, 400)]
    ends = np.unique(np.sort(np.concatenate(pairs)), axis=0)
    ends = ends[ends[:, 0] < ends[:, 1]]
    X = rng.normal(size=(400, 3)) + 3 * np.eye(3)[y]
    graph = Graph.from_edges(*ends.T, features=X.astype(np.float32), labels=y, num_nodes=400)
    model = CPGNNClassifier("mlp", 1, **FAST).fit(graph)
    model.compatibility_ = np.eye(2)[::-1]  # doubly stochastic: what thieves do, all others must
    nodes = np.arange(400)
    beliefs = np.where(y == 1, 0.6, 0.02)[:, None]
    table = review_labels(model, beliefs=(nodes, np.hstack([1 - beliefs, beliefs])))
    assert len(table) < 20


def test_classes_that_the_model_misses_are_not_listed(spoilt):
    """Where a third of a class's labels is contradicted, the model is doubted, not the labels."""
    model, _ = spoilt
    graph, table = model.graph_, review_labels(model)
    some, none = but_missed(table, graph)
    assert (none, len(some)) == ("", len(table))
    rare, size = str(graph.class_names[0]), int((graph.labels == 0).sum())
    doubted = pd.DataFrame(
        {"label": [rare] * (size // 3 + 1) + ["1"], "rank": range(size // 3 + 2)}
    )
    left, words = but_missed(doubted, graph)
    assert left["label"].tolist() == ["1"]
    assert f"“{rare}” ({size // 3 + 1} of {size})" in words

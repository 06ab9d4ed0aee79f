"""Who connects with whom, relation by relation."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.evaluation.intervals import edge_frequency_interval
from cpgnn.evaluation.relation_frequencies import relation_frequencies, relation_table
from cpgnn.graph import Graph
from cpgnn.homophily import relation_matrices
from cpgnn.splits import Split, stratified_split
from cpgnn.synthetic.generate import uniform_compatibility
from cpgnn.synthetic.typed import Drawn, generate_typed_graph, moved

H = moved(uniform_compatibility(3, 0.8), 1, directed=True)
TYPES = {"pays": Drawn(H, 5, directed=True), "likes": Drawn(uniform_compatibility(3, 0.7), 5)}


def test_with_all_labels_it_is_what_can_be_counted():
    graph = generate_typed_graph([40] * 3, TYPES)
    everyone = Split(np.arange(60), np.arange(60, 120), np.array([], dtype=int))
    found = relation_frequencies(graph, everyone.train, everyone.val, np.eye(3)[graph.labels])
    counted = relation_matrices(graph)
    assert set(found) == {"pays (out)", "pays (in)", "likes"}
    for name, frequency in found.items():
        np.testing.assert_allclose(frequency.share, counted[name], atol=1e-9)


@pytest.mark.parametrize("cards", [0, 400])
def test_nodes_of_other_kinds_count_for_no_class(cards):
    """However many cards there are, they make no class more frequent among the unlabelled."""
    graph = generate_typed_graph([100] * 3, TYPES)
    split = stratified_split(graph.labels, validation=0.3, test=0.5)
    u, v = graph.adjacency.nonzero()
    m = np.arange(cards)
    y = np.append(graph.labels, np.full(cards, -1))
    whole = Graph.from_edges(
        np.append(u[u < v], m % 300),
        np.append(v[u < v], m + 300),
        num_nodes=300 + cards,
        labels=y,
        relation=np.repeat(["pays", "uses"], [(u < v).sum(), cards]),
    ).with_kinds(["account"] * 300 + ["card"] * cards)
    B = np.vstack([np.eye(3)[graph.labels], np.full((cards, 3), 1 / 3)])
    found = relation_frequencies(whole, split.train, split.val, B)
    alone = edge_frequency_interval(
        graph.adjacency, graph.labels, split.train, split.val, np.eye(3)[graph.labels]
    )
    np.testing.assert_allclose(found["pays"].share, alone.share)
    np.testing.assert_allclose(found["pays"].low, alone.low)


def test_intervals_cover_the_truth():
    hits = []
    for seed in range(6):
        graph = generate_typed_graph([300] * 3, TYPES, seed=seed)
        split = stratified_split(graph.labels, validation=0.3, test=0.7, seed=seed)
        rng = np.random.default_rng(seed)
        guess = np.where(rng.random(900) < 0.9, graph.labels, rng.integers(0, 3, 900))
        B = 0.9 * np.eye(3)[guess] + 0.1 / 3
        truth = relation_matrices(graph)
        for name, found in relation_frequencies(graph, split.train, split.val, B).items():
            hits.append((found.low <= truth[name]) & (truth[name] <= found.high))
            assert np.abs(found.share - truth[name]).mean() < 0.05
    assert 0.8 <= np.mean(hits) <= 1.0


def test_a_table_for_all_the_weightiest_first():
    graph = generate_typed_graph([40] * 3, TYPES)
    split = stratified_split(graph.labels, test=0.2)
    found = relation_frequencies(graph, split.train, split.val, np.eye(3)[graph.labels])
    table = relation_table(found, {"likes": 0.3, "pays (in)": 0.1}, ["a", "b", "c"])
    assert table["relation"].drop_duplicates().tolist() == ["likes", "pays (in)", "pays (out)"]
    assert len(table) == 27
    assert table["evidence_share"].iloc[0] == 0.3


def test_one_relation_has_no_table():
    graph = Graph.from_edges([0, 1], [1, 2], labels=[0, 1, 0])
    split = Split(np.array([0, 1]), np.array([2]), np.array([], dtype=int))
    assert relation_frequencies(graph, split.train, split.val, np.full((3, 2), 0.5)) == {}
    assert relation_table({}, {}, ["a"]).empty

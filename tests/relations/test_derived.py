"""Relations that a graph has beside its types of edges, against dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.engine.mixed import Mixed
from cpgnn.graph import Graph
from cpgnn.relations.derived import (
    counted,
    heard_relations,
    joining,
    near,
    relation_sets,
    shared,
    with_columns_of_others,
)

pytestmark = pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")


def bipartite(seed: int, directed: bool, weighted: bool) -> tuple[Graph, np.ndarray]:
    """Accounts 0 … 4, devices 5 … 7; M [5, 3]."""
    rng = np.random.default_rng(seed)
    M = np.where(rng.random((5, 3)) < 0.6, rng.integers(1, 4, (5, 3)) if weighted else 1, 0)
    u, v = np.nonzero(M)
    flip = rng.random(len(u)) < 0.5
    graph = Graph.from_edges(
        np.where(flip, v + 5, u),
        np.where(flip, u, v + 5),
        weights=M[u, v] if weighted else None,
        num_nodes=8,
        labels=[0, 1, 0, -1, -1, -1, -1, -1],
        relation=["uses"] * len(u),
        directed=directed,
    )
    return graph.with_kinds(["account"] * 5 + ["device"] * 3), M


def test_who_is_joined_to_whom():
    """Edges between accounts as they weigh; where there are none, who shares a device."""
    kinds = ["account"] * 3 + ["device"]
    ends = {"num_nodes": 4, "labels": [0, 1, -1, -1]}
    paid = Graph.from_edges([0, 0, 1, 2], [1, 3, 3, 3], weights=[5.0, 1, 1, 1], **ends)
    assert joining(paid) is paid.adjacency
    assert joining(paid.with_kinds(kinds)).todok().items() == {(0, 1): 5.0, (1, 0): 5.0}.items()
    used = Graph.from_edges([0, 1], [3, 3], **ends).with_kinds(kinds)
    np.testing.assert_array_equal(joining(used).toarray(), near(used).toarray())
    assert joining(used)[0, 1] == 1
    assert counted(paid.with_kinds(kinds)) == "edge weight"
    assert counted(used) == "shared-node links"
    weighed = Graph.from_edges([0, 1], [3, 3], weights=[5.0, 2], **ends)
    assert counted(weighed) == "edge weight"
    assert counted(weighed.with_kinds(kinds)) == "shared-node links"


@given(st.integers(0, 1000), st.booleans(), st.booleans())
def test_who_shares_a_device(seed, directed, weighted):
    graph, M = bipartite(seed, directed, weighted)
    relation = shared(graph.edge_types[0], graph.predicted) if graph.edge_types else None
    with np.errstate(divide="ignore", invalid="ignore"):
        W = M @ np.diag(np.nan_to_num(1 / M.sum(axis=0), posinf=0)) @ M.T
    np.fill_diagonal(W, 0)
    if relation is None:
        assert not M.any()
        return
    expected = np.zeros((8, 8))
    expected[:5, :5] = W
    np.testing.assert_allclose(relation.matrix.toarray(), expected, rtol=1e-5)
    assert relation.name == "uses (shared)"


def test_too_many_pairs_are_left_out():
    graph, _ = bipartite(0, False, False)
    assert shared(graph.edge_types[0], graph.predicted, max_entries=3) is None


def test_sets_of_relations():
    plain = Graph.from_edges([0, 1, 2], [1, 2, 3])
    assert relation_sets(plain, heard_relations(plain)) == [("edges",), ("edges", "two hops")]
    directed = Graph.from_edges([0, 1, 2], [1, 2, 3], directed=True)
    assert relation_sets(directed, heard_relations(directed)) == [
        ("edges",),
        ("out", "in"),
        ("edges", "two hops"),
        ("out", "in", "two hops"),
    ]
    kinds, _ = bipartite(0, False, False)
    assert relation_sets(kinds, heard_relations(kinds)) == [
        ("edges",),
        ("uses",),
        ("edges", "uses (shared)"),
        ("uses", "uses (shared)"),
        ("uses (shared)",),
    ]


def test_columns_of_other_kinds_are_read_through_the_edges():
    """Accounts 0, 1, 2; devices 3, 4, of which 4 has no year."""
    X = np.array([[30, 0, 0], [40, 0, 0], [50, 0, 0], [0, 2001, 5], [0, 0, 7]], dtype=np.float32)
    gaps = np.array([[0, 1, 1], [0, 1, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]], dtype=bool)
    graph = Graph.from_edges([0, 0, 1], [3, 4, 4], features=X, labels=[0, 1, -1, -1, -1])
    graph = replace(graph.with_kinds(list("aaadd")), mixed=Mixed.of(gaps))
    made = with_columns_of_others(graph)
    assert made.features[:3].tolist() == [[30, 2001, 6], [40, 0, 7], [50, 0, 0]]
    assert made.mixed.gaps.toarray()[:3].tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    np.testing.assert_array_equal(made.features[3:], X[3:])
    assert with_columns_of_others(made) is made
    cards = Graph.from_edges([0, 0], [3, 4], features=X * [[1], [1], [1], [1], [0]])
    cards = cards.with_labels([0, 1, -1, -1, -1]).with_kinds(list("aaadc"), described=["a", "d"])
    cards = replace(cards, mixed=Mixed.of(gaps * [[1], [1], [1], [1], [0]]))
    assert with_columns_of_others(cards).features[0].tolist() == [30, 2001, 5], "cards are no zeros"
    plain = Graph.from_edges([0], [1], features=X[:2])
    assert with_columns_of_others(plain) is plain

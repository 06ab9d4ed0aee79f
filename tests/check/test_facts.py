"""The numbers of `cpgnn stats` against NumPy and the library's own definitions."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import Graph
from cpgnn.check.facts import Stats
from cpgnn.homophily import compatibility_matrix, homophily_ratio
from toys import toy


@pytest.mark.parametrize("seed", range(5))
def test_stats_of_a_graph(seed):
    graph = toy(seed, n=12, weighted=bool(seed % 2), isolated=2).graph
    stats, degrees = Stats.of(graph), np.diff(graph.adjacency.indptr)
    assert stats.nodes == 12
    assert stats.edges == graph.num_edges
    assert stats.isolated == (degrees == 0).sum()
    assert stats.labelled == (graph.labels >= 0).sum()
    for q in (0.0, 0.25, 0.5, 0.9, 1.0):
        assert stats.degree_quantile(q) == pytest.approx(np.quantile(degrees, q))
        connected = degrees[degrees > 0]
        assert stats.degree_quantile(q, isolated=False) == pytest.approx(np.quantile(connected, q))
    assert stats.homophily_ratio() == pytest.approx(homophily_ratio(graph))
    np.testing.assert_allclose(stats.compatibility_matrix(), compatibility_matrix(graph))


def test_stats_tell_every_relation_by_which_labels_meet():
    """a pays b, b pays c; a and c use device d. Classes: a 0, b 1, c 0."""
    graph = Graph.from_edges(
        [0, 1, 0, 2],
        [1, 2, 3, 3],
        num_nodes=4,
        labels=[0, 1, 0, -1],
        relation=["pays", "pays", "uses", "uses"],
        directed=["pays"],
    ).with_kinds(["account", "account", "account", "device"])
    found = Stats.of(graph).relations
    assert list(found) == ["pays (out)", "pays (in)", "uses (shared)"]
    assert found["pays (out)"].tolist() == [[0, 1], [1, 0]]
    assert found["uses (shared)"][0].tolist() == [1, 0]
    assert np.isnan(found["uses (shared)"][1]).all()
    assert Stats.of(Graph.from_edges([0], [1], num_nodes=2, labels=[0, 1])).relations == {}

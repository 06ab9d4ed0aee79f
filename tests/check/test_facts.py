"""The numbers of `cpgnn stats` against NumPy and the library's own definitions."""

from __future__ import annotations

import numpy as np
import pytest

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

"""Part of a graph is the graph that its nodes make by themselves."""

from __future__ import annotations

import numpy as np

from cpgnn.evaluation.part import part_of, without_edges
from toys import planted


def test_a_part_has_the_rows_of_its_nodes():
    graph = planted(n=40)
    nodes = np.array([3, 7, 30])
    part = part_of(graph, nodes, lambda A: A[nodes][:, nodes])
    assert (part.node_ids == graph.node_ids[nodes]).all()
    assert (part.labels == graph.labels[nodes]).all()
    assert (part.features == graph.features[nodes]).all()
    dense = graph.adjacency.toarray()
    assert (part.adjacency.toarray() == dense[np.ix_(nodes, nodes)]).all()


def test_without_edges_nobody_is_left_who_was_not_named():
    graph = planted(n=40)
    alone = without_edges(graph, np.array([1, 2]))
    assert (alone.num_nodes, alone.num_edges) == (2, 0)
    assert (alone.features == graph.features[[1, 2]]).all()

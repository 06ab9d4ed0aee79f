"""Part of a graph: some of its nodes, and the edges between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.mixed import Mixed
from cpgnn.graph import Graph


def part_of(
    graph: Graph, nodes: np.ndarray, edges: Callable[[sp.csr_array], sp.csr_array]
) -> Graph:
    """These nodes alone, in this order. `edges` says what is left of a matrix [n, n] of the graph,
    as one between them."""
    X, kinds, mixed = graph.features, graph.kinds, graph.mixed
    return replace(
        graph,
        adjacency=edges(graph.adjacency),
        features=None if X is None else X[nodes],
        labels=graph.labels[nodes],
        node_ids=graph.node_ids[nodes],
        self_loops=graph.self_loops[:0],
        notices=(),
        edge_types=tuple(replace(kind, matrix=edges(kind.matrix)) for kind in graph.edge_types),
        kinds=None if kinds is None else replace(kinds, codes=kinds.codes[nodes]),
        mixed=None if mixed is None else Mixed(mixed.gaps[nodes], mixed.categories),
    )


def without_edges(graph: Graph, nodes: np.ndarray | None = None) -> Graph:
    """The same nodes, or only these of them, with features and labels; none has a neighbour."""
    n = graph.num_nodes if nodes is None else len(nodes)
    nothing = sp.csr_array((n, n), dtype=graph.adjacency.dtype)
    if nodes is not None and n < graph.num_nodes:
        return part_of(replace(graph, edge_types=()), nodes, lambda _: nothing)
    loops = graph.self_loops[:0]
    return replace(graph, adjacency=nothing, edge_types=(), self_loops=loops, notices=())

"""How alike connected nodes are: the homophily ratio h and the compatibility matrix H.

Both are taken over the edges whose two ends are labelled. By default self-loops do not count;
`self_loops=True` counts each one that the graph set aside once, like an edge.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cpgnn.graph import Graph


def class_edge_counts(graph: Graph, *, self_loops: bool = False) -> np.ndarray:
    """YᵀAY, float64 [c, c]: weight of the edges from class i to class j, seen from both ends."""
    Y = one_hot(graph.labels, graph.num_classes)
    C = (Y.T @ (graph.adjacency.astype(np.float64) @ Y)).toarray()
    if self_loops:
        C += np.diag(2.0 * _loops_per_class(graph))
    return C


def homophily_ratio(graph: Graph, *, self_loops: bool = False) -> float:
    """h = Σ_i C_ii / Σ_ij C_ij: the share of edges that join nodes of one class (Definition 1).

    Each undirected edge, and each self-loop if asked for, counts once. NaN without any evidence.
    """
    C = class_edge_counts(graph, self_loops=self_loops)
    total = C.sum()
    return float(np.trace(C) / total) if total else float("nan")


def compatibility_matrix(graph: Graph, *, self_loops: bool = False) -> np.ndarray:
    """H = (YᵀAY) ⊘ (YᵀAE), float64 [c, c] (Definition 2).

    H_ij is the share of the edges of class i that lead to class j. A class without such an edge
    has no evidence: its row is NaN.
    """
    C = class_edge_counts(graph)
    if self_loops:  # a self-loop is one entry of its row of A
        C += np.diag(_loops_per_class(graph))
    return row_normalized(C)


def row_normalized(C: np.ndarray) -> np.ndarray:
    """Rows scaled to sum 1; rows that sum to 0 become NaN."""
    total = C.sum(axis=1, keepdims=True)
    return np.divide(C, total, out=np.full(C.shape, np.nan), where=total > 0)


def one_hot(labels: np.ndarray, num_classes: int) -> sp.csr_array:
    """Y, sparse float64 [n, c]; rows of unknown labels are zero."""
    known = np.flatnonzero(labels >= 0)
    ones = np.ones(len(known))
    return sp.coo_array((ones, (known, labels[known])), shape=(len(labels), num_classes)).tocsr()


def _loops_per_class(graph: Graph) -> np.ndarray:
    labels = graph.labels[graph.self_loops]
    return np.bincount(labels[labels >= 0], minlength=graph.num_classes).astype(np.float64)

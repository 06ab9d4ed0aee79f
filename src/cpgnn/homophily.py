"""How alike connected nodes are: the homophily ratio h and the compatibility matrix H.

Both are taken over the edges whose two ends are labelled. By default self-loops do not count;
`self_loops=True` counts each one that the graph set aside once, like an edge.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.arrays import class_sizes, pattern, same_class_share
from cpgnn.graph import Graph


def class_edge_counts(graph: Graph, *, by_weight: bool = True) -> np.ndarray:
    """YᵀAY, float64 [c, c]: weight of the edges from class i to class j, seen from both ends.

    Not by weight, every edge counts once, whatever its weight.
    """
    return sent(_counted(graph, by_weight), graph.labels, graph.num_classes)


def _counted(graph: Graph, by_weight: bool) -> sp.csr_array:
    """A, or a 1 for every edge."""
    return graph.adjacency if by_weight else pattern(graph.adjacency)


def homophily_ratio(graph: Graph, *, self_loops: bool = False, by_weight: bool = True) -> float:
    """h = Σ_i C_ii / Σ_ij C_ij: the share of edges that join nodes of one class (Definition 1).

    Each undirected edge, and each self-loop if asked for, counts once; on a weighted graph edges
    count by their weight, unless `by_weight` is False. NaN without any evidence.
    """
    loops = int(_loops_per_class(graph).sum()) if self_loops else 0
    return same_class_share(graph.adjacency, graph.labels, by_weight=by_weight, loops=loops)


def compatibility_matrix(graph: Graph, *, self_loops: bool = False) -> np.ndarray:
    """H = (YᵀAY) ⊘ (YᵀAE), float64 [c, c] (Definition 2).

    H_ij is the share of the edges of class i that lead to class j. A class without such an edge
    has no evidence: its row is NaN.
    """
    C = class_edge_counts(graph)
    if self_loops:  # a self-loop is one entry of its row of A
        C += np.diag(_loops_per_class(graph))
    return row_normalized(C)


def sent(A: sp.csr_array, labels: np.ndarray, num_classes: int) -> np.ndarray:
    """YᵀAY, float64 [c, c], of any matrix: weight of the edges that class i sends to class j."""
    Y, known = one_hot(labels, num_classes), labels >= 0  # no other row of A is needed
    return np.asarray((Y[known].T @ (A[known].astype(np.float64) @ Y)).toarray())


def relation_matrices(graph: Graph) -> dict[str, np.ndarray]:
    """H_r for every relation: of what class i hears (or sends), the share that is class j.

    Rows sum to 1: what payers send is not what payees get, so that no H_r of a directed relation is
    symmetric. A class without such an edge has no evidence: its row is NaN.
    """
    c = graph.num_classes
    return {r.name: row_normalized(sent(r.matrix, graph.labels, c)) for r in graph.relations}


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
    return class_sizes(graph.labels[graph.self_loops], graph.num_classes).astype(np.float64)


def node_homophily(graph: Graph, *, by_weight: bool = True) -> float:
    """Mean over labelled nodes of the share of their labelled neighbours that have their class.

    Shares are by weight unless `by_weight` is False; nodes without a labelled neighbour do not
    count. NaN if there are no others.
    """
    Y = one_hot(graph.labels, graph.num_classes)
    N = _counted(graph, by_weight) @ Y
    total = np.asarray(N.sum(axis=1)).ravel()
    same = np.asarray(N.multiply(Y).sum(axis=1)).ravel()
    counted = (graph.labels >= 0) & (total > 0)
    return float((same[counted] / total[counted]).mean()) if counted.any() else float("nan")


def adjusted_homophily(graph: Graph, *, by_weight: bool = True) -> float:
    """(h - Σ p_k²) / (1 - Σ p_k²), p_k the share of edge ends in class k.

    0 if edges ignore the classes, 1 if they always stay within one. Comparable between graphs with
    different numbers and sizes of classes. NaN if all edge ends are in one class.
    """
    C = class_edge_counts(graph, by_weight=by_weight)
    if not C.sum():
        return float("nan")
    p = C.sum(axis=1) / C.sum()
    by_chance = float((p**2).sum())
    h = float(np.trace(C) / C.sum())
    return (h - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def label_informativeness(graph: Graph, *, by_weight: bool = True) -> float:
    """I(y_u; y_v) / H(y_u) over the ends u, v of a random edge: how much a neighbour's class tells.

    0: nothing. 1: the neighbour's class determines the node's, the same or another. NaN if all edge
    ends are in one class.
    """
    C = class_edge_counts(graph, by_weight=by_weight)
    if not C.sum():
        return float("nan")
    P = C / C.sum()
    single = _entropy(P.sum(axis=1))
    return (2 * single - _entropy(P.ravel())) / single if single > 0 else float("nan")


def _entropy(p: np.ndarray) -> float:
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())

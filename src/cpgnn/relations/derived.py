"""Relations that a graph has beside its types of edges, and the sets of them worth trying.

merged    all edges as one relation, whatever their type and direction
two hops  nodes at distance exactly two, in the merged graph
shared    of a type that joins predicted nodes with another kind (accounts and devices): nodes
          that share a device, M D^-1 Mᵀ without its diagonal, so that a device that everybody
          uses says little
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.arrays import pattern
from cpgnn.engine.formatting import Counted
from cpgnn.graph import Graph
from cpgnn.relations.edge_types import EdgeType
from cpgnn.relations.relation import (
    EDGES,
    MAX_ENTRIES,
    SHARED,
    TWO_HOPS,
    Relation,
    edges,
    two_hops,
)

MAX_CELLS = 1 << 26
"""Cells of a sparse table up to which columns of other kinds are read: they fill it."""


def heard_relations(graph: Graph) -> dict[str, Relation]:
    """Everything a node may hear, by name; what is not affordable is left out."""
    found: list[Relation | None] = [*graph.relations]
    if graph.edge_types:
        found.append(edges(graph.adjacency))
    if graph.kinds is not None and not graph.predicted.all():
        found += [shared(kind, graph.predicted) for kind in graph.types]
    else:
        found.append(two_hops(graph.adjacency))
    return {relation.name: relation for relation in found if relation is not None}


def weighed_near(graph: Graph) -> sp.csr_array | None:
    """Who is near, and how much: edges among predicted nodes and what they share, added up.

    Who shares a director of three films is nearer than who shares an actor of sixty. None where all
    edges are near: with one kind of nodes, and where what is shared is not affordable.
    """
    if graph.kinds is None or graph.predicted.all():
        return None
    found = [one for one in (shared(kind, graph.predicted) for kind in graph.types) if one]
    if not found:
        return None
    inside = sp.diags_array(graph.predicted.astype(np.float32))
    total = sp.csr_array(inside @ graph.adjacency @ inside)
    for relation in found:
        total = total + relation.matrix
    W = sp.csr_array(total, dtype=np.float32)
    W.eliminate_zeros()
    W.sort_indices()
    return W


def near(graph: Graph) -> sp.csr_array:
    """A [n, n] as priors read it: who is a neighbour, whatever the type.

    With several kinds, predicted nodes are neighbours if an edge joins them or they share a node of
    another kind; other kinds have no neighbours. All edges where that is not affordable.
    """
    W = weighed_near(graph)
    return graph.adjacency if W is None else pattern(W)


def joining(graph: Graph) -> sp.csr_array:
    """A [n, n] of the edges between predicted nodes; who is `near` where there are none."""
    if graph.kinds is None or graph.predicted.all():
        return graph.adjacency
    inside = sp.diags_array(graph.predicted.astype(np.float32))
    A = sp.csr_array(inside @ graph.adjacency @ inside, dtype=np.float32)
    A.eliminate_zeros()
    return A if A.nnz else near(graph)


def counted(graph: Graph) -> Counted:
    """What `joining` counts: edges or their weight; pairs that share a node, whatever the weight,
    where no edge joins predicted nodes."""
    asked = graph.predicted
    if graph.kinds is not None and not asked.all() and not graph.adjacency[asked][:, asked].nnz:
        return "shared-node links"
    return "edge weight" if graph.is_weighted else "edges"


def entries_leading_on(graph: Graph) -> int:
    """How many paths lead from predicted nodes, by way of other kinds, to other kinds."""
    if graph.predicted.all():
        return 0
    inside = graph.predicted.astype(np.int64)
    A = pattern(graph.adjacency).astype(np.int64)
    return int((A @ inside * (A @ (1 - inside)))[~graph.predicted].sum())


def leading_on(P: sp.csr_array, predicted: np.ndarray) -> sp.csr_array:
    """P + P O P O, O: only columns of nodes that are not predicted; rows of predicted nodes."""
    inside = sp.diags_array(predicted.astype(np.float32))
    others = sp.diags_array((~predicted).astype(np.float32))
    first = sp.csr_array(inside @ P)
    on = sp.csr_array(first @ others) @ sp.csr_array(P @ others)
    total = sp.csr_array(first + on, dtype=np.float32)
    total.eliminate_zeros()
    total.sort_indices()
    return total


def with_columns_of_others(graph: Graph) -> Graph:
    """The graph in which predicted nodes have the columns that only other kinds have: the mean over
    their neighbours that have a value: no kind without features, whose rows are zeros. A node
    without such a neighbour has a gap, as before.
    """
    if graph.kinds is None or graph.mixed is None or graph.features is None:
        return graph
    X: Any = graph.features
    if sp.issparse(X):
        if np.prod(X.shape, dtype=float) > MAX_CELLS:
            return graph
        X = X.toarray()
    there = ~graph.mixed.gaps.toarray() & graph.kinds.has_features[:, None]
    for category in graph.mixed.categories:  # without a 1, it is empty
        there[:, category.columns] &= (X[:, category.columns] > 0).any(axis=1)[:, None]
    foreign = np.flatnonzero(there.any(axis=0) & ~there[graph.predicted].any(axis=0))
    if not len(foreign):
        return graph
    A = graph.adjacency[graph.predicted]
    values, known = X[:, foreign], there[:, foreign]
    above, below = A @ np.where(known, values, 0), A @ known.astype(np.float32)
    X, gaps = X.copy(), graph.mixed.gaps.tolil()
    rows = np.flatnonzero(graph.predicted)[:, None]
    X[rows, foreign] = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    gaps[rows, foreign] = below == 0
    mixed = replace(graph.mixed, gaps=sp.csr_array(gaps, dtype=bool))
    return replace(graph, features=X, mixed=mixed)


def relation_sets(graph: Graph, relations: dict[str, Relation]) -> list[tuple[str, ...]]:
    """Names of relations to hear together: merged or apart, with and without those two hops off."""
    own = tuple(relation.name for relation in graph.relations)
    far = tuple(name for name in relations if name not in own and name != EDGES)
    near = [(EDGES,), own] if graph.edge_types else [own]
    sets = [*near, *((*names, *far) for names in near if far)]
    if graph.kinds is not None and far:
        sets.append(far)
    return list(dict.fromkeys(sets))


def among_predicted(graph: Graph, relations: dict[str, Relation]) -> list[str]:
    """The relations by which predicted nodes hear predicted nodes only; not the merged one."""
    others = ~graph.predicted
    merged = EDGES if graph.edge_types else ""
    names = [name for name in relations if name != merged]
    if not others.any():
        return names
    return [name for name in names if not relations[name].matrix[graph.predicted][:, others].nnz]


def is_far(relation: str) -> bool:
    """Whether a relation leads further than an edge: to nodes two hops away."""
    return relation == TWO_HOPS or is_shared(relation)


def is_shared(relation: str) -> bool:
    """Whether a relation leads to nodes that share a node of another kind."""
    return relation.endswith(SHARED)


def shared(
    kind: EdgeType, predicted: np.ndarray, max_entries: int = MAX_ENTRIES
) -> Relation | None:
    """Predicted nodes that share a node of another kind; None without any, or if they are too many.

    W = M D^-1 Mᵀ, M [n, n] the edges between predicted nodes (rows) and others (columns) in either
    direction, D the weight that each of the others has in M.
    """
    A = sp.coo_array(kind.matrix)
    u, v = A.coords
    out, back = predicted[u] & ~predicted[v], ~predicted[u] & predicted[v]
    rows, columns = np.concatenate([u[out], v[back]]), np.concatenate([v[out], u[back]])
    if kind.directed:
        values = np.concatenate([A.data[out], A.data[back]])
    else:  # both directions are there
        rows, columns, values = u[out], v[out], A.data[out]
    counts = np.bincount(columns, minlength=len(predicted)).astype(np.float64)
    if not len(rows) or (counts**2).sum() > max_entries:
        return None
    M = sp.csr_array((values, (rows, columns)), shape=kind.matrix.shape, dtype=np.float32)
    degree = np.asarray(M.sum(axis=0, dtype=np.float64)).ravel()
    scale = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    W = sp.csr_array(M @ sp.csr_array(sp.diags_array(scale.astype(np.float32)) @ M.T))
    W.setdiag(0)
    W.eliminate_zeros()
    W.sort_indices()
    return Relation(f"{kind.name}{SHARED}", sp.csr_array(W, dtype=np.float32))

"""What every relation of a graph tells about the classes: types, directions, shared nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from cpgnn.engine.arrays import pattern
from cpgnn.graph import Graph
from cpgnn.homophily import sent
from cpgnn.relations.derived import heard_relations

SURE = 0.01
"""Below this probability of chance a relation tells something."""
FEWEST = 5
"""Edges between labelled nodes without which nothing can be told."""


@dataclass(frozen=True)
class RelationWorth:
    """How the classes at the two ends of a relation go together, over labelled ends."""

    name: str
    edges: int
    """Those with two labelled ends, each once."""
    within: float
    """Share of these within a class; NaN without any."""
    informativeness: float
    """I(y_v; y_u) / H(y_v), less what chance would show; from 0 to 1."""
    tells: bool | None
    """Whether that is more than chance; None if there are too few to say."""


def relation_worths(graph: Graph) -> tuple[RelationWorth, ...]:
    """The worth of every relation, the most informative first; none for a graph with one relation.

    Every edge counts once, whatever its weight.
    """
    if not graph.edge_types and graph.kinds is None:
        return ()
    relations = heard_relations(graph)
    merged = "edges" if graph.edge_types else ""
    one_way = {r.name for kind in graph.edge_types if kind.directed for r in kind.relations()}
    found = []
    for name, relation in relations.items():
        if name == merged:
            continue
        C = sent(pattern(relation.matrix), graph.labels, graph.num_classes)
        found.append(_worth(name, C, mutual=name not in one_way))
    return tuple(sorted(found, key=lambda one: -np.nan_to_num(one.informativeness, nan=-1)))


def _worth(name: str, C: np.ndarray, *, mutual: bool) -> RelationWorth:
    """C [c, c]: edges from class i to class j; if `mutual`, each is counted from both its ends.

    2 N I(y_v; y_u) is χ² if the classes of N edges are independent, of (c − 1)² degrees of freedom,
    or c (c − 1) / 2 where C is symmetric (as genotypes whose alleles are independent).
    """
    N = int(C.sum()) // (2 if mutual else 1)
    if N < FEWEST:
        return RelationWorth(name, N, np.nan, np.nan, None)
    P = C / C.sum()
    rows, columns = P.sum(axis=1), P.sum(axis=0)
    expected = np.outer(rows, columns)
    seen = P > 0
    shared = float((P[seen] * np.log(P[seen] / expected[seen])).sum())
    r, c = int((rows > 0).sum()), int((columns > 0).sum())
    free = c * (c - 1) // 2 if mutual else (r - 1) * (c - 1)
    entropy = float(-(rows[rows > 0] * np.log(rows[rows > 0])).sum())
    beyond = max(shared - free / (2 * N), 0.0)
    tells = bool(free and chi2.sf(2 * N * shared, free) < SURE)
    share = beyond / entropy if entropy > 0 else np.nan
    return RelationWorth(name, N, float(np.trace(P)), share, tells)

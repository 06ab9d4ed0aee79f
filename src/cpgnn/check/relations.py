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
    """Whom labelled nodes hear, as far as it is labelled too."""
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
    found = []
    for name, relation in relations.items():
        if name == merged:
            continue
        C = sent(pattern(relation.matrix), graph.labels, graph.num_classes)
        found.append(_worth(name, C))
    return tuple(sorted(found, key=lambda one: -np.nan_to_num(one.informativeness, nan=-1)))


def _worth(name: str, C: np.ndarray) -> RelationWorth:
    """C [c, c]: edges from class i to class j."""
    N = int(C.sum())
    if N < FEWEST:
        return RelationWorth(name, N, np.nan, np.nan, None)
    P = C / N
    rows, columns = P.sum(axis=1), P.sum(axis=0)
    expected = np.outer(rows, columns)
    seen = P > 0
    mutual = float((P[seen] * np.log(P[seen] / expected[seen])).sum())
    free = max(int((rows > 0).sum() - 1) * int((columns > 0).sum() - 1), 0)
    entropy = float(-(rows[rows > 0] * np.log(rows[rows > 0])).sum())
    beyond = max(mutual - free / (2 * N), 0.0)
    tells = bool(free and chi2.sf(2 * N * mutual, free) < SURE)
    share = beyond / entropy if entropy > 0 else np.nan
    return RelationWorth(name, N, float(np.trace(C) / N), share, tells)

"""How often the edges of a class lead to each class, relation by relation, with intervals.

Rows sum to 1 and say what a class sends ("of the payments that fraudsters send, 61 % go to mules"),
or, by the relation `in`, whom it hears. They are row-stochastic, not doubly: what a class sends is
not what it gets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cpgnn.evaluation.intervals import CONFIDENCE, EdgeFrequency, edge_frequency_interval
from cpgnn.relations.derived import heard_relations
from cpgnn.relations.relation import EDGES, TWO_HOPS

if TYPE_CHECKING:
    from cpgnn.graph import Graph

COLUMNS = ("relation", "evidence_share", "class", "leads_to", "share", "low", "high", "known_edges")


def relation_frequencies(
    graph: Graph,
    train: np.ndarray,
    val: np.ndarray,
    B: np.ndarray,
    *,
    confidence: float = CONFIDENCE,
) -> dict[str, EdgeFrequency]:
    """`edge_frequency_interval` of every relation; none for a graph with only one."""
    if not graph.edge_types and graph.kinds is None:
        return {}
    merged = {EDGES, TWO_HOPS} if graph.edge_types else {TWO_HOPS}
    one_way = {r.name for kind in graph.edge_types if kind.directed for r in kind.relations()}
    return {
        name: edge_frequency_interval(
            relation.matrix,
            graph.labels,
            train,
            val,
            B,
            directed=name in one_way,
            asked=graph.predicted,
            confidence=confidence,
        )
        for name, relation in heard_relations(graph).items()
        if name not in merged and relation.matrix[graph.predicted][:, graph.predicted].nnz
    }


def strongest_first(
    found: dict[str, EdgeFrequency], evidence: dict[str, float]
) -> list[tuple[str, EdgeFrequency]]:
    """By the share of the evidence that each relation carries in the model."""
    return sorted(found.items(), key=lambda item: -evidence.get(item[0], 0.0))


def relation_table(
    found: dict[str, EdgeFrequency], evidence: dict[str, float], class_names: list[str]
) -> pd.DataFrame:
    """One row per relation and pair of classes; `evidence_share`: what the model hears over it."""
    parts = []
    for name, frequency in strongest_first(found, evidence):
        part = frequency.table(class_names)
        part.insert(0, "evidence_share", evidence.get(name, 0.0))
        part.insert(0, "relation", name)
        parts.append(part[list(COLUMNS)])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COLUMNS))

"""Weights that span orders of magnitude, and what else could be done with them.

An amount is not an importance: used raw, a few large payments drown out all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from cpgnn.graph import Graph

WIDE = 100.0
"""From this ratio of a large weight (99 of 100 are smaller) to a small one (1 of 100) on, weights
are worth a question."""


def weight_range(weights: np.ndarray) -> tuple[float, float]:
    """The 1 % and the 99 % quantile of the weights that are not 0; (1, 1) without any."""
    positive = weights[weights > 0]
    if not len(positive):
        return 1.0, 1.0
    low, high = np.quantile(positive, [0.01, 0.99])
    return float(low), float(high)


def is_wide(weights: np.ndarray) -> bool:
    low, high = weight_range(weights)
    return high >= WIDE * low


@dataclass(frozen=True)
class Weights:
    """What a model makes of the weights of edges: w as it is, log(1 + w / unit), or 1."""

    how: Literal["raw", "log", "none"] = "raw"
    unit: float = 1.0

    def __call__(self, graph: Graph) -> Graph:
        """The graph with such weights; those of its types are changed one by one."""
        if self.how == "raw" or not graph.is_weighted:
            return graph
        types = tuple(replace(kind, matrix=self._of(kind.matrix)) for kind in graph.edge_types)
        return replace(graph, adjacency=self._of(graph.adjacency), edge_types=types)

    def _of(self, A: sp.csr_array) -> sp.csr_array:
        values = np.log1p(A.data / self.unit) if self.how == "log" else np.ones_like(A.data)
        return sp.csr_array((values.astype(np.float32), A.indices, A.indptr), shape=A.shape)


RAW = Weights()


def weight_variants(graph: Graph) -> list[Weights]:
    """What is worth trying: only raw where the weights do not span orders of magnitude.

    The unit of logarithms is the 1 % quantile: that of the weights does not matter then.
    """
    if not (graph.is_weighted and is_wide(graph.adjacency.data)):
        return [RAW]
    small = weight_range(graph.adjacency.data)[0]
    return [RAW, Weights("log", small), Weights("none")]

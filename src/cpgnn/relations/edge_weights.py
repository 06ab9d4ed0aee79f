"""Weights that span orders of magnitude, and what else could be done with them.

An amount is not an importance: used raw, a few large payments drown out all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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


def weight_variants(graph: Graph) -> dict[str, Graph]:
    """The graph with its weights raw, as logarithms and without, by those names.

    Logarithms are log(1 + w / w₁), w₁ the 1 % quantile: the unit of the weights does not matter.
    Only `raw` where the weights do not span orders of magnitude.
    """
    found = {"raw": graph}
    if graph.is_weighted and is_wide(graph.adjacency.data):
        small = weight_range(graph.adjacency.data)[0]
        found["log"] = _reweighted(graph, lambda w: np.log1p(w / small))
        found["none"] = _reweighted(graph, np.ones_like)
    return found


def _reweighted(graph: Graph, change: Callable[[np.ndarray], np.ndarray]) -> Graph:
    def changed(A: sp.csr_array) -> sp.csr_array:
        values = change(A.data).astype(np.float32)
        return sp.csr_array((values, A.indices, A.indptr), shape=A.shape)

    types = tuple(replace(kind, matrix=changed(kind.matrix)) for kind in graph.edge_types)
    return replace(graph, adjacency=changed(graph.adjacency), edge_types=types)

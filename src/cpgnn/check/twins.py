"""Findings about twins: held-out nodes that repeat a training node.

Two nodes are twins if they have the same neighbours (the same row of A) or the same features.
A model that has seen one knows the other, so a test score counts memory as skill. Rows are
compared by a 64-bit hash of each: time and memory are linear in the entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.check.finding import Finding, named
from cpgnn.graph import Graph
from cpgnn.splits import Split

LEAST_NEIGHBOURS = 3
"""Sharing one or two neighbours is ordinary; sharing all of three or more hardly happens."""
LEAST_TWINS = 10
"""Fewer held-out twins than this say nothing sure about a score."""
INFLATION = 0.05
"""The share of a test accuracy that may come from twins before it is a finding."""
SAMPLE = 2000
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class Twins:
    """Held-out nodes with a twin among the training nodes, and whether that gives them away."""

    nodes: np.ndarray
    num_held_out: int
    agreement: float
    """Share of them that have the most frequent label of their training twins."""
    chance: float
    """Agreement of two labelled nodes drawn at random, Σ p_c²."""

    @property
    def inflation(self) -> float:
        """Test accuracy that twins may contribute beyond chance."""
        share = len(self.nodes) / max(self.num_held_out, 1)
        return share * max(self.agreement - self.chance, 0.0) if len(self.nodes) else 0.0


def repeated_nodes(graph: Graph, split: Split) -> list[Finding]:
    """Test nodes with the neighbours, or the features, of a training node."""
    A = graph.adjacency
    neighbours = np.where(np.diff(A.indptr) >= LEAST_NEIGHBOURS, row_groups(A), -1)
    findings = _finding(
        graph,
        held_out_twins(graph, split, neighbours),
        ("problem", "twins-by-neighbours", "Test nodes repeat training nodes: same neighbours"),
        f"exactly the same {LEAST_NEIGHBOURS} or more neighbours as",
    )
    if graph.features is not None and coincidences(graph.features) < 1:
        findings += _finding(
            graph,
            held_out_twins(graph, split, row_groups(graph.features)),
            ("risk", "twins-by-features", "Test nodes repeat training nodes: same features"),
            "exactly the same features as",
        )
    return findings


def _finding(graph: Graph, found: Twins, kind: tuple[Any, str, str], what: str) -> list[Finding]:
    if not len(found.nodes):
        return []
    serious = found.inflation >= INFLATION and len(found.nodes) >= LEAST_TWINS
    severity, code, title = kind
    return [
        Finding(
            severity if serious else "note",
            code,
            title if serious else title.replace("Test nodes repeat", "A few test nodes repeat"),
            f"{len(found.nodes):,} of {found.num_held_out:,} test nodes "
            f"({len(found.nodes) / found.num_held_out:.1%}) have {what} a training node; "
            f"{found.agreement:.0%} of them also its class (by chance: {found.chance:.0%}). Up to "
            f"{100 * found.inflation:.1f} points of a test accuracy may be memory, not skill.",
            "Remove duplicates, or keep each group of twins on one side of the split."
            if serious
            else "Nothing; remove them if they are the same thing recorded twice.",
            len(found.nodes),
            named(graph, found.nodes),
        )
    ]


def held_out_twins(graph: Graph, split: Split, group: np.ndarray) -> Twins:
    """Test nodes whose group (int [n], -1: none) has a training node."""
    y, c = graph.labels, graph.num_classes
    train = split.train[(group[split.train] >= 0) & (y[split.train] >= 0)]
    test = split.test[y[split.test] >= 0]
    shared, where = np.unique(group[train], return_inverse=True)
    votes = sp.coo_array((np.ones(len(train)), (where, y[train])), shape=(len(shared), c)).tocsr()
    at = np.minimum(np.searchsorted(shared, group[test]), max(len(shared) - 1, 0))
    has_twin = (shared[at] == group[test]) if len(shared) else np.zeros(len(test), dtype=bool)
    nodes, at = test[has_twin], at[has_twin]
    majority = np.asarray(votes.argmax(axis=1)).ravel() if len(shared) else np.empty(0)
    agreement = float((majority[at] == y[nodes]).mean()) if len(nodes) else float("nan")
    p = np.bincount(y[y >= 0], minlength=c) / max((y >= 0).sum(), 1)
    return Twins(nodes, len(test), agreement, float((p**2).sum()))


def row_groups(M: np.ndarray | sp.csr_array) -> np.ndarray:
    """A number for every row, int64 [n]: equal for equal rows; -1 for rows of zeros."""
    hashes = row_hashes(M)
    _, group = np.unique(hashes, return_inverse=True)
    return np.where(hashes == 0, -1, group)


def row_hashes(M: np.ndarray | sp.csr_array) -> np.ndarray:
    """uint64 [n]: the sum of a hash of (column, value) over the entries that are not 0."""
    if not sp.issparse(M):
        total = np.zeros(len(M), dtype=np.uint64)
        for j in range(M.shape[1]):
            total += _mixed(np.full(len(M), j), M[:, j])
        return total
    return _sparse_hashes(M)


def _sparse_hashes(M: Any) -> np.ndarray:
    bounds = np.asarray(M.indptr, dtype=np.int64)
    nothing = np.zeros(1, dtype=np.uint64)
    total = np.zeros(M.shape[0], dtype=np.uint64)
    for start in range(0, M.nnz, _CHUNK):
        stop = min(start + _CHUNK, M.nnz)
        sums = np.concatenate([nothing, _mixed(M.indices[start:stop], M.data[start:stop])])
        np.cumsum(sums, out=sums)  # wraps around, and so do the differences of two sums
        low, high = np.clip(bounds[:-1], start, stop), np.clip(bounds[1:], start, stop)
        total += sums[high - start] - sums[low - start]
    return total


def _mixed(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A well-mixed uint64 for every (column, value); 0 where the value is 0."""
    bits = np.asarray(values, dtype=np.float32) + np.float32(0)  # -0 becomes 0
    z = (columns.astype(np.uint64) << np.uint64(32)) | bits.view(np.uint32).astype(np.uint64)
    z += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    z ^= z >> np.uint64(31)
    return np.where(bits == 0, np.uint64(0), z)


def coincidences(X: np.ndarray | sp.csr_array) -> float:
    """How many other nodes would have a node's features by chance, were the columns independent.

    n · Π_j Σ_v p_jv², with p_jv the share of value v in column j of a sample of rows. At 1 or
    more (few columns, few values) equal rows are nothing special.
    """
    n = X.shape[0]
    rows = np.random.default_rng(0).permutation(n)[:SAMPLE]
    S = sp.csc_array(X[np.sort(rows)])
    S.eliminate_zeros()
    m = len(rows)
    column = np.repeat(np.arange(S.shape[1]), np.diff(S.indptr))
    _, first, times = np.unique(
        (column.astype(np.uint64) << np.uint64(32)) | S.data.view(np.uint32).astype(np.uint64),
        return_index=True,
        return_counts=True,
    )
    same = np.bincount(column[first], (times / m) ** 2, minlength=S.shape[1])
    same += (1 - np.diff(S.indptr) / m) ** 2
    with np.errstate(divide="ignore"):
        return float(n * np.exp(np.log(same).sum()))

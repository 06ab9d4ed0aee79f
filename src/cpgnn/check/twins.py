"""Findings about twins: held-out nodes that repeat a training node.

Two nodes are twins if they have the same neighbours (the same row of A) or the same features.
A model that has seen one knows the other, so a test score counts memory as skill. Rows are
compared by a 64-bit hash of each: time and memory are linear in the entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.check.finding import Finding, Severity, named
from cpgnn.engine.formatting import percent
from cpgnn.graph import Graph
from cpgnn.splits import Split

LEAST_NEIGHBOURS = 3
"""Sharing one or two neighbours is ordinary; sharing all of three or more hardly happens."""
LEAST_TWINS = 10
"""Fewer held-out twins than this say nothing sure about a score."""
INFLATION = 0.05
"""The share of a test accuracy that may come from twins before it is a finding."""
SAMPLE = 2000
BLOCK = 100_000
"""Rows that are hashed at a time."""


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
    def share(self) -> float:
        return len(self.nodes) / max(self.num_held_out, 1)

    @property
    def inflation(self) -> float:
        """Test accuracy that twins may contribute beyond chance."""
        return self.share * max(self.agreement - self.chance, 0.0) if len(self.nodes) else 0.0


def repeated_nodes(graph: Graph, split: Split) -> Iterator[Finding]:
    """Test nodes with the neighbours, or the features, of a training node."""
    A, X = graph.adjacency, graph.features
    neighbours = np.where(np.diff(A.indptr) >= LEAST_NEIGHBOURS, row_groups(A), -1)
    found = held_out_twins(graph, split, neighbours)
    yield from _finding(graph, found, "neighbours", "problem", f"{LEAST_NEIGHBOURS} or more ")
    if X is not None and coincidences(X) < 1:
        group = row_groups(X)
        if graph.mixed is not None:  # nodes without a row are not alike, but unknown
            group[np.diff(graph.mixed.gaps.indptr) == X.shape[1]] = -1
        found = held_out_twins(graph, split, group)
        yield from _finding(graph, found, "features", "risk")


def _finding(
    graph: Graph, found: Twins, what: str, worst: Severity, how_many: str = ""
) -> Iterator[Finding]:
    many = len(found.nodes)
    if not many:
        return
    serious = found.inflation >= INFLATION and many >= LEAST_TWINS
    yield Finding(
        worst if serious else "note",
        f"twins-by-{what}",
        f"{'Test' if serious else 'A few test'} nodes repeat training nodes: same {what}",
        f"{many:,} of {found.num_held_out:,} test nodes ({percent(found.share)}) have exactly the "
        f"same {how_many}{what} as a training node; {percent(found.agreement, 0)} of them also "
        f"have its class (by chance: {percent(found.chance, 0)}). Up to "
        f"{100 * found.inflation:.1f} points of a test accuracy may be memory, not skill.",
        "Remove duplicates, or keep each group of twins on one side of the split."
        if serious
        else "Nothing; remove them if they are the same thing recorded twice.",
        many,
        named(graph, found.nodes),
    )


def held_out_twins(graph: Graph, split: Split, group: np.ndarray) -> Twins:
    """Test nodes whose group (int [n], -1: none) has a training node."""
    y, c = graph.labels, graph.num_classes
    train = split.train[(group[split.train] >= 0) & (y[split.train] >= 0)]
    test = split.test[y[split.test] >= 0]
    ones = np.ones(len(train))
    votes = sp.coo_array((ones, (group[train], y[train])), shape=(group.max() + 1, c)).tocsr()
    voted = np.isin(group[test], group[train])
    nodes = test[voted]
    agreement = float("nan")
    if len(nodes):
        majority = np.asarray(votes[group[nodes]].argmax(axis=1)).ravel()
        agreement = float((majority == y[nodes]).mean())
    p = np.bincount(y[y >= 0], minlength=c) / max((y >= 0).sum(), 1)
    return Twins(nodes, len(test), agreement, float((p**2).sum()))


def row_groups(M: np.ndarray | sp.csr_array) -> np.ndarray:
    """A number for every row, int64 [n]: equal for equal rows; -1 for rows of zeros."""
    blocks = [row_hashes(M[start : start + BLOCK]) for start in range(0, M.shape[0], BLOCK)]
    hashes = np.concatenate([*blocks, np.empty(0, dtype=np.uint64)])
    _, group = np.unique(hashes, return_inverse=True)
    return np.where(hashes == 0, -1, group)


def row_hashes(M: np.ndarray | sp.csr_array) -> np.ndarray:
    """uint64 [n]: the sum, modulo 2^64, of a hash of (column, value) over the non-zero entries."""
    S = sp.csr_array(M, dtype=np.float32, copy=True)
    S.eliminate_zeros()
    S.data = pd.util.hash_array(_keys(S.indices, S.data))
    return S @ np.ones(S.shape[1], dtype=np.uint64)


def _keys(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A uint64 for every (column, float32 value)."""
    return (columns.astype(np.uint64) << np.uint64(32)) | values.view(np.uint32)


def coincidences(X: np.ndarray | sp.csr_array) -> float:
    """How many other nodes would have a node's features by chance, were the columns independent.

    n · Π_j Σ_v p_jv², with p_jv the share of value v in column j of a sample of rows. At 1 or
    more (few columns, few values) equal rows are nothing special.
    """
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:SAMPLE])
    S = sp.coo_array(X[rows].astype(np.float32))
    S.eliminate_zeros()
    keys, times = np.unique(_keys(S.col, S.data), return_counts=True)
    m, F = len(rows), X.shape[1]
    zero = 1 - np.bincount(S.col, minlength=F) / m
    same = zero**2 + np.bincount(keys >> np.uint64(32), (times / m) ** 2, minlength=F)
    with np.errstate(divide="ignore"):
        return float(X.shape[0] * np.exp(np.log(same).sum()))

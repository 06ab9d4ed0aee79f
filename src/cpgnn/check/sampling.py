"""A finding about the sample: labelled nodes that are not like the nodes without a label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from cpgnn.check.columns import column_name
from cpgnn.check.finding import Finding
from cpgnn.engine.arrays import num_stored
from cpgnn.engine.text import count, some
from cpgnn.graph import Graph

LEVEL = 0.01
VISIBLE = 0.2
"""A difference of the means, in standard deviations, that is worth mentioning."""
LEAST_NODES = 20
"""Nodes needed on either side, and nodes with a feature for it to be compared."""
DEALS = 999
MOST_NODES, MOST_VALUES = 10_000, 400_000


def unlike_the_rest(graph: Graph) -> Iterator[Finding]:
    """Whether labelled nodes differ from the others in their number of neighbours or in a feature.

    The number of neighbours is compared by ranks, features by their means, in standard deviations.
    The p-value is the share of ways to deal "labelled" to the nodes in which some difference is as
    large: it is corrected for all that is compared. Large graphs are sampled.
    """
    rng = np.random.default_rng(0)
    nodes = _sample(graph, rng)
    labelled = graph.labels[nodes] >= 0
    if min(labelled.sum(), (~labelled).sum()) < LEAST_NODES:
        return
    degree = graph.num_neighbours[nodes]
    values, columns = _compared(graph, nodes, rankdata(degree))
    differs, p = differences(values, labelled, rng)
    found = np.flatnonzero((p <= LEVEL) & (np.abs(differs) >= VISIBLE))
    if not len(found):
        return
    found = found[np.argsort(-np.abs(differs[found]), kind="stable")]
    said = []
    if 0 in found:
        mean, rest = (degree[part].mean() for part in (labelled, ~labelled))
        said.append(f"They have {mean:.1f} neighbours on average, the others {rest:.1f}")
    named = [column_name(graph, int(columns[j - 1])) for j in found if j > 0]
    if named:
        said.append(f"{'they also' if said else 'They'} differ in {some(named)}")
    yield Finding(
        "risk",
        "labelled-unlike-others",
        "The labelled nodes are not like the others",
        f"{'; '.join(said)} (p = {p[found].max():.1g} or less, corrected for "
        f"{count(len(differs), 'comparison')}). "
        "Scores are measured on labelled nodes and may not hold for the others.",
        "Label some nodes drawn at random, and see how good the predictions are for them.",
        int(graph.unlabelled.sum()),
    )


def _sample(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    each = max(1, num_stored(graph.features) // max(graph.num_nodes, 1))
    most = int(np.clip(MOST_VALUES // each, 1000, MOST_NODES))
    return np.sort(rng.permutation(np.flatnonzero(graph.predicted))[:most])


def _compared(
    graph: Graph, nodes: np.ndarray, degree: np.ndarray
) -> tuple[sp.csc_array, np.ndarray]:
    """Ranks of degree, then the features that enough of these nodes have; and which those are."""
    X = sp.csc_array(np.empty((len(nodes), 0)) if graph.features is None else graph.features[nodes])
    X.eliminate_zeros()
    columns = np.flatnonzero(np.diff(X.indptr) >= LEAST_NODES)
    return sp.csc_array(sp.hstack([degree[:, None], X[:, columns].astype(np.float64)])), columns


def differences(
    X: sp.csc_array, one: np.ndarray, rng: np.random.Generator, deals: int = DEALS
) -> tuple[np.ndarray, np.ndarray]:
    """For each column of X [n, k]: mean of the nodes `one` less mean of the others, in standard
    deviations; and its p-value, corrected for k by the largest difference of every deal."""
    n, m = len(one), int(one.sum())
    mean = np.asarray(X.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray((X**2).mean(axis=0)).ravel() - mean**2, 0))
    masks = np.stack([one, *(rng.permutation(one) for _ in range(deals))], axis=1)
    surplus = X.T @ masks.astype(np.float64) - m * mean[:, None]
    scale = np.where(spread > 1e-6 * np.abs(mean), spread, np.inf)[:, None] * m * (n - m) / n
    D = surplus / scale
    largest = np.abs(D).max(axis=0).round(9)
    p = [(largest >= value).mean() for value in np.abs(D[:, 0]).round(9)]
    return D[:, 0], np.array(p)

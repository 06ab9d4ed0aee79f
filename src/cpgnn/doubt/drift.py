"""Has the graph changed since the fit? Degrees, features and who connects, then and now.

A difference is told where chance does not explain it (Kolmogorov–Smirnov for numbers, corrected for
the number of comparisons) and where it is large enough to matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp

from cpgnn.engine.arrays import dense
from cpgnn.engine.text import some
from cpgnn.errors import must_be
from cpgnn.graph import Graph

LEVEL, VISIBLE = 0.01, 0.15
"""Largest p-value, corrected, and least distance of two distributions that are told."""
LEAST_NODES = 20
MOST_NODES, MOST_COLUMNS = 5_000, 500


@dataclass(frozen=True)
class Shift:
    """A number that is distributed otherwise than before."""

    what: str
    before: float
    """Its mean then."""
    after: float
    distance: float
    """Largest difference of the two cumulative distributions."""
    p: float
    """Corrected for the number of comparisons."""

    def __str__(self) -> str:
        return f"{self.what} (mean {self.before:.3g} then, {self.after:.3g} now)"


def shifts(
    then: Graph, now: Graph, nodes: np.ndarray | None = None, *, seed: int = 0
) -> list[Shift]:
    """Degrees and features of the nodes of `now` (or of these) beside all nodes of `then`.

    `nodes`: new ones of a `now` that begins with those of `then`, whose neighbours are then counted
    there too: else they would have fewer for no other reason than that others had yet to come. Of
    several kinds of nodes, only the one that is predicted. The largest differences first. None
    where there are fewer than twenty nodes on either side. Large graphs are sampled. Features are
    compared by position: both graphs must have the same.
    """
    rng = np.random.default_rng(seed)
    old = _sample(np.flatnonzero(then.predicted), rng)
    asked = np.flatnonzero(now.predicted)
    new = _sample(asked if nodes is None else np.intersect1d(nodes, asked), rng)
    if min(len(old), len(new)) < LEAST_NODES:
        return []
    counted = (then if nodes is None else now).num_neighbours[old]
    columns = [("number of neighbours", counted, now.num_neighbours[new])]
    if then.features is not None and now.features is not None:
        if then.num_features != now.num_features:
            got = f"{then.num_features} and {now.num_features}"
            raise must_be("Both graphs", "have the same features", got)
        chosen = np.arange(then.num_features or 0)
        if len(chosen) > MOST_COLUMNS:
            chosen = np.sort(rng.permutation(chosen)[:MOST_COLUMNS])
        X, Z = (
            dense(features[nodes][:, chosen]).astype(np.float64)
            for features, nodes in ((then.features, old), (now.features, new))
        )
        columns += [(_name(then, int(j)), X[:, i], Z[:, i]) for i, j in enumerate(chosen)]
    found = []
    for what, before, after in columns:
        test = ks_2samp(before, after)
        p = min(1.0, float(test.pvalue) * len(columns))
        if p <= LEVEL and test.statistic >= VISIBLE:
            means = float(np.mean(before)), float(np.mean(after))
            found.append(Shift(what, *means, float(test.statistic), p))
    return sorted(found, key=lambda shift: -shift.distance)


def drift_notice(then: Graph, now: Graph, new: np.ndarray | None = None) -> str:
    """What to say of new nodes (None: of all) that are not like those of the fit; "" where they
    are."""
    found = shifts(then, now, new)
    if not found:
        return ""
    which = "nodes of this graph" if new is None else "new nodes"
    return (
        f"The {which} are not like those of the fit: {some([str(shift) for shift in found], 3)}. "
        "Scores and sets of classes may not hold for them."
    )


def _sample(nodes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return nodes if len(nodes) <= MOST_NODES else np.sort(rng.permutation(nodes)[:MOST_NODES])


def _name(graph: Graph, column: int) -> str:
    names = graph.feature_names
    return f"feature {names[column]!r}" if names else f"feature {column + 1}"

"""Findings about times: labels at one end of them, features that are newer than all edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cpgnn.check.finding import Finding, named
from cpgnn.engine.arrays import dense
from cpgnn.engine.formatting import percent
from cpgnn.io import LoadedGraph

NEARLY_ALL = 0.95
END = 0.25
"""Labels that lie in the first or last quarter of all nodes sit at one end."""


def one_sided(loaded: LoadedGraph) -> Iterator[Finding]:
    """If the files say when things came: what makes scores doubtful for other times."""
    times, graph = loaded.times, loaded.graph
    if times is None:
        return
    known = ~np.isnan(times.nodes)
    labelled = known & (graph.labels >= 0)
    if labelled.sum() >= 10 and times.edges is not None:
        early, late = np.quantile(times.nodes[known], [END, 1 - END])
        when = times.nodes[labelled]
        for share, end in (((when <= early).mean(), "first"), ((when >= late).mean(), "last")):
            if early < late and share >= NEARLY_ALL:
                yield Finding(
                    "risk",
                    "labels-at-one-end",
                    "The labels come from one end of the time range",
                    f"{percent(float(share))} of the labelled nodes are among the {end} quarter of "
                    f"all nodes by {times.column!r}; what holds there may not hold at other times.",
                    "Label some nodes from other times as well.",
                    int(labelled.sum()),
                    named(graph, labelled),
                )
    yield from _newer_features(loaded)


def _newer_features(loaded: LoadedGraph) -> Iterator[Finding]:
    """Columns of dates that lie after the last edge of their node."""
    times, columns = loaded.times, loaded.columns
    X: Any = loaded.graph.features
    if times is None or times.edges is None or columns is None or X is None or not times.is_date:
        return
    last, mixed = np.full(loaded.graph.num_nodes, -np.inf), loaded.graph.mixed
    for end in (times.edges.source, times.edges.target):
        np.maximum.at(last, end, times.edges.times)
    names = columns.matrix_names or ()
    for column in columns:
        reading, name = column.reading, column.name
        if reading is None or reading.kind != "date" or name not in names:
            continue
        at = [names.index(name)]
        days, told = dense(X[:, at]).ravel(), np.isfinite(last)
        if mixed is not None:  # a gap, as in nodes of other kinds, holds a mean
            told &= ~dense(mixed.gaps[:, at]).ravel()
        newer = told & (days > last + 1)
        if newer.sum() > (1 - NEARLY_ALL) * told.sum():
            yield Finding(
                "risk",
                "features-newer-than-edges",
                f"{name!r} is newer than the edges",
                f"For {int(newer.sum()):,} nodes it is later than their last edge by "
                f"{times.column!r}: it may reveal what happened after the moment of prediction.",
                "Leave the column out, or use its value as of that moment.",
                int(newer.sum()),
                named(loaded.graph, newer),
            )

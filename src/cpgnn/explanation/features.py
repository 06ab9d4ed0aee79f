"""What a node's own part rests on, down to the column: the weightiest ones, and what they add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.arrays import dense
from cpgnn.explanation.pieces import AROUND, OWN, SHAPE, START, Piece, feature_names
from cpgnn.graph import Graph
from cpgnn.priors.columns import STRUCTURE, mean_of_neighbours
from cpgnn.relations.derived import near

REST = "the rest"
SPARE = 4
"""Columns that are kept for each one asked for: which of them say most depends on the class."""


@dataclass(frozen=True, eq=False)
class Feature:
    """What one column adds to one part of a node's logits."""

    part: str
    """The prior that reads it; "" where all are summed."""
    source: str
    """ "own", "neighbourhood" (columns of others), "neighbours" (who they are), "sharing" (who
    shares a neighbour with it), "shape" and "place" (of the graph around the node), "labels"
    (around it), "start" (the same for all nodes, and the normalisation of each node, the same for
    all classes), "the rest"."""
    column: str
    """The feature, the neighbour; "" for all of the source together."""
    value: float
    """As the user gave it; of the neighbourhood, the mean of the neighbours. NaN: unknown."""
    typical: np.ndarray
    """[c]: median among the training nodes of each class. Where X is sparse, the share of them that
    have it; of the neighbourhood, the mean."""
    contribution: np.ndarray
    """[c]"""
    error: float = 0.0
    """The standard error of a contribution that was sampled."""


@dataclass(frozen=True, eq=False)
class Features:
    """The own parts of s nodes, column by column."""

    node_ids: np.ndarray
    class_names: tuple[str, ...]
    rows: tuple[tuple[Feature, ...], ...]
    """Of each node; those of a part sum to the part, except for `error`."""
    error: np.ndarray
    """[s]: the largest difference of such a sum to its part, in any class."""
    sparse: bool
    """Values are counts of words, say: most are 0."""
    top: int
    """How many columns of a node were asked for."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Columns that were "date", "time", "yes/no" or "percent" before they became numbers."""

    def merged(self, i: int) -> list[Feature]:
        """Columns of the i-th node over all parts, in no order; without `start` and the rest."""
        found: dict[tuple[str, str], list[Feature]] = {}
        for row in self.rows[i]:
            if row.source not in (START, REST):
                found.setdefault((row.source, row.column), []).append(row)
        return [_sum(rows) for rows in found.values()]

    def accuracy(self, i: int) -> str:
        """How exactly the columns of the i-th node add up, and how exact each one is."""
        text = f"Its columns add up to its own part with an error of {self.error[i]:.0e}"
        sampled = max((row.error for row in self.rows[i]), default=0.0)
        return text + (f"; they are sampled, ± {sampled:.2g}." if sampled else ".")

    def to_frame(self) -> pd.DataFrame:
        """A row for each node, part, column and class; `typical` is that of the class."""
        flat = [(str(name), row) for name, rows in zip(self.node_ids, self.rows, strict=True)
                for row in rows]  # fmt: skip
        c = len(self.class_names)
        made = pd.DataFrame(
            [(name, r.part, r.source, r.column, r.value, r.error) for name, r in flat],
            columns=["node", "part", "source", "column", "value", "error"],
        )
        made = made.iloc[np.arange(len(flat)).repeat(c)].reset_index(drop=True)
        made["class"] = np.tile(np.array(self.class_names, dtype=object), len(flat))
        made["typical"] = np.concatenate([row.typical for _, row in flat] or [np.empty(0)])
        made["contribution"] = np.concatenate([r.contribution for _, r in flat] or [np.empty(0)])
        order = ["node", "part", "source", "column", "value", "class", "typical", "contribution"]
        return made[[*order, "error"]]


def features_of(
    pieces: Iterable[dict[str, list[Piece]]],
    parts: dict[str, np.ndarray],
    typical: Typical,
    where: np.ndarray,
    top: int,
) -> Features:
    """The weightiest columns of each node at `where`; the others of a part are its rest.

    parts: [s, c] each, what the pieces should sum to.
    """
    c = len(typical.class_names)
    rows, errors = [], np.zeros(len(where))
    for i, of in enumerate(pieces):
        size: dict[tuple[str, str], np.ndarray] = {}
        for _, piece, j in _entries(of):
            key = (piece.source, piece.names[j])
            size[key] = size.get(key, 0.0) + piece.terms[j]
        size.pop((START, ""), None)
        kept = set(sorted(size, key=lambda key: -np.ptp(size[key]))[: SPARE * top])
        rest = {name: np.zeros(c) for name in of}
        sums = {name: np.zeros(c) for name in of}
        told: dict[tuple[str, str, str], list[Feature]] = {}  # priors of one name read the same
        for name, piece, j in _entries(of):
            key, term = (piece.source, piece.names[j]), piece.terms[j]
            sums[name] += term
            if key in kept or key[0] == START:
                value, usual = typical(int(where[i]), *key)
                error = 0.0 if piece.errors is None else float(piece.errors[j])
                made = Feature(name, *key, value, usual, term, error)
                told.setdefault((name, *key), []).append(made)
            else:
                rest[name] += term
        nothing = np.full(c, np.nan)
        found = [_sum(same, name) for (name, *_), same in told.items()]
        found += [
            Feature(name, REST, "", np.nan, nothing, r) for name, r in rest.items() if r.any()
        ]
        rows.append(tuple(found))
        errors[i] = max(np.abs(sums[name] - parts[name][i]).max() for name in of)
    ids = typical.graph.node_ids.to_numpy()[where]
    return Features(ids, typical.class_names, tuple(rows), errors, typical.sparse, top)


def _entries(of: dict[str, list[Piece]]) -> Iterator[tuple[str, Piece, int]]:
    for name, pieces in of.items():
        for piece in pieces:
            for j in range(len(piece.names)):
                yield name, piece, j


def _sum(rows: list[Feature], part: str = "") -> Feature:
    first = rows[0]
    total = np.sum([row.contribution for row in rows], axis=0)
    error = float(np.sqrt(sum(row.error**2 for row in rows)))
    return Feature(part, first.source, first.column, first.value, first.typical, total, error)


class Typical:
    """Values of nodes as the user gave them, and those that are typical of a class."""

    def __init__(
        self,
        graph: Graph,
        class_names: tuple[str, ...],
        fitted: Graph | None = None,
        labels: np.ndarray | None = None,
        shape: np.ndarray | None = None,
    ) -> None:
        """graph: with unscaled features. fitted, labels [its nodes]: the graph of the fit and the
        labels that trained the model, -1 elsewhere. shape: `columns.structure` of `graph`."""
        self.graph, self.class_names, self.fitted, self.labels = graph, class_names, fitted, labels
        self.shape = shape
        self.sparse = sp.issparse(graph.features)
        self.position = {name: j for j, name in enumerate(feature_names(graph))}
        self._typical_of = cache(self._of_classes)
        self._row_of = lru_cache(maxsize=2)(self._row)  # its own and that of its neighbours

    def __call__(self, v: int, source: str, column: str) -> tuple[float, np.ndarray]:
        """The value of a node, and the typical ones [c]."""
        known = column in (self.position if source in (OWN, AROUND) else STRUCTURE)
        if source not in (OWN, AROUND, SHAPE) or not known:
            return np.nan, np.full(len(self.class_names), np.nan)
        if source == SHAPE:
            value = self._shape(column)[v]
        else:
            value = self._row_of(v, source)[self.position[column]]
        return float(value), self._typical_of(source, column)

    def _row(self, v: int, source: str) -> np.ndarray:
        """[F]: what one node has, or its neighbours on average."""
        X: Any = self.graph.features
        row = X[[v]]
        if source == AROUND:
            R = self._mean[[v]]
            row = R @ X if R.nnz else np.full(X.shape[1], np.nan)
        row = dense(row).ravel()
        if source == OWN and self.graph.mixed is not None:
            row = np.where(self.graph.mixed.gaps[[v]].toarray().ravel(), np.nan, row)
        return row

    def _of_classes(self, source: str, column: str) -> np.ndarray:
        made = np.full(len(self.class_names), np.nan)
        if self.fitted is None or self.labels is None:
            return made
        nodes = np.flatnonzero(self.labels >= 0)
        if source == SHAPE:
            if self.fitted.num_nodes != self.graph.num_nodes:
                return made
            values = self._shape(column)[nodes]
        else:
            values = self._values(self.fitted, source, column, nodes)
        for k in range(len(made)):
            own = values[self.labels[nodes] == k]
            own = own[~np.isnan(own)]
            if len(own) and self.sparse and source != SHAPE:
                made[k] = (own if source == AROUND else own != 0).mean()
            elif len(own):
                made[k] = np.median(own)
        return made

    def _values(self, graph: Graph, source: str, column: str, nodes: np.ndarray) -> np.ndarray:
        """[nodes]: their own, or the mean of their neighbours; NaN where there is none."""
        j = self.position[column]
        X: Any = graph.features
        values = dense(X[:, [j]]).ravel()
        if source == OWN:
            gaps = None if graph.mixed is None else graph.mixed.gaps[:, [j]].toarray().ravel()
            return (values if gaps is None else np.where(gaps, np.nan, values))[nodes]
        rows = self._fitted_mean[nodes]
        return np.where(np.diff(rows.indptr) > 0, rows @ values, np.nan)

    @cached_property
    def _mean(self) -> sp.csr_array:
        return mean_of_neighbours(near(self.graph))

    @cached_property
    def _fitted_mean(self) -> sp.csr_array:
        assert self.fitted is not None
        if self.fitted.adjacency is self.graph.adjacency:
            return self._mean
        return mean_of_neighbours(near(self.fitted))

    def _shape(self, column: str) -> np.ndarray:
        """[n], without the logarithm."""
        if self.shape is None:
            return np.full(self.graph.num_nodes, np.nan)
        j = STRUCTURE.index(column)
        values = self.shape[:, j]
        if column == "triangles":
            return values
        return np.exp(values) if column == "PageRank" else np.expm1(values)

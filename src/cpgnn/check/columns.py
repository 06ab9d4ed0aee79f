"""Findings about feature columns: gaps, constant ones, and ones that give the label away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cpgnn.check.finding import Finding, named
from cpgnn.engine.arrays import dense
from cpgnn.engine.formatting import percent
from cpgnn.engine.text import count, listed, some
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph

BINS, BINS_PER_CLASS = 32, 16
"""A column of more values than this is cut into as many parts of equal size."""
GIVEN_AWAY = 0.8
"""A column tells a class if, looking at nothing else, it avoids this share of the errors."""
LEAST_NODES = 10
"""A class with fewer nodes in either half is not looked at."""
SHUFFLES = 3
MOST_ROWS, MOST_ENTRIES = 20_000, 20_000_000


def missing_features(loaded: LoadedGraph) -> Iterator[Finding]:
    """Missing cells and rows of the features; a kind of nodes may do without any."""
    described = loaded.described
    bare = np.zeros(0, dtype=bool) if described is None else ~described
    if len(bare) and loaded.graph.kinds is not None:
        bare = bare & loaded.graph.kinds.has_features
    cells, nodes = sum(loaded.gaps.values()), int(bare.sum())
    if not cells and not nodes:
        return
    said = []
    if cells:
        worst = sorted(loaded.gaps.items(), key=lambda gap: -gap[1])
        columns = some([f"{name} ({number:,})" for name, number in worst])
        which = "column" if len(worst) == 1 else "columns"
        said.append(f"{count(cells, 'cell is', 'cells are')} empty, in the {which} {columns}")
    if nodes:
        said.append(f"{count(nodes, 'node has', 'nodes have')} no row")
    yield Finding(
        "note",
        "missing-features",
        "Some features are missing",
        f"{'; '.join(said)}. Boosted trees read them as missing, networks as the median.",
        "Fill in what you know.",
        cells + nodes,
        named(loaded.graph, bare) if nodes else (),
    )


def constant_columns(graph: Graph) -> Iterator[Finding]:
    X = graph.features
    if X is None or not X.shape[0]:
        return
    spread = X.max(axis=0) - X.min(axis=0)
    constant = np.flatnonzero(dense(spread).ravel() == 0)
    if len(constant):
        every = len(constant) == X.shape[1]
        yield Finding(
            "problem" if every else "note",
            "constant-features",
            "No feature varies" if every else "Some features never vary",
            f"{len(constant):,} of {count(X.shape[1], 'column')} "
            f"{'has' if len(constant) == 1 else 'have'} the same value for all nodes: "
            f"{_names(graph, constant)}.",
            "Remove the features, or find out what went wrong when they were made."
            if every
            else "Nothing. You may remove them.",
            len(constant),
        )


def given_away(graph: Graph) -> Iterator[Finding]:
    """Columns that give a class away by themselves."""
    rates = column_rates(graph)
    if rates is None:
        return
    tells = rates.avoided >= max(GIVEN_AWAY, rates.by_chance)
    if not tells.any():
        return
    classes, columns = np.flatnonzero(tells.any(axis=0)), np.flatnonzero(tells.any(axis=1))
    best = columns[np.argsort(-rates.avoided[columns].max(axis=1), kind="stable")]
    every = len(classes) == len(rates.looked_at)
    whom = "" if every else f" {listed([graph.class_names[i] for i in classes])}"
    yield Finding(
        "problem" if every else "risk",
        "labels-in-features",
        f"Single features give the class{whom} away",
        f"Suspicious: {_names(graph, best)}. {_names(graph, best[:1])} alone avoids "
        f"{percent(rates.avoided[best[0]].max(), 0)} of the errors of always giving the more "
        "frequent answer, on nodes it was not fitted to (with shuffled labels at most "
        f"{percent(max(rates.by_chance, 0), 0)}).",
        "Check that such a column is known before the class is. If it was made from the label, "
        "remove it.",
        len(best),
        named(graph, np.isin(graph.labels, classes)),
    )


def column_name(graph: Graph, column: int) -> str:
    """What the owner calls it; otherwise its number, from 1, not counting the id column."""
    names = graph.feature_names
    return f"column {column + 1}" if names is None else repr(names[column])


def _names(graph: Graph, columns: np.ndarray) -> str:
    return some([column_name(graph, int(j)) for j in columns])


@dataclass(frozen=True, eq=False)
class ColumnRates:
    """What each column alone tells about each class."""

    avoided: np.ndarray
    """[F, c]: share of errors avoided in "is it class c?"; 1 = always right, 0 = no help."""
    looked_at: np.ndarray
    """Classes with enough nodes; the others have -inf in `avoided`."""
    by_chance: float
    """The highest share that any column avoids when the labels are shuffled."""


def column_rates(graph: Graph) -> ColumnRates | None:
    """Each column cut into values or parts, which guess by majority; fitted on one half of the
    labelled nodes, measured on the other. None where too few nodes are labelled."""
    X, c = graph.features, graph.num_classes
    if X is None or not X.shape[1]:
        return None
    rng = np.random.default_rng(0)
    most = min(MOST_ROWS, max(200, MOST_ENTRIES // X.shape[1]))
    rows = np.sort(rng.permutation(np.flatnonzero(graph.labels >= 0))[:most])
    y = graph.labels[rows]
    fitted = dealt(y, 2, rng) == 0
    least = np.minimum(*(np.bincount(y[half], minlength=c) for half in (fitted, ~fitted)))
    ignored = least < LEAST_NODES
    if ignored.all() or len(np.unique(y)) < 2:
        return None
    cells = _Cells.of(X[rows], max(BINS, BINS_PER_CLASS * c))
    avoided = cells.avoided(y, fitted, c)
    avoided[:, ignored] = -np.inf
    by_chance = -np.inf
    for _ in range(SHUFFLES):
        shuffled = y.copy()
        for half in (fitted, ~fitted):
            shuffled[half] = rng.permutation(y[half])
        by_chance = max(by_chance, cells.avoided(shuffled, fitted, c)[:, ~ignored].max())
    return ColumnRates(avoided, np.flatnonzero(~ignored), float(by_chance))


def dealt(y: np.ndarray, parts: int, rng: np.random.Generator) -> np.ndarray:
    """A random part, 0 to parts - 1, for each node; every class is spread evenly over them."""
    order = np.lexsort((rng.random(len(y)), y))
    part = np.empty(len(y), dtype=np.int64)
    part[order] = np.arange(len(y)) % parts
    return part


@dataclass(frozen=True, eq=False)
class _Cells:
    """The entries of X that are not 0, sorted by column and value and cut into parts.

    Zeros are a part of their own, the last of each column; its counts are what is left over.
    """

    row: np.ndarray
    part: np.ndarray
    """The part of each entry; parts are numbered through all columns."""
    column: np.ndarray
    """The column of each part."""
    num_columns: int

    @classmethod
    def of(cls, X: np.ndarray | sp.csr_array, bins: int = BINS) -> _Cells:
        S = sp.coo_array(X)
        S.eliminate_zeros()
        order = np.lexsort((S.data, S.col))
        row, column, value = S.row[order], S.col[order], S.data[order]
        new_column = _differs(column)
        new_value = new_column | _differs(value)
        size = np.bincount(column, minlength=X.shape[1])
        values = np.bincount(column[new_value], minlength=X.shape[1])
        rank = np.arange(len(column)) - np.repeat(np.cumsum(size) - size, size)
        tile = rank * bins // np.maximum(size[column], 1)
        # Equal values share a part: the one that the first of them falls into.
        tile = tile[np.maximum.accumulate(np.where(new_value, np.arange(len(column)), 0))]
        cut = np.where(values[column] > bins, new_column | _differs(tile), new_value)
        return cls(row, np.cumsum(cut) - 1, column[cut], X.shape[1])

    def avoided(self, y: np.ndarray, fitted: np.ndarray, c: int) -> np.ndarray:
        """1 - errors of the column / errors of always naming the more frequent answer, [F, c]."""
        guess_by = self._counts(y, fitted, c)
        measured = self._counts(y, ~fitted, c)
        says_yes = 2 * guess_by > guess_by.sum(axis=1, keepdims=True)
        wrong = np.where(says_yes, measured.sum(axis=1, keepdims=True) - measured, measured)
        errors = np.zeros((self.num_columns, c))
        np.add.at(errors, np.append(self.column, np.arange(self.num_columns)), wrong)
        total = np.bincount(y[~fitted], minlength=c)
        return 1 - errors / np.maximum(np.minimum(total, total.sum() - total), 1)

    def _counts(self, y: np.ndarray, half: np.ndarray, c: int) -> np.ndarray:
        """Nodes of each class in each part, then in the zeros of each column: [parts + F, c]."""
        inside, parts = half[self.row], len(self.column)
        flat = np.bincount(self.part[inside] * c + y[self.row[inside]], minlength=parts * c)
        filled = flat.reshape(parts, c).astype(np.float64)
        zeros = np.tile(np.bincount(y[half], minlength=c).astype(np.float64), (self.num_columns, 1))
        np.subtract.at(zeros, self.column, filled)
        return np.concatenate([filled, zeros])


def _differs(sorted_values: np.ndarray) -> np.ndarray:
    """Where a value is not the one before it; bool, the first included."""
    return np.append(True, sorted_values[1:] != sorted_values[:-1])[: len(sorted_values)]

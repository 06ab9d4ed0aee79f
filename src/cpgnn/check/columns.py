"""Findings about feature columns: constant ones, and ones that give the label away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cpgnn.check.finding import EXAMPLES, Finding, named, number
from cpgnn.graph import Graph

BINS, BINS_PER_CLASS = 32, 16
"""A column of more values than this is cut into as many parts of equal size."""
GIVEN_AWAY = 0.8
"""A column tells a class if, looking at nothing else, it avoids this share of the errors."""
LEAST_NODES = 10
"""A class with fewer nodes in either half is not looked at."""
SHUFFLES = 3
MOST_ROWS, MOST_ENTRIES = 20_000, 20_000_000


def constant_columns(graph: Graph) -> list[Finding]:
    X = graph.features
    if X is None or not X.shape[0]:
        return []
    constant = np.flatnonzero(_highest(X) == _lowest(X))
    if not len(constant):
        return []
    every = len(constant) == X.shape[1]
    return [
        Finding(
            "problem" if every else "note",
            "constant-features",
            "No feature varies" if every else "Some features never vary",
            f"{len(constant):,} of {number(X.shape[1], 'column')} "
            f"{'has' if len(constant) == 1 else 'have'} one value for all nodes: "
            f"{_columns(graph, constant)}.",
            "Leave the features out (--features), or look for what went wrong when they were made."
            if every
            else "Nothing; they may be left out.",
            len(constant),
        )
    ]


def _highest(X: np.ndarray | sp.csr_array) -> np.ndarray:
    top = X.max(axis=0)
    return top.toarray().ravel() if sp.issparse(top) else np.asarray(top)


def _lowest(X: np.ndarray | sp.csr_array) -> np.ndarray:
    low = X.min(axis=0)
    return low.toarray().ravel() if sp.issparse(low) else np.asarray(low)


def given_away(graph: Graph) -> list[Finding]:
    """Columns that, alone, tell whether a node is of a class."""
    if not graph.num_features:
        return []
    rates = column_rates(graph)
    if rates is None:
        return []
    columns, classes = np.nonzero(rates.avoided >= max(GIVEN_AWAY, rates.by_chance))
    if not len(columns):
        return []
    told = np.unique(classes)
    best = np.unique(columns)
    order = np.argsort(-rates.avoided[best].max(axis=1), kind="stable")
    names = [repr(str(graph.class_names[i])) for i in told]
    all_told = len(told) == len(rates.looked_at)
    whom = "the class" if all_told else f"the class {', '.join(names[:EXAMPLES])}"
    top = best[order[0]]
    return [
        Finding(
            "problem" if all_told else "risk",
            "labels-in-features",
            f"Single features give {whom} away",
            f"Suspicious: {_columns(graph, best[order])}. {_name(graph, top)} alone avoids "
            f"{rates.avoided[top].max():.0%} of the errors of always naming the more frequent "
            f"answer, on nodes it was not fitted to (with shuffled labels at most "
            f"{max(rates.by_chance, 0):.0%}).",
            "Check that such a column is known before the class is; if it was made from the label, "
            "remove it.",
            len(best),
            named(graph, np.flatnonzero(np.isin(graph.labels, told))),
        )
    ]


def _columns(graph: Graph, columns: np.ndarray) -> str:
    """ "'age', 'size' and 2 more"."""
    shown = ", ".join(_name(graph, int(j)) for j in columns[:EXAMPLES])
    rest = len(columns) - EXAMPLES
    return shown + (f" and {rest:,} more" if rest > 0 else "")


def _name(graph: Graph, column: int) -> str:
    """What the owner calls it; else its number, from 1, the id column left out."""
    names = graph.feature_names
    return f"column {column + 1}" if names is None else repr(names[column])


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
    X = graph.features
    assert X is not None
    rng = np.random.default_rng(0)
    labelled = np.flatnonzero(graph.labels >= 0)
    most = min(MOST_ROWS, max(200, MOST_ENTRIES // max(X.shape[1], 1)))
    rows = np.sort(rng.permutation(labelled)[:most])
    y, c = graph.labels[rows], graph.num_classes
    fitted = _half_of_each_class(y, rng)
    least = np.minimum(*(np.bincount(y[half], minlength=c) for half in (fitted, ~fitted)))
    looked_at = np.flatnonzero(least >= LEAST_NODES)
    if len(looked_at) == 0 or len(np.unique(y)) < 2:
        return None
    cells = _Cells.of(X[rows], max(BINS, BINS_PER_CLASS * c))
    avoided = cells.avoided(y, fitted, c)
    ignored = np.setdiff1d(np.arange(c), looked_at)
    avoided[:, ignored] = -np.inf
    by_chance = -np.inf
    for _ in range(SHUFFLES):
        shuffled = y.copy()
        for half in (fitted, ~fitted):
            shuffled[half] = rng.permutation(y[half])
        by_chance = max(by_chance, cells.avoided(shuffled, fitted, c)[:, looked_at].max())
    return ColumnRates(avoided, looked_at, float(by_chance))


def _half_of_each_class(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A mask of every other node of each class, in random order."""
    order = np.lexsort((rng.random(len(y)), y))
    starts = np.searchsorted(y[order], y[order])
    half = np.empty(len(y), dtype=bool)
    half[order] = (np.arange(len(y)) - starts) % 2 == 0
    return half


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
        entries = sp.coo_array(X)
        keep = entries.data != 0
        row, column, value = entries.row[keep], entries.col[keep], entries.data[keep]
        order = np.lexsort((value, column))
        row, column, value = row[order], column[order], value[order]
        new_column = np.append(True, column[1:] != column[:-1])[: len(column)]
        new_value = new_column | np.append(True, value[1:] != value[:-1])[: len(column)]
        size = np.bincount(column, minlength=X.shape[1])
        values = np.bincount(column[new_value], minlength=X.shape[1])
        rank = np.arange(len(column)) - np.repeat(np.cumsum(size) - size, size)
        tile = rank * bins // np.maximum(size[column], 1)
        # Equal values share a part: the one that the first of them falls into.
        tile = tile[np.maximum.accumulate(np.where(new_value, np.arange(len(column)), 0))]
        new_tile = new_column | np.append(True, tile[1:] != tile[:-1])[: len(column)]
        cut = np.where(values[column] > bins, new_tile, new_value)
        return cls(row, np.cumsum(cut) - 1, column[cut.astype(bool)], X.shape[1])

    def avoided(self, y: np.ndarray, fitted: np.ndarray, c: int) -> np.ndarray:
        """1 - errors of the column / errors of always naming the more frequent answer, [F, c]."""
        guess_by = self._counts(y, fitted, c)
        measured = self._counts(y, ~fitted, c)
        says_yes = 2 * guess_by > guess_by.sum(axis=1, keepdims=True)
        wrong = np.where(says_yes, measured.sum(axis=1, keepdims=True) - measured, measured)
        column = np.append(self.column, np.arange(self.num_columns))
        errors = np.zeros((self.num_columns, c))
        np.add.at(errors, column, wrong)
        total = np.bincount(y[~fitted], minlength=c)
        baseline = np.minimum(total, total.sum() - total)
        return 1 - errors / np.maximum(baseline, 1)

    def _counts(self, y: np.ndarray, half: np.ndarray, c: int) -> np.ndarray:
        """Nodes of each class in each part, then in the zeros of each column: [parts + F, c]."""
        inside = half[self.row]
        parts = len(self.column)
        flat = np.bincount(self.part[inside] * c + y[self.row[inside]], minlength=parts * c)
        filled = flat.reshape(parts, c).astype(np.float64)
        zeros = np.tile(np.bincount(y[half], minlength=c).astype(np.float64), (self.num_columns, 1))
        np.subtract.at(zeros, self.column, filled)
        return np.concatenate([filled, zeros])

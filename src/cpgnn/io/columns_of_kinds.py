"""Columns that only some kinds of nodes have: a later file may leave out those of the others.

Accounts have an age, devices a memory. A later file of accounts alone has no column for the memory:
it is not missing there, and is laid out as in the first graph, as a gap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.mixed import Mixed
from cpgnn.engine.scaling import match_names
from cpgnn.graph import Graph
from cpgnn.io.feature_columns import FeatureColumns
from cpgnn.io.feature_matrix import FeatureRows


def with_kinds(columns: FeatureColumns, graph: Graph) -> FeatureColumns:
    """The same, knowing which columns each kind of nodes with features has in the graph."""
    kinds, X = graph.kinds, graph.features
    if kinds is None or X is None or columns.names is None:
        return columns
    if X.shape[1] != len(columns.is_category):
        return columns
    gaps = sp.csr_array(X.shape, dtype=bool) if graph.mixed is None else graph.mixed.gaps
    has, coded = kinds.knowing(gaps), np.flatnonzero(columns.is_category)
    has[coded] = kinds.marked(sp.csr_array(X[:, coded] != 0)) > 0  # without a 1, it is empty
    cells = {column.name: has[list(at)] for column, at in zip(columns, columns.places, strict=True)}
    of_kinds = {
        kind: frozenset(name for name, there in cells.items() if name and there[:, k].any())
        for k, kind in enumerate(kinds.names)
        if kinds.described[k]
    }
    return replace(columns, of_kinds=of_kinds)


def check_there(
    like: FeatureColumns, there: Collection[str], kinds: Iterable[str | None], what: str
) -> None:
    """Raises unless `there` are all columns of the `kinds`; where nobody says what the nodes are,
    all of the kind that shares the most columns with them."""
    if like.names is None:
        return
    told = set(kinds)
    sets = [own for kind, own in like.of_kinds.items() if kind in told]
    if not sets and like.of_kinds:
        seen = frozenset(there)
        sets = [max(like.of_kinds.values(), key=lambda own: (len(own & seen), -len(own - seen)))]
    needed = frozenset(like.names) if not sets else frozenset[str]().union(*sets)
    match_names([name for name in like.names if name in needed], list(there), what)


def laid_out(rows: FeatureRows, like: FeatureColumns) -> FeatureRows:
    """The same with the columns of an earlier graph, in its order; those that are not there are
    gaps, filled as it filled them."""
    X, names = rows.matrix, rows.columns.names
    assert names is not None
    n, width = X.shape
    at = dict(zip(names, rows.columns.places, strict=True))
    order = np.full(len(like.is_category), -1)
    for column, own in zip(like, like.places, strict=True):
        order[list(own)] = at.get(str(column.name), -1)
    absent = order < 0
    order[absent] = width + np.arange(absent.sum())
    medians = np.zeros(len(order)) if like.medians is None else np.array(like.medians)
    every = sp.csr_array(np.ones((n, 1), dtype=np.float32))
    filling = every @ sp.csr_array(medians[None, absent].astype(np.float32))
    gaps = rows.mixed.gaps if rows.mixed else sp.csr_array(X.shape, dtype=bool)
    gaps = sp.hstack([gaps, every @ sp.csr_array(np.ones((1, absent.sum())))], format="csc")
    if sp.issparse(X):
        X = sp.csr_array(sp.hstack([X, filling], format="csc")[:, order])
    else:
        X = np.hstack([X, filling.toarray()])[:, order]
    mixed = Mixed.of(gaps[:, order], like.groups)
    return replace(rows, matrix=X, columns=like, mixed=mixed)

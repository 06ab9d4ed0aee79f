"""An `.npz` as one of the files that `read_graph` puts together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.arrays import as_features
from cpgnn.engine.mixed import Mixed
from cpgnn.engine.scaling import match_names
from cpgnn.io.edges import EdgeList
from cpgnn.io.feature_columns import FeatureColumns, unknown_columns
from cpgnn.io.feature_matrix import FeatureRows, FeatureRule
from cpgnn.io.files import wrong
from cpgnn.io.graph_npz import features_in, graph_parts, listed_arrays, names_in
from cpgnn.io.ids import check_ids
from cpgnn.io.npz import read_npz_arrays
from cpgnn.io.tables import TableFile


def read_npz_edges(
    path: Path, unlabelled: str | None, rule: FeatureRule | None
) -> tuple[EdgeList, FeatureRows | None]:
    """The graph in an `.npz`, and its features where it has some and there is a rule for them."""
    parts = graph_parts(path, read_npz_arrays(path))
    index, labels, names = parts["node_ids"], parts["labels"], parts["class_names"]
    index = pd.RangeIndex(parts["num_nodes"]) if index is None else index
    ids = _ids(path, index)
    if labels is not None:
        labels, names = _named(labels, names, unlabelled)
    same = ("source", "target", "weights", "self_loops", "relation", "directed", "kinds")
    known = {"index": index, "labels": labels, "class_names": names or ()}
    edges = EdgeList(path, ids, **known, **{name: parts[name] for name in same})
    X, names = parts["features"], parts["feature_names"]
    if X is None or rule is None:
        return edges, None
    return edges, _feature_rows(path, None, X, names, rule, parts["mixed"])


def read_npz_features(path: Path, graph_ids: pa.Array, rule: FeatureRule) -> FeatureRows:
    """Features from an `.npz`, whose rows are named or follow the rule in `read_graph`."""
    arrays = read_npz_arrays(path)
    X = features_in(path, arrays)
    if X is None:
        must = "have an array 'features', or 'features_data' and its companions"
        raise wrong(path, "A feature file", must, listed_arrays(arrays))
    columns = names_in(path, arrays, "feature_names")
    index = names_in(path, arrays, "node_ids")
    rows = int(X.shape[0])
    ids = _ids(path, pd.RangeIndex(rows) if index is None else index)
    if index is not None and (len(index) != rows or not index.is_unique):
        must = f"name each of the {rows:,} rows of 'features' once"
        raise wrong(path, "'node_ids'", must, f"{index.nunique():,} names")
    if index is not None or pc.all(pc.is_in(graph_ids, value_set=ids)).as_py():
        return _feature_rows(path, ids, X, columns, rule)
    if rows != len(graph_ids):
        must = f"have a row for each of the {len(graph_ids):,} nodes, or 'node_ids'"
        raise wrong(path, "A feature file", must, f"{rows:,} rows without ids", "Add 'node_ids'.")
    found = _feature_rows(path, None, X, columns, rule)
    notice = f"{path}: no 'node_ids', so row i is taken to be the i-th node in the edges."
    return replace(found, notices=(notice, *found.notices))


def _feature_rows(
    path: Path,
    ids: pa.Array | None,
    X: Any,
    names: pd.Index | None,
    rule: FeatureRule,
    mixed: Mixed | None = None,
) -> FeatureRows:
    """The matrix as it is, or with the columns of an earlier file in its order."""
    matrix: Any = as_features(X)
    width = matrix.shape[1]
    if names is not None and not len(names) == names.nunique() == width:
        must = f"name each of the {width:,} features once"
        raise wrong(path, "'feature_names'", must, f"{names.nunique():,} names")
    called = None if names is None else tuple(map(str, names))
    columns, notices = rule.like, []
    if columns is None:
        columns = FeatureColumns.numeric(called, width)
        columns = replace(columns.with_medians_of(matrix), impute=bool(rule.impute))
    elif called is not None and columns.matrix_names is not None:
        order, extra = match_names(columns.matrix_names, called, str(path))
        notices = unknown_columns(path, extra)
        if order != list(range(width)):
            matrix = as_features(matrix[:, order])
            mixed = None if mixed is None else mixed.reordered(order)
    elif width != len(columns.is_category):
        must = f"have the {len(columns.is_category):,} columns that the model was fitted with"
        raise wrong(path, "Features", must, f"{width:,}")
    file = TableFile(path, pa.table({}))
    return FeatureRows(file, ids, matrix, columns, tuple(notices), mixed=mixed)


def _named(
    labels: np.ndarray, names: tuple[Hashable, ...] | None, unlabelled: str | None
) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Codes and names of the classes; without names they are the numbers that occur."""
    labels = labels.astype(np.int64)
    if names is None:
        values, codes = np.unique(labels[labels >= 0], return_inverse=True)
        labels[labels >= 0] = codes
        names = tuple(values.tolist())
    for unknown in (i for i, name in enumerate(names) if str(name) == unlabelled):
        labels = np.where(labels == unknown, -1, labels - (labels > unknown))
        return labels, names[:unknown] + names[unknown + 1 :]
    return labels, names


def _ids(path: Path, index: pd.Index) -> pa.Array:
    """The ids as text, after the rule for names."""
    ids = pc.cast(pa.array(index), pa.string())
    if index.dtype.kind not in "iu":
        check_ids(TableFile(path, pa.table({})), ids, lambda row: np.array([row]))
    return ids

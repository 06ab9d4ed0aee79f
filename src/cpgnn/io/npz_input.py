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
from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import listed
from cpgnn.io.columns import FeatureColumns
from cpgnn.io.edges import EdgeList
from cpgnn.io.features import FeatureRows
from cpgnn.io.matrix import Impute
from cpgnn.io.npz import feature_names_in, features_in, graph_parts, names_in
from cpgnn.io.origin import Origin
from cpgnn.io.places import wrong
from cpgnn.io.safe_npz import read_npz_arrays


def read_npz_edges(
    path: Path, unlabelled: str | None, impute: Impute, like: FeatureColumns | None
) -> tuple[EdgeList, FeatureRows | None]:
    """The graph in an `.npz`, and its features where it has some."""
    parts = graph_parts(path, read_npz_arrays(path))
    n, index = parts["num_nodes"], parts["node_ids"]
    index = pd.RangeIndex(n) if index is None else index
    labels, names = parts["labels"], parts["class_names"]
    if labels is not None:
        labels, names = _named(labels, names, unlabelled)
    edges = EdgeList(
        path,
        _as_text(index),
        parts["source"],
        parts["target"],
        parts["weights"],
        index=index,
        labels=labels,
        class_names=names or (),
        self_loops=parts["self_loops"],
    )
    if parts["features"] is None:
        return edges, None
    names = parts["feature_names"]
    return edges, _feature_rows(path, None, parts["features"], names, impute, like)


def read_npz_features(
    path: Path, graph_ids: pa.Array, impute: Impute, like: FeatureColumns | None
) -> FeatureRows:
    """Features from an `.npz`, whose rows are named or follow the rule in `read_graph`."""
    arrays = read_npz_arrays(path)
    X = features_in(path, arrays)
    if X is None:
        must = "have an array 'features', or 'features_data' and its companions"
        raise wrong(path, "A feature file", must, ", ".join(sorted(arrays)[:8]) or "no arrays")
    columns = feature_names_in(path, arrays, int(X.shape[1]))
    index = names_in(path, arrays, "node_ids")
    rows = int(X.shape[0])
    if index is not None:
        if len(index) != rows or not index.is_unique:
            must = f"name each of the {rows:,} rows of 'features' once"
            raise wrong(path, "'node_ids'", must, f"{index.nunique():,} names")
        return _feature_rows(path, _as_text(index), X, columns, impute, like)
    numbers = _as_text(pd.RangeIndex(rows))
    if pc.all(pc.is_in(graph_ids, value_set=numbers)).as_py():
        return _feature_rows(path, numbers, X, columns, impute, like)
    if rows != len(graph_ids):
        must = f"have a row for each of the {len(graph_ids):,} nodes, or 'node_ids'"
        raise wrong(path, "A feature file", must, f"{rows:,} rows without ids", "Add 'node_ids'.")
    notice = f"{path}: no 'node_ids', so row i is taken for the i-th node of the edges."
    return _feature_rows(path, None, X, columns, impute, like, (notice,))


def _feature_rows(
    path: Path,
    ids: pa.Array | None,
    X: Any,
    names: tuple[str, ...] | None,
    impute: Impute,
    like: FeatureColumns | None,
    notices: tuple[str, ...] = (),
) -> FeatureRows:
    """The matrix as it is, or with the columns of an earlier file in its order."""
    matrix: Any = as_features(X)
    if like is None:
        columns = FeatureColumns.numeric(names, matrix.shape[1])
        columns = replace(columns.with_medians_of(matrix), impute=True) if impute else columns
        return FeatureRows(Origin(path), ids, matrix, columns, notices)
    width = len(like.is_category)
    if names is not None and like.matrix_names is not None:
        order, extra = match_names(like.matrix_names, names, str(path))
        if extra:
            notices += (f"{path}: the model does not know {listed(extra)}; not used.",)
        if order != list(range(matrix.shape[1])):
            matrix = as_features(matrix[:, order])
    elif matrix.shape[1] != width:
        must = f"have the {width:,} columns that the model was fitted with"
        raise wrong(path, "Features", must, f"{matrix.shape[1]:,}")
    return FeatureRows(Origin(path), ids, matrix, like, notices)


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


def _as_text(index: pd.Index) -> pa.Array:
    return pc.cast(pa.array(index), pa.string())

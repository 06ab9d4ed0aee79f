"""`read_graph`: a user's files as one `Graph`, with a notice for everything that was decided."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from cpgnn.errors import GraphNotice, check_choice, wrong_value
from cpgnn.graph import Graph
from cpgnn.io.columns import FeatureColumns
from cpgnn.io.edges import EdgeList, lonely_first_row, read_edges
from cpgnn.io.features import FeatureRows, read_features, spread
from cpgnn.io.graphml import read_graphml
from cpgnn.io.ids import check_known, extend
from cpgnn.io.labels import LabelRows, class_notices, read_labels
from cpgnn.io.matrix import Impute, build_matrix
from cpgnn.io.npz_input import read_npz_edges, read_npz_features
from cpgnn.io.places import StrPath, count, shorten


@dataclass(frozen=True)
class LoadedGraph:
    """A graph as its files describe it."""

    graph: Graph
    """Everything noticed on the way is in `graph.notices`."""
    split: np.ndarray | None
    """"train", "val", "test" or "" for each node; None where the files name no split."""
    rows: np.ndarray | None = None
    """The edges as the file lists them, positions [2, m]; None unless they were asked for."""
    columns: FeatureColumns | None = None
    """What the columns of the features are, to read a later file alike; None without features."""


def read_graph(
    edges: StrPath,
    labels: StrPath | None = None,
    features: StrPath | None = None,
    *,
    unlabelled: str | None = None,
    strict_ids: bool = False,
    impute: Impute = None,
    one_hot: bool = False,
    header: bool | None = None,
    keep_rows: bool = False,
    like: FeatureColumns | None = None,
) -> LoadedGraph:
    """Read a graph from files.

    edges: a table (CSV, TSV, blanks, each also `.gz`; Parquet) with source, target[, weight];
        or GraphML (`.graphml`), or our `.npz`, which may bring labels and features along.
    labels: a table with id, label[, split = train|val|test]. An empty label means unknown.
        Replaces the labels of a graph file.
    features: a table with id and one numeric column each; or an `.npz` with `features` [n, F] or
        CSR (`features_data`, …) and `node_ids` as in our graph files. Without `node_ids`, row i
        is the node called i if the graph's ids are such numbers; otherwise, if there are as many
        rows as nodes, row i is the i-th node of the edges. Replaces those of a graph file.
    unlabelled: another label that means unknown.
    strict_ids: refuse ids in labels or features that the edges do not have.
    impute: "median" fills missing cells, and nodes without features, with the column's median
        (zeros in one-hot columns); otherwise they are an error.
    one_hot: turn each text column into one column for each of its values, sorted.
    header: whether the tables have a header; found from the first lines by default, by the rule
        in `cpgnn.io.headers`.
    keep_rows: also return the rows of the edges, which `cpgnn.check` looks at.
    like: the `columns` of an earlier graph. The features are then found by their names and put in
        its order, text becomes its categories, and gaps, if `impute` says so, its medians; without
        names, columns count by position.

    Ids are text exactly as written. The nodes are the union of the ids in edges, features and
    labels, in the order of first appearance: sources, targets, features, labels. Classes are
    sorted, as numbers if all are integers.
    """
    check_choice("impute", impute, (None, "median"))
    if impute and like is not None and like.medians is None:
        hint = "Try like=first.columns.with_medians_of(first.graph.features)."
        raise wrong_value("like", "have the medians of the first graph to fill gaps", "none", hint)
    unlabelled = None if unlabelled is None else str(unlabelled)
    given, feature_rows = _edges(Path(edges), unlabelled, impute, header, features is None, like)
    if features is not None:
        feature_rows = _features(Path(features), given, impute, one_hot, header, like)
    label_rows = None if labels is None else read_labels(Path(labels), unlabelled, header)
    notices = list(given.notices)
    named = [rows.ids for rows in (feature_rows, label_rows) if rows and rows.ids is not None]
    if pair := lonely_first_row(given, named):
        notices.append(
            f"{edges}: the first row ({', '.join(pair)}) was read as an edge, though neither name "
            "occurs again. If it is a header, call its columns source and target."
        )

    ids, X = given.ids, None
    at_features, at_labels = np.arange(len(ids)), np.empty(0, dtype=np.int64)
    if feature_rows is not None:
        notices += feature_rows.notices
        if feature_rows.ids is not None:
            notices += _compare_features(feature_rows, given, strict_ids)
            at_features, ids = extend(ids, feature_rows.ids)
    if label_rows is not None:
        notices += label_rows.origin.notices
        notices += class_notices(Path(labels or ""), label_rows.class_names, label_rows.codes)
        notices += _compare_labels(label_rows, given, strict_ids)
        at_labels, ids = extend(ids, label_rows.ids)
    if feature_rows is not None:
        places = _Places(given, ids, label_rows, at_labels)
        X, told = spread(feature_rows, at_features, len(ids), impute, places)
        notices += told
    columns = None if feature_rows is None else feature_rows.columns
    loaded = _assemble(given, ids, X, columns, label_rows, at_labels, notices)
    return replace(loaded, rows=np.stack([given.source, given.target])) if keep_rows else loaded


def _edges(
    path: Path,
    unlabelled: str | None,
    impute: Impute,
    header: bool | None,
    own_features: bool,
    like: FeatureColumns | None,
) -> tuple[EdgeList, FeatureRows | None]:
    """The edges and, if wanted, the features that a graph file brings along."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".npz"):
        edges, rows = read_npz_edges(path, unlabelled, impute, like)
        return edges, rows if own_features else None
    if not name.endswith((".graphml", ".xml")):
        return read_edges(path, header), None
    edges, attributes = read_graphml(path, unlabelled)
    if attributes is None or not own_features:
        return edges, None
    origin, table = attributes.origin, attributes.table
    matrix, columns, told = build_matrix(origin, table, impute, one_hot=False, like=like)
    used = columns.names or ()
    names = ", ".join(used[:5]) + (", …" if len(used) > 5 else "")
    notice = f"{path}: {count(len(used), 'numeric node attribute')} used as features ({names})."
    return edges, FeatureRows(origin, None, matrix, columns, (notice, *told))


def _features(
    path: Path,
    given: EdgeList,
    impute: Impute,
    one_hot: bool,
    header: bool | None,
    like: FeatureColumns | None,
) -> FeatureRows:
    if path.suffix.lower() == ".npz":
        return read_npz_features(path, given.ids, impute, like)
    return read_features(path, impute=impute, one_hot=one_hot, header=header, like=like)


def _compare_features(rows: FeatureRows, given: EdgeList, strict: bool) -> list[str]:
    """Features may belong to isolated nodes, but not all of them."""
    return check_known(
        rows.origin, rows.ids, given.ids, given.path, strict, lambda unknown: bool(unknown.all())
    )


def _compare_labels(rows: LabelRows, given: EdgeList, strict: bool) -> list[str]:
    """At least half of the labelled ids must be known."""
    known = rows.codes >= 0

    def too_many(unknown: np.ndarray) -> bool:
        return bool(2 * (unknown & known).sum() > known.sum())

    return check_known(rows.origin, rows.ids, given.ids, given.path, strict, too_many)


@dataclass(frozen=True)
class _Places:
    """Where each node is first named, for a message about one without features."""

    given: EdgeList
    ids: pa.Array
    labels: LabelRows | None
    at_labels: np.ndarray

    def __call__(self, position: int) -> str:
        name = shorten(self.ids[position].as_py())
        if position < len(self.given.ids):
            return f"{name} ({self.given.place_of(position)})"
        assert self.labels is not None  # nodes behind the edges' and features' are the labels'
        row = int(np.flatnonzero(self.at_labels == position)[0])
        return f"{name} ({self.labels.origin.path}, {self.labels.origin.place(row)})"


def _assemble(
    given: EdgeList,
    ids: pa.Array,
    features: Any,
    columns: FeatureColumns | None,
    rows: LabelRows | None,
    at_labels: np.ndarray,
    notices: list[str],
) -> LoadedGraph:
    n, known = len(ids), len(given.ids)
    labels, class_names, split = _padded(given.labels, n, -1), given.class_names, given.split
    split = None if split is None else _padded(split, n, "")
    if rows is not None:
        class_names = rows.class_names
        labels = np.full(n, -1, dtype=np.int64)
        labels[at_labels] = rows.codes
        if rows.split is not None:
            split = np.full(n, "", dtype="<U5")
            split[at_labels] = rows.split
    index = given.index if given.index is not None and n == known else None
    if index is None:
        index = pd.Index(ids.to_numpy(zero_copy_only=False), dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        graph = Graph.from_edges(
            given.source,
            given.target,
            weights=given.weights,
            num_nodes=n,
            features=features,
            feature_names=None if columns is None else columns.matrix_names,
            labels=labels,
            node_ids=index,
            class_names=class_names,
            self_loops=given.self_loops,
        )
    isolated = int((np.diff(graph.adjacency.indptr) == 0).sum())
    if isolated:
        notices.append(f"{count(isolated, 'node has', 'nodes have')} no edge to another node.")
    graph = replace(graph, notices=(*notices, *graph.notices))
    return LoadedGraph(graph, split, columns=columns)


def _padded(values: np.ndarray | None, n: int, rest: Any) -> np.ndarray:
    if values is None:
        return np.full(n, rest)
    return np.concatenate([values, np.full(n - len(values), rest, dtype=values.dtype)])

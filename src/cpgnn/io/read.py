"""`read_graph`: a user's files as one `Graph`, with a notice for everything that was decided."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.memory import check_classes
from cpgnn.engine.text import count, listed
from cpgnn.errors import GraphNotice, check_choice, mentions, wrong_value
from cpgnn.graph import Graph
from cpgnn.io import rare_classes
from cpgnn.io.address import Address, Place, locate
from cpgnn.io.column_choice import ColumnOptions, Columns
from cpgnn.io.columns_of_kinds import with_kinds
from cpgnn.io.edges import EdgeList, lonely_first_row, read_edges
from cpgnn.io.feature_columns import FeatureColumns
from cpgnn.io.feature_join import join_features
from cpgnn.io.feature_matrix import FeatureRows, FeatureRule, Impute, build_matrix
from cpgnn.io.features import read_features, spread
from cpgnn.io.files import StrPath, about
from cpgnn.io.frames import as_given, frames
from cpgnn.io.graphml import read_graphml
from cpgnn.io.ids import check_known
from cpgnn.io.labels import class_notices, read_labels
from cpgnn.io.names import check_names
from cpgnn.io.node_kinds import find_kinds
from cpgnn.io.npz_input import read_npz_edges, read_npz_features
from cpgnn.io.parts import Parts
from cpgnn.io.problems import Problems
from cpgnn.io.times import TimedEdges, Times


@dataclass(frozen=True)
class LoadedGraph:
    """A graph as its files describe it."""

    graph: Graph
    """Everything noticed on the way is in `graph.notices`."""
    split: np.ndarray | None
    """"train", "val", "test" or "" for each node; None where the files name no split."""
    rows: np.ndarray | None = None
    """The edges as the file lists them: positions of their ends and, where edges have types, the
    code of the type, [2 or 3, m]; None unless they were asked for."""
    columns: FeatureColumns | None = None
    """What the columns of the features are, for reading later files; None without features."""
    described: np.ndarray | None = None
    """Which nodes have a row in the features [n]; None without features."""
    gaps: dict[str, int] = field(default_factory=dict)
    """How many missing cells of the features were filled, by column."""
    times: Times | None = None
    """When nodes and edges came, where `split_time` names a column."""
    guessed: dict[str, str] = field(default_factory=dict)
    """Columns of the edges that were found by what they hold, for reading later files."""
    headers: tuple[tuple[str, ...], ...] = ()
    """The headers of the tables, without odd names, for reading later files."""
    undirected: bool = False
    """Whether `directed=False` said that edges have no direction."""


def read_graph(
    edges: StrPath | pd.DataFrame,
    labels: StrPath | pd.DataFrame | pd.Series | None = None,
    features: StrPath | Sequence[StrPath] | pd.DataFrame | None = None,
    *,
    unlabelled: str | None = None,
    strict_ids: bool = False,
    impute: Impute = None,
    one_hot: bool = False,
    merge_rare: int | None = None,
    keep_rows: bool | int = False,
    like: FeatureColumns | None = None,
    known: pd.Index | None = None,
    **columns: Unpack[ColumnOptions],
) -> LoadedGraph:
    """Read a graph from files, or from tables of pandas, which are read by the same rules.

    edges: a table (CSV, TSV, space-separated, each also `.gz`; Parquet; an Excel workbook; a table
        of a database: see `cpgnn.io.address`) with source, target[, weight]; a column after them
        that is called type, relation or kind says what an edge means;
        or GraphML (`.graphml`), or our `.npz`, which may bring labels and features along.
    labels: a table with id, label[, split = train|val|test]. An empty label means unknown.
        Replaces the labels of a graph file.
    features: a table with id and one column per feature, numbers or text; or an `.npz` with
        `features` or CSR (`features_data`, …) and `node_ids` as in our graph files. Without
        `node_ids`, row i is the node called i if the graph's ids are such numbers; otherwise, if
        there are as many rows as nodes, row i is the i-th node of the edges. Replaces those of a
        graph file. Several tables have different columns, which are joined by node id.
    unlabelled: another label that means unknown.
    strict_ids: refuse ids in labels or features that the edges do not have.
    impute: missing cells, and nodes without features, get the column's median (zeros in 0/1
        columns), and `graph.mixed` remembers them, for trees; with "median" it does not.
    one_hot: each text column becomes one 0/1 column for each of its values, sorted, and
        `graph.mixed` remembers them as one category, for trees; with `one_hot` it does not. A
        column with a different value in every row is ignored. Numbers in other formats (1.234,50 €,
        45 %, dates, yes and no) are read as numbers, with a notice.
    merge_rare: classes with fewer labels than this become one class, "other".
    keep_rows: also return the rows of the edges, which `cpgnn.check` looks at; if a number, only if
        there are at most that many.
    like: the `columns` of an earlier graph. The features are then found by their names and put in
        its order, text becomes its categories, and gaps, if `impute` says so, its medians; without
        names, columns are matched by position.
    known: ids of an earlier graph, which these files add to: such nodes need no features here.
    columns: names of columns. `source`, `target`, `weight` in the edges; `id`, `label` in the
        labels; `id`, and `feature` (columns to use) or `ignore` (columns to skip) in the features.
        `relation_column` in the edges: their type ("": none). `directed`: edges lead from source to
        target, or those of the types in a list do. `kind_column` in labels and features: what a
        node is ("": nothing is said); without it, ends of edges that share no node are kinds if all
        labels sit on one. A kind may have no features; only the one with labels is predicted.
        `split_time` in edges or labels: when each came. And `decimal`, "." or ",", where numbers
        could be read in two ways; `header`, whether the tables have one (detected from the first
        lines by default, by the rule in `cpgnn.io.headers`; `headers` of an earlier graph are
        known again); `encoding` of text that is neither UTF-8 nor UTF-16 (Windows-1252 by
        default).

    Ids are text exactly as written. The nodes are the union of the ids in edges, features and
    labels, in the order of first appearance: sources, targets, features, labels. Classes are
    sorted, as numbers if all are integers.
    """
    check_choice("impute", impute, (None, "median"))
    if impute and like is not None and like.medians is None:
        hint = "Try like=first.columns.with_medians_of(first.graph.features)."
        raise wrong_value("like", "have the medians of the first graph to fill gaps", "none", hint)
    tables = None
    if isinstance(edges, pd.DataFrame):
        tables = edges, labels, features = frames(edges, labels, features)
        columns["header"] = True
    chosen, rule = Columns(**columns), FeatureRule(impute, one_hot, like)
    unlabelled = None if unlabelled is None else str(unlabelled)
    before = pa.array([] if known is None else known.astype(str), pa.string())
    parts = _read_files(edges, labels, features, unlabelled, rule, chosen, before)
    given, rows, ids = parts.edges, parts.features, parts.ids
    notices = [*given.notices, *_doubtful_first_row(parts, chosen)]
    notices += _compared(parts, before, strict_ids)
    _check_names(parts)
    kinds, told = find_kinds(parts, chosen, adds=known is not None)
    notices += told
    old = pc.is_in(ids, value_set=before.cast(ids.type)).to_numpy(zero_copy_only=False)
    X, mixed, described = None, None, None
    if rows is not None:
        bare, adds = old if kinds is None else old | ~kinds.has_features, known is not None
        X, mixed, told = spread(rows, parts.at_features, bare, impute, parts.place_of, lenient=adds)
        notices += told
        described = np.isin(np.arange(len(ids)), parts.at_features)
    graph, split = _assemble(parts, X)
    isolated = int(((np.diff(graph.adjacency.indptr) == 0) & ~old).sum())
    if isolated:
        notices.append(f"{count(isolated, 'node has', 'nodes have')} no edge to another node.")
    if merge_rare is not None:
        merged, told = rare_classes.merge_rare(graph, merge_rare)
        graph, notices = replace(merged, notices=graph.notices), [*notices, *told]
    if split is None:
        notices += rare_classes.single_labels(graph)
    said = tuple(dict.fromkeys((*notices, *graph.notices)))  # one file may be read twice
    settled = chosen.directed is False
    said = tuple(notice for notice in said if not (settled and mentions(notice, "directed")))
    graph = replace(graph, notices=said, kinds=kinds, mixed=mixed)
    kept = keep_rows is True or len(given.source) <= keep_rows
    made = None if rows is None else with_kinds(rows.columns, graph)
    return LoadedGraph(
        graph if tables is None else as_given(graph, chosen, *tables),
        split,
        rows=given.listed() if keep_rows and kept else None,
        columns=made,
        described=described,
        gaps={} if rows is None else rows.gaps,
        times=_times(parts, chosen.split_time),
        guessed=given.guessed,
        headers=() if tables else parts.headers,
        undirected=settled,
    )


# -- from files to parts ------------------------------------------------------------------------


def _read_files(
    edges: StrPath,
    labels: StrPath | None,
    features: Any,
    unlabelled: str | None,
    rule: FeatureRule,
    columns: Columns,
    before: pa.Array,
) -> Parts:
    problems, label_rows, nodes = Problems(), None, None
    with problems.noted():
        given, feature_rows = _read_edges(
            locate(edges), unlabelled, None if features else rule, columns
        )
        nodes = pa.concat_arrays([given.ids, before.cast(given.ids.type)])
    with problems.noted():
        if labels is not None:
            label_rows = read_labels(locate(labels), unlabelled, columns, nodes)
    if label_rows is not None and label_rows.file.header:
        columns = replace(columns, of_labels=label_rows.file.header[1:])
    one = isinstance(features, str | os.PathLike)
    paths = [locate(path) for path in ([features] if one else features or ())]
    is_npz = [os.fspath(path).lower().endswith(".npz") for path in paths]
    if any(is_npz) and len(paths) > 1:
        raise wrong_value("features", "be tables if there are several files", "an '.npz'")
    read = []
    labelled = None if label_rows is None else label_rows.labelled
    partly = len(paths) > 1 or bool(rule.like and rule.like.of_kinds)
    how = {"labelled": labelled, "partly": partly, "nodes": nodes}
    for path in paths if not any(is_npz) else ():
        with problems.noted():
            read.append(read_features(path, rule, columns.for_one_of(len(paths)), **how))
    problems.stop()
    if label_rows is not None and label_rows.file.path in paths:  # there, the others are used
        label_rows = replace(label_rows, file=replace(label_rows.file, unused=()))
    if read and partly:
        feature_rows = join_features(read, rule, columns)
    elif read:
        [feature_rows] = read
    elif paths:  # its rows may be the nodes of the edges
        feature_rows = read_npz_features(Path(paths[0]), given.ids, rule)
    return Parts.of(given, feature_rows, label_rows)


def _read_edges(
    path: Place, unlabelled: str | None, rule: FeatureRule | None, columns: Columns
) -> tuple[EdgeList, FeatureRows | None]:
    """The edges, and the features that a graph file brings along; not without a `rule`."""
    if isinstance(path, Address):
        return read_edges(path, columns), None
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".npz"):
        edges, rows = read_npz_edges(path, unlabelled, rule)
        if edges.relation is None and isinstance(columns.directed, bool):
            edges = replace(edges, directed=columns.directed)
        return edges, rows
    if not name.endswith((".graphml", ".xml")):
        return read_edges(path, columns), None
    edges, table = read_graphml(path, unlabelled, columns)
    if table is None or rule is None:
        return edges, None
    built = build_matrix(table, rule, Columns())
    used = built.columns.used((table.header or ())[1:])
    attributes = count(len(used), "numeric node attribute")
    notice = f"{path}: {attributes} used as features ({listed(used)})."
    ids = None if edges.kinds is None else table.table.column(0).combine_chunks()
    return edges, replace(built, ids=ids, notices=(notice, *built.notices))


# -- what is to be said and refused -------------------------------------------------------------


def _doubtful_first_row(parts: Parts, columns: Columns) -> list[str]:
    others = [rows.ids for rows in (parts.features, parts.labels) if rows and rows.ids is not None]
    pair = None if columns.header is False else lonely_first_row(parts.edges, others)
    if pair is None:
        return []
    return [
        f"{parts.edges.path}: the first row ({', '.join(pair)}) was read as an edge, though "
        "neither name occurs again. If it is a header, name its columns source and target."
    ]


def _compared(parts: Parts, before: pa.Array, strict: bool) -> list[str]:
    """What features and labels have to say, and how their ids fit those of the edges.

    Features may belong to isolated nodes, but not all of a file; of the labelled ids at least half
    must be known.
    """
    given, features, labels = parts.edges, parts.features, parts.labels
    problems, notices = Problems(), list[str]()
    if features is not None:
        notices += features.notices
        ids = pa.concat_arrays([given.ids, before.cast(given.ids.type)])
        with problems.noted():
            for rows in features.parts or (features,):
                if rows.ids is not None:
                    told = check_known(rows.file, rows.ids, ids, given.path, strict, np.all)
                    notices += told
    if labels is not None:
        known = labels.codes >= 0
        notices += labels.file.notices
        notices += class_notices(labels.file.path, labels.class_names, labels.codes)
        with problems.noted():
            notices += check_known(
                labels.file,
                labels.ids,
                given.ids,
                given.path,
                strict,
                lambda unknown: 2 * (unknown & known).sum() > known.sum(),
            )
    problems.stop()
    return notices


def _check_names(parts: Parts) -> None:
    path, classes = parts.edges.path, parts.edges.class_names
    if parts.labels is not None:
        path, classes = parts.labels.file.path, parts.labels.class_names
    check_names("A class name", classes, path)
    with about(path):
        check_classes(len(classes))
    if parts.features is not None:
        names = parts.features.columns.matrix_names or ()
        check_names("A feature name", names, parts.features.file.path)


# -- from parts to a graph ----------------------------------------------------------------------


def _assemble(parts: Parts, X: Any) -> tuple[Graph, np.ndarray | None]:
    """The graph and its split; the nodes of other files come after those of the edges."""
    given, rows, ids, n = parts.edges, parts.labels, parts.ids, len(parts.ids)
    labels, class_names, split = given.labels, given.class_names, given.split
    at_split = at_given = np.arange(len(given.ids))
    if rows is not None:
        labels, class_names, at_given = rows.codes, rows.class_names, parts.at_labels
        if rows.split is not None:
            split, at_split = rows.split, parts.at_labels
    codes, uses = np.full(n, -1, dtype=np.int64), np.full(n, "", dtype="<U5")
    if labels is not None:
        codes[at_given] = labels
    if split is not None:
        uses[at_split] = split
    index = given.index
    if index is None or n > len(index):
        index = pd.Index(ids.to_numpy(zero_copy_only=False), dtype=object)
    with about(given.path), warnings.catch_warnings(action="ignore", category=GraphNotice):
        graph = Graph.from_edges(
            given.source,
            given.target,
            weights=given.weights,
            num_nodes=n,
            features=X,
            feature_names=None if parts.features is None else parts.features.columns.matrix_names,
            labels=codes,
            node_ids=index,
            class_names=class_names,
            self_loops=given.self_loops,
            relation=given.relation,
            directed=given.directed,
        )
    return graph, None if split is None else uses


def _times(parts: Parts, column: str | None) -> Times | None:
    """When nodes came: as their labels say, else with their first edge."""
    if column is None:
        return None
    given, labels = parts.edges, parts.labels
    nodes, dated, edges = np.full(len(parts.ids), np.nan), given.dated, None
    if given.times is not None:
        ends = (given.source, given.target)
        edges = TimedEdges(*ends, given.weights, given.relation, given.directed, given.times)
        for end in ends:
            np.fmin.at(nodes, end, given.times)
    if labels is not None and labels.times is not None:
        if edges is not None and labels.dated != dated:
            what, other = ("numbers", "dates") if dated else ("dates", "numbers")
            must = f"hold {other} in both files, as in {given.path}"
            raise labels.file.wrong(f"Column {column!r}", must, what)
        nodes[:], dated = np.nan, labels.dated
        nodes[parts.at_labels] = labels.times
    elif edges is None:
        must = "name a column of the edges or of the labels"
        raise wrong_value("split_time", must, repr(column))
    return Times(column, nodes, dated, edges)

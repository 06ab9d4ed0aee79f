"""Edges, labels and features as Spark tables, checked before any long job.

The rules are those of files on one machine (`cpgnn.io`): ids are integers or text and compare as
text, and a row that makes no sense is an error that shows it. Columns are checked by their schema,
rows by one pass over each table, ids by one over all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cpgnn.engine.text import listed
from cpgnn.errors import wrong_value
from cpgnn.io.files import wrong
from cpgnn.io.labels import SPLITS
from cpgnn.relations.edge_types import Directed
from cpgnn.spark.columns import EDGES, FEATURES, INTEGER, KINDS, LABELS, check_columns
from cpgnn.spark.errors import ERRORS, spark_errors
from cpgnn.spark.ids import Ids, Names, check_ids, check_padding
from cpgnn.spark.rows import Rule, check_rows, trimmed

LARGEST = float(np.finfo(np.float32).max)
TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")
"""[catalog.][schema.]table"""


@dataclass(frozen=True)
class Tables:
    """Checked tables; ids are bigint in all of them, or text in all of them."""

    edges: DataFrame
    """source, target[, weight double][, type]: rows as given, in one direction or both."""
    labels: DataFrame | None
    """id, label (text, null = unknown), split ("" = not said)."""
    features: DataFrame | None
    """id and one float column each, x0 … x(F-1)."""
    feature_names: tuple[str, ...]
    """What their owner calls them."""
    nodes: DataFrame
    """id of every node of these tables, once; kept on the executors."""
    num_nodes: int
    rows: int
    """Rows of `edges`."""
    self_loops: int
    """Rows of `edges` that join a node with itself."""
    kinds: DataFrame | None = None
    """id, kind of the nodes that have one."""
    directed: Directed = False
    """Whether edges lead from source to target: all, none, or those of some types."""
    content: str = ""
    """Rows and a sum of hashes of every table: tells these tables from others."""

    @property
    def weighted(self) -> bool:
        return "weight" in self.edges.columns

    @property
    def num_features(self) -> int:
        return len(self.feature_names)

    @property
    def labelled(self) -> DataFrame:
        """The rows of `labels` whose label is known."""
        assert self.labels is not None
        return self.labels.where(F.col("label").isNotNull())


@dataclass(frozen=True)
class Given:
    """A graph as its owner has it: tables whose columns count by position, as in files."""

    edges: DataFrame
    """source, target[, weight]; ids are integers or text."""
    labels: DataFrame | None = None
    """id, label[, split = train|val|test]."""
    features: DataFrame | None = None
    """id and one numeric column each."""
    names: Names = field(default_factory=Names)
    kinds: DataFrame | None = None
    """id, kind: what nodes are; those without a row are "other"."""
    relation: str | None = None
    """The column of the edges that names their type."""
    directed: Directed = False
    """Edges lead from source to target; or those of the types in such a list do."""

    @classmethod
    def read(
        cls,
        spark: SparkSession,
        edges: str,
        labels: str | None = None,
        features: str | None = None,
        *,
        kinds: str | None = None,
        relation: str | None = None,
        directed: Directed = False,
    ) -> Given:
        """Parquet tables by their paths, or tables of the catalog by their names."""
        paths = (labels, features, kinds)
        rest = [None if path is None else _read(spark, path) for path in paths]
        names = Names(edges, labels or "labels", features or "features", kinds or "kinds")
        return cls(_read(spark, edges), rest[0], rest[1], names, rest[2], relation, directed)


def _read(spark: SparkSession, path: str) -> DataFrame:
    with spark_errors(path):
        if TABLE_NAME.fullmatch(path) and spark.catalog.tableExists(path):
            return spark.table(path)
        found = _delta(spark, path) if _is_there(spark, f"{path}/_delta_log") else None
        found = spark.read.parquet(path) if found is None else found
        if not found.columns:  # asked for here, because through Connect reading is lazy
            raise wrong(path, "The table", "have columns", "none")
        return found


def _is_there(spark: SparkSession, path: str) -> bool:
    try:
        return bool(spark.read.format("binaryFile").load(path).schema)
    except ERRORS:
        return False


def _delta(spark: SparkSession, path: str) -> DataFrame:
    """A Delta table: read as Parquet, files would count that its log says are gone."""
    try:
        found = spark.read.format("delta").load(path)
        assert found.schema
    except ERRORS as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        hint = "Start Spark with delta-spark, or give a Parquet copy."
        must, got = (
            "be Parquet, or Delta where Spark reads it",
            "Delta, which this Spark cannot read",
        )
        raise wrong(path, "The table", must, got, hint) from error
    return found


@spark_errors()
def check_tables(given: Given, *, unlabelled: str | None = None) -> Tables:
    """The tables with plain names and types; the first thing that is wrong is an `InputError`."""
    names, ids = given.names, []
    places = _edge_places(given)
    plain = given.edges.select(*(column_at(given.edges, i) for i in places))
    for table, name, layout in (
        (plain, names.edges, EDGES),
        (given.labels, names.labels, LABELS),
        (given.features, names.features, FEATURES),
        (given.kinds, names.kinds, KINDS),
    ):
        if table is not None:
            check_columns(table.schema, name, layout)
            ids += table.schema.fields[: 2 if layout is EDGES else 1]
    whole = all(isinstance(field.dataType, INTEGER) for field in ids)
    kind = T.LongType() if whole else T.StringType()
    edges, found = _edges(given.edges, places, kind, given)
    labels = features = kinds = None
    counted, num_described = [found], 0
    if given.labels is not None:
        labels, more = _labels(given.labels, kind, unlabelled, names.labels)
        counted.append(more)
    if given.features is not None:
        features, more = _features(given.features, kind, names.features)
        counted.append(more)
        num_described = more["rows"]
    if given.kinds is not None:
        kinds, more = _kinds(given.kinds, kind, names.kinds)
        counted.append(more)
    own = () if given.features is None else tuple(given.features.columns[1:])
    named = Ids(edges, labels, features, kinds, num_described)
    if any(one["padded"] for one in counted):
        check_padding(named, names)
    nodes, num_nodes = check_ids(named, names)
    content = f"{[(one['rows'], one['content']) for one in counted]} {given.directed}"
    rows, loops = found["rows"], found["loops"]
    return Tables(
        edges,
        labels,
        features,
        own,
        nodes,
        num_nodes,
        rows,
        loops,
        kinds,
        given.directed,
        content,
    )


# -- rows, by one pass over each table ------------------------------------------------------------


Checked = tuple[DataFrame, dict[str, int]]
"""A table and what was counted in it."""


def proper_rows(edges: DataFrame) -> Column:
    """Whether a row joins two different nodes with a weight."""
    proper = F.col("source") != F.col("target")
    return proper & (F.col("weight").cast("float") > 0) if "weight" in edges.columns else proper


def _edges(table: DataFrame, places: list[int], kind: T.DataType, given: Given) -> Checked:
    """`places`: of source, target[, weight]; the type is where `given.relation` says."""
    ends = ("source", "target")
    both = zip(places[:2], ends, strict=True)
    columns = [column_at(table, i).cast(kind).alias(end) for i, end in both]
    rules, loop = [], F.col("source") == F.col("target")
    if len(places) == 3:
        columns.append(column_at(table, places[2]).cast("double").alias("weight"))
        w = F.col("weight")
        bad = w.isNull() | F.isnan(w) | (w < 0) | (w > LARGEST)
        rules.append(Rule(bad, "An edge weight", "be a finite number of at least 0"))
    if given.relation is not None:
        at = table.columns.index(given.relation)
        columns.append(trimmed(column_at(table, at).cast("string")).alias("type"))
        unnamed = F.col("type").isNull() | (F.col("type") == "")
        rules.append(Rule(unnamed, "The type of an edge", "not be empty"))
    edges = table.select(*columns)
    return edges, check_rows(edges, given.names.edges, "Edges", ends, rules, loop)


def _edge_places(given: Given) -> list[int]:
    """Where the columns of the edges are, without that of their types."""
    columns, name = given.edges.columns, given.relation
    if name is not None and name not in columns[2:]:
        must = "name a column of the edges, after source and target"
        raise wrong_value("relation", must, f"{name!r}, and the columns {listed(columns)}")
    return [i for i, column in enumerate(columns) if column != name]


def _kinds(table: DataFrame, kind: T.DataType, name: str) -> Checked:
    named = trimmed(column_at(table, 1).cast("string"))
    kinds = table.select(column_at(table, 0).cast(kind).alias("id"), named.alias("kind"))
    empty = F.col("kind").isNull() | (F.col("kind") == "")
    rule = Rule(empty, "The kind of a node", "not be empty")
    return kinds, check_rows(kinds, name, "Kinds", ("id",), [rule])


def _labels(table: DataFrame, kind: T.DataType, unlabelled: str | None, name: str) -> Checked:
    text = column_at(table, 1).cast("string")
    bare = trimmed(text)
    unknown = bare == ""
    if unlabelled is not None:
        unknown = unknown | (bare == unlabelled.strip())
    split: Column = F.lit("")
    if len(table.columns) == 3:
        split = F.coalesce(trimmed(column_at(table, 2).cast("string")), F.lit(""))
    labels = table.select(
        column_at(table, 0).cast(kind).alias("id"),
        F.when(~unknown, text).alias("label"),
        split.alias("split"),
    )
    rule = Rule(~F.col("split").isin("", *SPLITS), "A split", "be train, val, test or empty")
    return labels, check_rows(labels, name, "Labels", ("id",), [rule])


def _features(table: DataFrame, kind: T.DataType, name: str) -> Checked:
    values = {f"x{i}": column_at(table, i + 1).cast("float") for i in range(len(table.columns) - 1)}
    features = table.select(
        column_at(table, 0).cast(kind).alias("id"), *(x.alias(n) for n, x in values.items())
    )
    # An array: Connect refuses expressions as deep as a term for each of many columns makes them.
    bad = F.exists(F.array(*values), lambda x: x.isNull() | F.isnan(x) | (F.abs(x) > LARGEST))
    rule = Rule(bad, "A feature", "be a finite 32-bit number", "Fill the gaps first.")
    return features, check_rows(features, name, "Features", ("id",), [rule])


def column_at(table: DataFrame, position: int) -> Column:
    """The column at a position, whatever it is called."""
    return table[f"`{table.columns[position].replace('`', '``')}`"]

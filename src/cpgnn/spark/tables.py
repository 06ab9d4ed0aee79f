"""Edges, labels and features as Spark tables, checked before any long job.

The rules are those of files on one machine (`cpgnn.io`): ids are integers or text and compare as
text, and a row that makes no sense is an error that shows it. Columns are checked by their schema,
rows by one pass over each table, ids by one over all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cpgnn.engine.text import count, listed
from cpgnn.errors import wrong_value
from cpgnn.io.files import wrong
from cpgnn.io.labels import SPLITS
from cpgnn.io.node_kinds import OTHER
from cpgnn.relations.edge_types import Directed
from cpgnn.spark.columns import EDGES, FEATURES, INTEGER, KINDS, LABELS, check_columns
from cpgnn.spark.errors import ERRORS, spark_errors
from cpgnn.spark.rows import PADDED, Rule, check_rows

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
    ends: DataFrame
    """Every node that an edge row names, kept on the executors: id, rows, links (rows that join it
    with another node)."""
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

    @property
    def ids(self) -> DataFrame:
        """id: the nodes of every table, some of them more than once."""
        every = (self.ends, self.labels, self.features, self.kinds)
        return reduce(DataFrame.unionByName, (t.select("id") for t in every if t is not None))


@dataclass(frozen=True)
class Names:
    """What messages call the tables: their paths, where they have one."""

    edges: str = "edges"
    labels: str = "labels"
    features: str = "features"
    kinds: str = "kinds"


@dataclass(frozen=True)
class Given:
    """A graph as its owner has it: tables whose columns count by position, as in files."""

    edges: DataFrame
    """source, target[, weight]; ids are integers or text."""
    labels: DataFrame | None = None
    """id, label[, split = train|val|test]."""
    features: DataFrame | None = None
    """id and one numeric column each."""
    names: Names = Names()
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
    counted = [found]
    if given.labels is not None:
        labels, more = _labels(given.labels, kind, unlabelled, names.labels)
        counted.append(more)
    if given.features is not None:
        features, more = _features(given.features, kind, names.features)
        counted.append(more)
    if given.kinds is not None:
        kinds, more = _kinds(given.kinds, kind, names.kinds)
        counted.append(more)
    own = () if given.features is None else tuple(given.features.columns[1:])
    links = proper_rows(edges).cast("long").alias("link")
    ends = edges.select(F.explode(F.array("source", "target")).alias("id"), links)
    # By id first: in every task, counts of all nodes would not fit into the processor's cache.
    counts = F.count(F.lit(1)).alias("rows"), F.sum("link").alias("links")
    ends = ends.repartition("id").groupBy("id").agg(*counts)
    sizes = found["rows"], found["loops"]
    content = f"{[(one['rows'], one['content']) for one in counted]} {given.directed}"
    tables = Tables(
        edges, labels, features, own, kept(ends), *sizes, kinds, given.directed, content
    )
    if any(one["padded"] for one in counted):
        _check_padding(tables, names)
    _check_ids(tables, names)
    return tables


def kept(table: DataFrame) -> DataFrame:
    """The table, computed now and kept in memory or on the executors' disks.

    Computed now: only then does Spark know, when it plans what follows, how it is partitioned.
    A lost executor's share is computed again from the input.
    """
    table = table.persist(StorageLevel.MEMORY_AND_DISK)
    table.count()
    return table


# -- rows, by one pass over each table ------------------------------------------------------------


Checked = tuple[DataFrame, dict[str, int]]
"""A table and what was counted in it."""


def proper_rows(edges: DataFrame) -> Column:
    """Whether a row joins two different nodes with a weight."""
    proper = F.col("source") != F.col("target")
    return proper & (F.col("weight") > 0) if "weight" in edges.columns else proper


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
        columns.append(_trimmed(column_at(table, at).cast("string")).alias("type"))
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
    named = _trimmed(column_at(table, 1).cast("string"))
    kinds = table.select(column_at(table, 0).cast(kind).alias("id"), named.alias("kind"))
    empty = F.col("kind").isNull() | (F.col("kind") == "")
    rule = Rule(empty, "The kind of a node", "not be empty")
    return kinds, check_rows(kinds, name, "Kinds", ("id",), [rule])


def _labels(table: DataFrame, kind: T.DataType, unlabelled: str | None, name: str) -> Checked:
    text = column_at(table, 1).cast("string")
    trimmed = _trimmed(text)
    unknown = trimmed == ""
    if unlabelled is not None:
        unknown = unknown | (trimmed == unlabelled.strip())
    split: Column = F.lit("")
    if len(table.columns) == 3:
        split = F.coalesce(_trimmed(column_at(table, 2).cast("string")), F.lit(""))
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


# -- ids, by one pass over all tables -------------------------------------------------------------


def _check_ids(tables: Tables, names: Names) -> None:
    """Each node is labelled once and has features once; most labelled nodes are in the edges."""
    if tables.labels is None and tables.features is None and tables.kinds is None:
        return
    one, known = F.lit(1), F.col("label").isNotNull().cast("int")
    rows = _marked(tables.ends, ends=one)
    if tables.labels is not None:
        rows = rows.unionByName(_marked(tables.labels, labels=one, known=known))
    if tables.features is not None:
        rows = rows.unionByName(_marked(tables.features, features=one))
    if tables.kinds is not None:
        rows = rows.unionByName(_marked(tables.kinds, kinds=one, kind=F.col("kind")))
    # Without kinds there is no text to compare, which would need all rows sorted.
    marks = [F.sum(mark).alias(mark) for mark in MARKS[:-1]]
    one_kind = F.max("kind") if tables.kinds is not None else F.lit(None).cast("string")
    nodes = rows.groupBy("id").agg(*marks, one_kind.alias("kind"))
    ends, labels, known, features, kinds, kind = map(F.col, MARKS)
    kind = F.coalesce(kind, F.lit(OTHER))
    without = (ends + labels + kinds > 0) & (features == 0)
    if tables.features is not None and tables.kinds is not None:  # a kind may have none
        having = nodes.where(features > 0).select(kind.alias("kind")).distinct().collect()
        without = without & kind.isin([row["kind"] for row in having])
    found = nodes.agg(
        F.count_if(labels > 1),
        F.count_if(features > 1),
        F.count_if(kinds > 1),
        F.count_if((known > 0) & (ends == 0)),
        F.count_if(known > 0),
        F.count_if(without),
        F.lit(None) if tables.kinds is None else F.collect_set(F.when(known > 0, kind)),
    ).first()
    assert found is not None
    *twices, foreign, total, featureless, with_labels = found
    for twice, mark, name, must in zip(
        twices,
        ("labels", "features", "kinds"),
        (names.labels, names.features, names.kinds),
        ("be labelled once", "have features once", "have one kind"),
        strict=True,
    ):
        if twice:
            node = nodes.where(F.col(mark) > 1).first()
            assert node is not None
            got = f"{node['id']!r} in {node[mark]} rows"
            raise wrong(name, "Each node", must, got, "Remove all but one.")
    if 2 * foreign > total:
        got, hint = f"{foreign:,} of {total:,} that are not", "Check that the tables match."
        raise wrong(names.labels, "Most ids", f"be in {names.edges}", got, hint)
    if tables.kinds is not None and len(with_labels) > 1:
        got, hint = listed(sorted(with_labels)), "Remove the labels of the other kinds."
        raise wrong(names.labels, "Labels", "sit on one kind of nodes", got, hint)
    if tables.features is not None and featureless:
        node = nodes.where(without).first()
        assert node is not None
        got = f"none for {count(featureless, 'node')} such as {node['id']!r}"
        raise wrong(names.features, "Every node", "have features", got, "Add the rows.")


MARKS = ("ends", "labels", "known", "features", "kinds", "kind")


def _marked(table: DataFrame, **marks: Column) -> DataFrame:
    """id and, for every table, in how many of its rows the id stands."""
    none = {"kind": F.lit(None).cast("string")}
    found = {mark: marks.get(mark, none.get(mark, F.lit(0))) for mark in MARKS}
    return table.select("id", *(column.alias(mark) for mark, column in found.items()))


def _check_padding(tables: Tables, names: Names) -> None:
    """Ids that differ from others only by spaces around them are a mistake, as on one machine."""
    ids = tables.ids
    padded = ids.where(F.col("id").rlike(PADDED))
    trimmed = padded.select(_trimmed(F.col("id")).alias("id")).distinct()
    twin = ids.join(trimmed, "id", "left_semi").first()
    if twin is not None:
        got, hint = f"{twin['id']!r} with and without", "Remove the spaces around the ids."
        raise wrong(names.edges, "Node ids", "differ by more than surrounding spaces", got, hint)


def _trimmed(column: Column) -> Column:
    return F.regexp_replace(column, r"(?U)^\s+|\s+$", "")


def column_at(table: DataFrame, position: int) -> Column:
    """The column at a position, whatever it is called."""
    return table[f"`{table.columns[position].replace('`', '``')}`"]

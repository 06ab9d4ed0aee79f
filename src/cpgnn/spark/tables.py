"""Edges, labels and features as Spark tables, checked before any long job.

The rules are those of files on one machine (`cpgnn.io`): ids are integers or text and compare as
text, and a row that makes no sense is an error that shows it. Columns are checked by their schema,
rows by one pass over each table, ids by one over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cpgnn.engine.text import count
from cpgnn.io.files import wrong
from cpgnn.io.labels import SPLITS
from cpgnn.spark.columns import EDGES, FEATURES, INTEGER, LABELS, check_columns
from cpgnn.spark.errors import spark_errors

LARGEST = float(np.finfo(np.float32).max)
BLANK, BROKEN, PADDED = r"(?U)^\s*$", r"[\r\n]", r"(?U)^\s|\s$"


@dataclass(frozen=True)
class Tables:
    """Checked tables; ids are bigint in all of them, or text in all of them."""

    edges: DataFrame
    """source, target[, weight double]: rows as given, in one direction or both."""
    labels: DataFrame | None
    """id, label (text, null = unknown), split ("" = not said)."""
    features: DataFrame | None
    """id and one float column each, x0 … x(F-1)."""
    feature_names: tuple[str, ...]
    """What their owner calls them."""
    ends: DataFrame
    """Every node that an edge row names, kept on the executors: id, rows."""
    rows: int
    """Rows of `edges`."""
    self_loops: int
    """Rows of `edges` that join a node with itself."""

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
        every = (self.ends, self.labels, self.features)
        return reduce(DataFrame.unionByName, (t.select("id") for t in every if t is not None))


@dataclass(frozen=True)
class Names:
    """What messages call the tables: their paths, where they have one."""

    edges: str = "edges"
    labels: str = "labels"
    features: str = "features"


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

    @classmethod
    def read(
        cls,
        spark: SparkSession,
        edges: str,
        labels: str | None = None,
        features: str | None = None,
    ) -> Given:
        """Parquet tables, by their paths."""
        rest = [None if path is None else _read(spark, path) for path in (labels, features)]
        names = Names(edges, labels or "labels", features or "features")
        return cls(_read(spark, edges), rest[0], rest[1], names)


def _read(spark: SparkSession, path: str) -> DataFrame:
    with spark_errors(path):
        return spark.read.parquet(path)


@spark_errors()
def check_tables(given: Given, *, unlabelled: str | None = None) -> Tables:
    """The tables with plain names and types; the first thing that is wrong is an `InputError`."""
    names, ids = given.names, []
    for table, name, layout in (
        (given.edges, names.edges, EDGES),
        (given.labels, names.labels, LABELS),
        (given.features, names.features, FEATURES),
    ):
        if table is not None:
            check_columns(table.schema, name, layout)
            ids += table.schema.fields[: 2 if layout is EDGES else 1]
    whole = all(isinstance(field.dataType, INTEGER) for field in ids)
    kind = T.LongType() if whole else T.StringType()
    edges, found = _edges(given.edges, kind, names.edges)
    padded, labels, features = found["padded"], None, None
    if given.labels is not None:
        labels, more = _labels(given.labels, kind, unlabelled, names.labels)
        padded += more["padded"]
    if given.features is not None:
        features, more = _features(given.features, kind, names.features)
        padded += more["padded"]
    own = () if given.features is None else tuple(given.features.columns[1:])
    ends = edges.select(F.explode(F.array("source", "target")).alias("id"))
    ends = kept(ends.groupBy("id").agg(F.count(F.lit(1)).alias("rows")))
    tables = Tables(edges, labels, features, own, ends, found["rows"], found["loops"])
    if padded:
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


@dataclass(frozen=True)
class Rule:
    """Rows where `broken` holds are refused, with one of them as the example."""

    broken: Column
    what: str
    must: str
    hint: str = "Remove or correct the rows."


Checked = tuple[DataFrame, dict[str, int]]
"""A table and what was counted in it."""


def _edges(table: DataFrame, kind: T.DataType, name: str) -> Checked:
    ends = ("source", "target")
    columns = [column_at(table, i).cast(kind).alias(end) for i, end in enumerate(ends)]
    rules, loop = [], F.col("source") == F.col("target")
    if len(table.columns) == 3:
        columns.append(column_at(table, 2).cast("double").alias("weight"))
        w = F.col("weight")
        bad = w.isNull() | F.isnan(w) | (w < 0) | (w > LARGEST)
        rules.append(Rule(bad, "An edge weight", "be a finite number of at least 0"))
    edges = table.select(*columns)
    return edges, _check_rows(edges, name, "Edges", ends, rules, loop)


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
    return labels, _check_rows(labels, name, "Labels", ("id",), [rule])


def _features(table: DataFrame, kind: T.DataType, name: str) -> Checked:
    values = {f"x{i}": column_at(table, i + 1).cast("float") for i in range(len(table.columns) - 1)}
    features = table.select(
        column_at(table, 0).cast(kind).alias("id"), *(x.alias(n) for n, x in values.items())
    )
    x = map(F.col, values)
    bad = reduce(or_, (x.isNull() | F.isnan(x) | (F.abs(x) > LARGEST) for x in x))
    rule = Rule(bad, "A feature", "be a finite 32-bit number", "Fill the gaps first.")
    return features, _check_rows(features, name, "Features", ("id",), [rule])


def _check_rows(
    table: DataFrame,
    name: str,
    what: str,
    ids: Sequence[str],
    rules: list[Rule],
    loop: Column | None = None,
) -> dict[str, int]:
    """Counts, in one pass: rows, those that break a rule, padded ids, and loops."""
    padded = F.lit(False)
    for id in map(F.col, reversed(ids)):
        if isinstance(table.schema[ids[0]].dataType, T.LongType):
            rules = [Rule(id.isNull(), "A node id", "not be missing"), *rules]
        else:
            empty = Rule(id.isNull() | id.rlike(BLANK), "A node id", "not be empty")
            rules = [empty, Rule(id.rlike(BROKEN), "A node id", "be on one line"), *rules]
            padded = padded | id.rlike(PADDED)
    counts = [F.count_if(rule.broken).alias(f"rule{i}") for i, rule in enumerate(rules)]
    counts += [F.count_if(padded).alias("padded")]
    if loop is not None:
        counts.append(F.count_if(loop).alias("loops"))
    found = table.agg(F.count(F.lit(1)).alias("rows"), *counts).first()
    assert found is not None
    for i, rule in enumerate(rules):
        if found[f"rule{i}"]:
            row = table.where(rule.broken).first()
            assert row is not None
            got = f"{count(found[f'rule{i}'], 'row')} such as ({_shown(row.asDict())})"
            raise wrong(name, rule.what, rule.must, got, rule.hint)
    if not found["rows"]:
        raise wrong(name, what, "have at least one row", "none")
    return found.asDict()


def _shown(row: dict[str, Any]) -> str:
    items = list(row.items())
    text = ", ".join(f"{key} {value!r}" for key, value in items[:4])
    return text + (", …" if len(items) > 4 else "")


# -- ids, by one pass over all tables -------------------------------------------------------------


def _check_ids(tables: Tables, names: Names) -> None:
    """Each node is labelled once and has features once; most labelled nodes are in the edges."""
    if tables.labels is None and tables.features is None:
        return
    one, known = F.lit(1), F.col("label").isNotNull().cast("int")
    rows = _marked(tables.ends, ends=one)
    if tables.labels is not None:
        rows = rows.unionByName(_marked(tables.labels, labels=one, known=known))
    if tables.features is not None:
        rows = rows.unionByName(_marked(tables.features, features=one))
    nodes = rows.groupBy("id").agg(*(F.sum(mark).alias(mark) for mark in MARKS))
    ends, labels, known, features = map(F.col, MARKS)
    without = (ends + labels > 0) & (features == 0)
    found = nodes.agg(
        F.count_if(labels > 1),
        F.count_if(features > 1),
        F.count_if((known > 0) & (ends == 0)),
        F.count_if(known > 0),
        F.count_if(without),
    ).first()
    assert found is not None
    labelled_twice, features_twice, foreign, total, featureless = found
    for twice, mark, name, must in (
        (labelled_twice, "labels", names.labels, "be labelled once"),
        (features_twice, "features", names.features, "have features once"),
    ):
        if twice:
            node = nodes.where(F.col(mark) > 1).first()
            assert node is not None
            got = f"{node['id']!r} in {node[mark]} rows"
            raise wrong(name, "Each node", must, got, "Remove all but one.")
    if 2 * foreign > total:
        got, hint = f"{foreign:,} of {total:,} that are not", "Check that the tables match."
        raise wrong(names.labels, "Most ids", f"be in {names.edges}", got, hint)
    if tables.features is not None and featureless:
        node = nodes.where(without).first()
        assert node is not None
        got = f"none for {count(featureless, 'node')} such as {node['id']!r}"
        raise wrong(names.features, "Every node", "have features", got, "Add the rows.")


MARKS = ("ends", "labels", "known", "features")


def _marked(table: DataFrame, **marks: Column) -> DataFrame:
    """id and, for every table, in how many of its rows the id stands."""
    return table.select("id", *(marks.get(mark, F.lit(0)).alias(mark) for mark in MARKS))


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

"""Edges, labels and features as Spark tables: columns, types and rows checked before any work.

The rules are those of files on one machine (`cpgnn.io`): columns count by position, ids are
integers or text and compare as text, a row that makes no sense is an error that shows it. Columns
are checked without a job, rows by one aggregation over each table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cpgnn.engine.text import count, first_line
from cpgnn.io.files import wrong
from cpgnn.io.headers import ENDS, ID, LABEL, SPLIT, WEIGHT, misplaced
from cpgnn.io.labels import SPLITS

INTEGER = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
NUMBER = (*INTEGER, T.FloatType, T.DoubleType, T.DecimalType)
TEXT = (T.StringType, T.VarcharType, T.CharType)
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
    rows: int
    """Rows of `edges`."""
    self_loops: int
    """Rows of `edges` that join a node with itself."""
    empty_rows: int
    """Other rows of weight 0."""

    @property
    def weighted(self) -> bool:
        return "weight" in self.edges.columns

    @property
    def num_features(self) -> int:
        return len(self.feature_names)

    @property
    def seeds(self) -> DataFrame:
        """The labelled nodes: id."""
        assert self.labels is not None
        return self.labels.where(F.col("label").isNotNull()).select("id")


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
        names = Names(edges, labels or "labels", features or "features")
        rest = [None if path is None else _read(spark, path) for path in (labels, features)]
        return cls(_read(spark, edges), rest[0], rest[1], names)


def _read(spark: SparkSession, path: str) -> DataFrame:
    try:
        return spark.read.parquet(path)
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise wrong(path, "The table", "exist", "nothing there", "Check the name.") from None
        raise wrong(path, "The table", "be Parquet", f"'{first_line(error)}'") from None


def check_tables(given: Given, *, unlabelled: str | None = None) -> Tables:
    """The tables with plain names and types; the first thing that is wrong is an `InputError`."""
    edges, labels, features, names = given.edges, given.labels, given.features, given.names
    tables = [(edges, names.edges, check_edge_columns, 2)]
    if labels is not None:
        tables.append((labels, names.labels, check_label_columns, 1))
    if features is not None:
        tables.append((features, names.features, check_feature_columns, 1))
    for table, name, check, _ in tables:
        check(table.schema, name)
    fields = [field for table, *_, ids in tables for field in table.schema.fields[:ids]]
    whole = all(isinstance(field.dataType, INTEGER) for field in fields)
    kind = T.LongType() if whole else T.StringType()
    edges, found = _edges(edges, kind, names.edges)
    if labels is not None:
        labels = _labels(labels, kind, unlabelled, names.labels)
    if features is not None:
        features = _features(features, kind, names.features)
    own = () if given.features is None else tuple(given.features.columns[1:])
    counts = (found["rows"], found["loops"], found["empty"])
    checked = Tables(edges, labels, features, own, *counts)
    if not whole:
        _check_padding(checked, names)
    return checked


# -- columns, by their schema alone ---------------------------------------------------------------


def check_edge_columns(schema: T.StructType, name: str) -> None:
    width = len(schema.fields)
    if width not in (2, 3):
        hint = "Select those columns first."
        must = "have 2 or 3 columns: source, target[, weight]"
        raise wrong(name, "Edges", must, _listed(schema), hint)
    _check_names(schema, name, (ENDS, ENDS, WEIGHT), "source, target[, weight]")
    for field in schema.fields[:2]:
        _check_id(field, name)
    if width == 3:
        _check_number(schema.fields[2], name, "Weights")


def check_label_columns(schema: T.StructType, name: str) -> None:
    if len(schema.fields) not in (2, 3):
        hint = "Select those columns first."
        raise wrong(
            name, "Labels", "have 2 or 3 columns: id, label[, split]", _listed(schema), hint
        )
    _check_names(schema, name, (ID, LABEL | {"target"}, SPLIT), "id, label[, split]")
    _check_id(schema.fields[0], name)
    for field, what in zip(schema.fields[1:], ("Labels", "Splits"), strict=False):
        if not isinstance(field.dataType, (*TEXT, *INTEGER)):
            hint = "Convert the column first."
            what = f"{what} (column {field.name!r})"
            raise wrong(name, what, "be text or integers", field.dataType.simpleString(), hint)


def check_feature_columns(schema: T.StructType, name: str) -> None:
    if len(schema.fields) < 2:
        must = "have an id column and at least one more"
        raise wrong(name, "Features", must, _listed(schema))
    _check_names(schema, name, (ID,), "the id column first")
    _check_id(schema.fields[0], name)
    for field in schema.fields[1:]:
        _check_number(field, name, "Features")


def _check_names(
    schema: T.StructType, name: str, allowed: tuple[frozenset[str], ...], must: str
) -> None:
    if misplaced(schema.names, allowed):
        hint = "Check that it is the right table, and the order of its columns."
        raise wrong(name, "The columns", f"name {must}", _listed(schema), hint)


def _check_id(field: T.StructField, name: str) -> None:
    if not isinstance(field.dataType, (*TEXT, *INTEGER)):
        hint = "Convert the column to integers or text first."
        what, got = f"Ids (column {field.name!r})", field.dataType.simpleString()
        raise wrong(name, what, "be text or integers", got, hint)


def _check_number(field: T.StructField, name: str, what: str) -> None:
    if not isinstance(field.dataType, NUMBER):
        hint = "Convert the column to numbers, or leave it out."
        what, got = f"{what} (column {field.name!r})", field.dataType.simpleString()
        raise wrong(name, what, "be numbers", got, hint)


def _listed(schema: T.StructType) -> str:
    return f"{count(len(schema.names), 'column')}: {', '.join(schema.names[:8])}"


# -- rows, by one aggregation -------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """Rows where `broken` holds are refused, with one of them as the example."""

    broken: Column
    what: str
    must: str
    hint: str = "Remove or mend the rows."


def _edges(table: DataFrame, kind: T.DataType, name: str) -> tuple[DataFrame, dict[str, int]]:
    columns = [_column(table, 0).cast(kind).alias("source")]
    columns.append(_column(table, 1).cast(kind).alias("target"))
    if len(table.columns) == 3:
        columns.append(_column(table, 2).cast("double").alias("weight"))
    edges = table.select(*columns)
    rules = [*_id_rules("source", kind), *_id_rules("target", kind)]
    if "weight" in edges.columns:
        w = F.col("weight")
        bad = w.isNull() | F.isnan(w) | (w < 0) | (w > LARGEST)
        rules.append(Rule(bad, "An edge weight", "be a finite number of at least 0"))
    loop = F.col("source") == F.col("target")
    zero = F.col("weight") == 0 if "weight" in edges.columns else F.lit(False)
    more = {"loops": F.count_if(loop), "empty": F.count_if(~loop & zero)}
    found = _check_rows(edges, name, rules, more)
    if not found["rows"]:
        raise wrong(name, "Edges", "have at least one row", "none")
    return edges, found


def _labels(table: DataFrame, kind: T.DataType, unlabelled: str | None, name: str) -> DataFrame:
    text = _column(table, 1).cast("string")
    trimmed = _trimmed(text)
    unknown = trimmed == ""
    if unlabelled is not None:
        unknown = unknown | (trimmed == unlabelled.strip())
    split: Column = F.lit("")
    if len(table.columns) == 3:
        split = F.coalesce(_trimmed(_column(table, 2).cast("string")), F.lit(""))
    labels = table.select(
        _column(table, 0).cast(kind).alias("id"),
        F.when(~unknown, text).alias("label"),
        split.alias("split"),
    )
    rule = Rule(~F.col("split").isin("", *SPLITS), "A split", "be train, val, test or empty")
    found = _check_rows(labels, name, [*_id_rules("id", kind), rule])
    if not found["rows"]:
        raise wrong(name, "Labels", "have at least one row", "none")
    _check_once(labels, name, "be labelled")
    return labels


def _features(table: DataFrame, kind: T.DataType, name: str) -> DataFrame:
    width = len(table.columns) - 1
    features = table.select(
        _column(table, 0).cast(kind).alias("id"),
        *(_column(table, i + 1).cast("float").alias(f"x{i}") for i in range(width)),
    )
    values = [F.col(f"x{i}") for i in range(width)]
    bad = reduce(or_, (x.isNull() | F.isnan(x) | (F.abs(x) > LARGEST) for x in values))
    rule = Rule(bad, "A feature", "be a finite 32-bit number", "Fill the gaps first.")
    found = _check_rows(features, name, [*_id_rules("id", kind), rule])
    if not found["rows"]:
        raise wrong(name, "Features", "have at least one row", "none")
    _check_once(features, name, "have features")
    return features


def _id_rules(column: str, kind: T.DataType) -> list[Rule]:
    id = F.col(column)
    if isinstance(kind, T.LongType):
        return [Rule(id.isNull(), "A node id", "not be missing")]
    empty = Rule(id.isNull() | id.rlike(BLANK), "A node id", "not be empty")
    return [empty, Rule(id.rlike(BROKEN), "A node id", "stand on one line")]


def _check_rows(
    table: DataFrame, name: str, rules: list[Rule], more: dict[str, Column] | None = None
) -> dict[str, int]:
    """Counts the rows and, in the same pass, those that break a rule."""
    counts = [F.count_if(rule.broken).alias(f"rule{i}") for i, rule in enumerate(rules)]
    counts += [column.alias(key) for key, column in (more or {}).items()]
    found = table.agg(F.count(F.lit(1)).alias("rows"), *counts).first()
    assert found is not None
    for i, rule in enumerate(rules):
        if found[f"rule{i}"]:
            row = table.where(rule.broken).first()
            assert row is not None
            got = f"{count(found[f'rule{i}'], 'row')} such as ({_shown(row.asDict())})"
            raise wrong(name, rule.what, rule.must, got, rule.hint)
    return found.asDict()


def _check_once(table: DataFrame, name: str, what: str) -> None:
    twice = table.groupBy("id").count().where("count > 1").first()
    if twice is not None:
        got = f"{twice['id']!r} in {twice['count']} rows"
        raise wrong(name, "Each node", f"{what} once", got, "Remove all but one.")


def _check_padding(tables: Tables, names: Names) -> None:
    """Ids that differ from others by spaces around them only are a mistake, as on one machine."""
    ids = tables.edges.select(F.explode(F.array("source", "target")).alias("id"))
    for table in (tables.labels, tables.features):
        if table is not None:
            ids = ids.unionByName(table.select("id"))
    padded = ids.where(F.col("id").rlike(PADDED))
    if padded.first() is None:
        return
    trimmed = padded.select(_trimmed(F.col("id")).alias("id")).distinct()
    twin = ids.join(trimmed, "id", "left_semi").first()
    if twin is not None:
        got, hint = f"{twin['id']!r} with and without", "Remove the spaces around the ids."
        raise wrong(names.edges, "Node ids", "differ by more than surrounding spaces", got, hint)


def check_ids_match(tables: Tables, ends: DataFrame, names: Names) -> None:
    """Raises if a node has no features, or most labelled ids are not in the edges (`ends`: id)."""
    nodes = ends.select("id")
    if tables.labels is not None:
        foreign = tables.seeds.join(nodes, "id", "left_anti")
        unknown, total = foreign.count(), tables.seeds.count()
        if 2 * unknown > total:
            got = f"{unknown:,} of {total:,} that are not"
            hint = "Check that the tables match."
            raise wrong(names.labels, "Most ids", f"be in {names.edges}", got, hint)
        nodes = nodes.unionByName(tables.labels.select("id"))
    if tables.features is None:
        return
    without = nodes.join(tables.features.select("id"), "id", "left_anti")
    first = without.first()
    if first is not None:
        number = without.distinct().count()
        got = f"none for {count(number, 'node')} such as {first['id']!r}"
        raise wrong(names.features, "Every node", "have features", got, "Add the rows.")


def _trimmed(column: Column) -> Column:
    return F.regexp_replace(column, r"(?U)^\s+|\s+$", "")


def select_positions(table: DataFrame, positions: list[int]) -> DataFrame:
    """The columns at these positions, in this order."""
    return table.select(*(_column(table, position) for position in positions))


def _column(table: DataFrame, position: int) -> Column:
    return table[f"`{table.columns[position].replace('`', '``')}`"]


def _shown(row: dict[str, Any]) -> str:
    items = list(row.items())
    text = ", ".join(f"{key} {value!r}" for key, value in items[:4])
    return text + (", …" if len(items) > 4 else "")

"""Sizes, degrees, homophily and which classes connect, over the known labels, as Spark SQL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cpgnn.check.facts import Stats
from cpgnn.io.files import wrong
from cpgnn.io.labels import encode_labels
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.ids import Names
from cpgnn.spark.keeping import kept
from cpgnn.spark.propagation import beliefs
from cpgnn.spark.tables import Given, Tables, check_tables

MOST_CLASSES = 1000


@spark_errors()
def stats(given: Given, *, unlabelled: str | None = None) -> Stats:
    """Describes a graph. Only numbers for classes and for degrees leave Spark."""
    tables = check_tables(given, unlabelled=unlabelled)
    A = Adjacency.of(tables)
    found = described(tables, A, given.names)
    A.release()
    tables.nodes.unpersist()
    return found


def described(tables: Tables, A: Adjacency, names: Names) -> Stats:
    """`stats` of checked tables."""
    degrees = _degrees(A, tables)
    num_edges = A.everything().count() // 2
    loops = tables.edges.where("source = target").select(F.col("source").alias("id")).distinct()
    class_names, sizes = _classes(tables, names)
    class_edges = numbers = _class_edges(A, tables, class_names)
    if tables.weighted:
        numbers = _class_edges(A, tables, class_names, by_weight=False)
    return Stats(
        nodes=int(degrees[:, 1].sum()),
        edges=num_edges,
        weighted=tables.weighted,
        self_loops=loops.count() if tables.self_loops else 0,
        features=tables.num_features,
        degrees=degrees,
        class_names=class_names,
        class_sizes=sizes,
        class_edges=class_edges,
        class_edge_numbers=numbers,
        class_loops=_per_class(tables, class_names, loops),
    )


def _degrees(A: Adjacency, tables: Tables) -> np.ndarray:
    joined = tables.nodes.join(A.degrees(), "id", "left")
    counted = joined.groupBy(F.coalesce("neighbours", F.lit(0)).alias("d")).count().collect()
    return np.array(sorted((row["d"], row["count"]) for row in counted), dtype=np.int64)


def _classes(tables: Tables, names: Names) -> tuple[tuple[str, ...], np.ndarray]:
    if tables.labels is None:
        return (), np.empty(0, dtype=np.int64)
    rows = tables.labelled.groupBy("label").count().limit(MOST_CLASSES + 1).collect()
    if len(rows) > MOST_CLASSES:
        hint = "Check that the second column holds classes."
        raise wrong(names.labels, "Labels", f"name at most {MOST_CLASSES:,} classes", "more", hint)
    codes, classes = encode_labels(pa.array([row["label"] for row in rows], pa.string()), None)
    sizes = np.zeros(len(classes), dtype=np.int64)
    sizes[codes] = [row["count"] for row in rows]
    return classes, sizes


def _class_edges(
    A: Adjacency, tables: Tables, classes: tuple[str, ...], *, by_weight: bool = True
) -> np.ndarray:
    c = len(classes)
    if tables.labels is None or not c:
        return np.zeros((c, c))
    columns = beliefs(c)
    hot = [(F.col("label") == name).cast("double") for name in classes]
    Y = tables.labelled.select(
        "id", *(h.alias(b) for h, b in zip(hot, columns, strict=True)), "label"
    )
    Y = kept(Y.repartition(A.partitions, "id"))
    sums = A.times(Y.select("id", *columns), by_weight=by_weight)
    met = sums.join(Y.select("id", "label"), "id")
    rows = met.groupBy("label").agg(*(F.sum(b).alias(b) for b in columns)).collect()
    C = np.zeros((c, c))
    for row in rows:
        C[classes.index(row["label"])] = [row[b] for b in columns]
    Y.unpersist()
    return C


def _per_class(tables: Tables, classes: tuple[str, ...], nodes: DataFrame) -> np.ndarray:
    counts = np.zeros(len(classes), dtype=np.int64)
    if tables.labels is not None and tables.self_loops:
        loops = tables.labelled.join(nodes, "id", "left_semi")
        for row in loops.groupBy("label").count().collect():
            counts[classes.index(row["label"])] = row["count"]
    return counts

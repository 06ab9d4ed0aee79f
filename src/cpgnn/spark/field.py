"""The receptive field of the labels: the part of a graph that training sees, as a `Graph`.

Propagation with K layers reads, for a labelled node, the nodes within K hops, through the edges
that touch a node within K-1 hops. Training on those edges is training on the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cpgnn.engine.arrays import Matrix
from cpgnn.engine.memory import memory_limit
from cpgnn.engine.text import count
from cpgnn.errors import InputError, Mention, Message, advise
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph
from cpgnn.io.feature_columns import FeatureColumns
from cpgnn.io.labels import encode_labels
from cpgnn.priors.inputs import STRUCTURE_KEY
from cpgnn.relations.kinds import OTHER
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.tables import Tables, proper_rows

MAX_EDGES = 20_000_000
"""What one machine trains on at two or three CPU seconds an epoch (benchmarks/results/scale.md)."""
KEPT_WHOLE = 100
"""Classes with at most so many labelled nodes are never sampled."""
TRIES = 6


@dataclass(frozen=True, eq=False)
class Field:
    """The edges around the labelled nodes, still in Spark, and how many labels they are for."""

    edges: DataFrame
    """source, target[, weight]: each edge once; or the rows as given, where they have types."""
    labels: DataFrame
    """id, label, split of the labelled nodes that are used."""
    num_edges: int
    notice: str | None
    """What was left out, where something was."""


def hops_for(num_layers: int, normalization: Matrix) -> int:
    """How far training looks: K hops, at least 1 for Ĥ; D^-½AD^-½ also asks for the degrees there.

    D^-1A needs the degrees of the rows only, which are all within K-1 hops.
    """
    return max(num_layers, 1) + (normalization == "sym")


def receptive_field(
    A: Adjacency,
    tables: Tables,
    hops: int,
    *,
    max_edges: int = MAX_EDGES,
    sample: bool = False,
    seed: int = 0,
) -> Field:
    """The edges within `hops` of the labelled nodes, counted before anything leaves Spark.

    More than `max_edges` are refused or, with `sample`, a seeded share of the labelled nodes is
    used, each with all of its receptive field: fewer labels, not other neighbours.
    """
    labels = tables.labelled
    total = labels.count()
    share = 1.0
    for _ in range(TRIES):
        chosen = labels if share == 1.0 else _sampled(labels, share, seed)
        edges = _edges_around(A, tables, chosen.select("id"), hops)
        edges = edges.persist(StorageLevel.DISK_ONLY)
        num_edges = edges.count()
        if num_edges <= max_edges:
            notice = None
            if share < 1:
                notice = (
                    f"{chosen.count():,} of {total:,} labelled nodes are used: a random share of "
                    f"{share:.3g} (seed {seed}), and all of classes with up to {KEPT_WHOLE}. "
                    f"All of them have more than {max_edges:,} edges within {count(hops, 'hop')}."
                )
            return Field(edges, chosen, num_edges, notice)
        edges.unpersist()
        if not sample:
            break
        share *= min(0.9 * max_edges / num_edges, 0.5)
    raise InputError(
        Message(
            f"There are {num_edges:,} edges within {count(hops, 'hop')} of the labelled nodes; at "
            "most ",
            Mention("max_edges"),
            f" = {max_edges:,} can be trained on. ",
            advise("Try {}, fewer layers, or a larger limit and more memory.", sample=True),
        )
    )


def _edges_around(A: Adjacency, tables: Tables, seeds: DataFrame, hops: int) -> DataFrame:
    """Every edge that touches a node within hops-1 of the seeds, once."""
    rows = seeds
    for _ in range(hops - 1):
        reached = A.leaving(rows).select(F.col("target").alias("id"))
        rows = rows.unionByName(reached).distinct()
    if tables.directed or "type" in tables.edges.columns:
        edges = tables.edges.where(proper_rows(tables.edges))
        for end in ("source", "target"):
            marked = rows.select(F.col("id").alias(end), F.lit(True).alias(f"{end}_inside"))
            edges = edges.join(marked, end, "left")
        touching = F.coalesce("source_inside", "target_inside").isNotNull()
        return edges.where(touching).select(*tables.edges.columns)
    inside = rows.select(F.col("id").alias("target"), F.lit(True).alias("inside"))
    edges = A.leaving(rows).join(inside, "target", "left")
    once = edges.where(F.col("inside").isNull() | (F.col("source") < F.col("target")))
    return once.select(*A.edges.columns)


def _sampled(labels: DataFrame, share: float, seed: int) -> DataFrame:
    """A share of the labelled nodes that depends on their ids and the seed alone."""
    few = labels.groupBy("label").count().where(F.col("count") <= KEPT_WHOLE).select("label")
    few = few.withColumn("whole", F.lit(True))
    draw = F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(1_000_000)) < int(share * 1_000_000)
    marked = labels.join(F.broadcast(few), "label", "left")
    return marked.where(F.col("whole").isNotNull() | draw).select("id", "label", "split")


def collect_field(field: Field, tables: Tables, shape: DataFrame | None = None) -> LoadedGraph:
    """The field as a graph on the driver, its nodes sorted by id (as numbers, if all are).

    shape: id and the columns of `structure` in the whole graph, for a blend.
    """
    ends = field.edges.select(F.explode(F.array("source", "target")).alias("id"))
    nodes = ends.unionByName(field.labels.select("id")).distinct().persist(StorageLevel.DISK_ONLY)
    _check_memory(nodes.count(), tables.num_features)
    ids = pd.Index(np.sort(nodes.toArrow().column("id").to_numpy()))
    edges, labels = field.edges.toArrow(), field.labels.toArrow()

    def at(table: pa.Table, column: str = "id") -> np.ndarray:
        return ids.get_indexer(pd.Index(table.column(column).to_numpy()))

    def numbers(table: DataFrame, width: int) -> np.ndarray:
        found = table.join(nodes, "id", "left_semi").toArrow()
        X, where = np.zeros((len(ids), width), dtype=np.float32), at(found)
        for i in range(width):
            X[where, i] = found.column(i + 1).to_numpy()
        return X

    codes, names = encode_labels(pa.array(labels.column("label").to_pylist(), pa.string()), None)
    y = np.full(len(ids), -1, dtype=np.int64)
    y[at(labels)] = codes
    split = np.full(len(ids), "", dtype="<U5")
    split[at(labels)] = labels.column("split").to_numpy()
    X = columns = None
    if tables.features is not None:
        X = numbers(tables.features, tables.num_features)
        columns = FeatureColumns.numeric(tables.feature_names, tables.num_features)
    typed = "type" in edges.column_names
    graph = Graph.from_edges(
        at(edges, "source"),
        at(edges, "target"),
        weights=edges.column("weight").to_numpy() if tables.weighted else None,
        num_nodes=len(ids),
        features=X,
        labels=y,
        node_ids=pd.Index(ids.astype(str), dtype=object),
        class_names=names,
        feature_names=None if columns is None else columns.names,
        relation=np.array(edges.column("type").to_pylist(), dtype=object) if typed else None,
        directed=tables.directed,
    )
    if tables.kinds is not None:
        found = tables.kinds.join(nodes, "id", "left_semi").toArrow()
        kinds = np.full(len(ids), OTHER, dtype=object)
        kinds[at(found)] = found.column("kind").to_pylist()
        graph = graph.with_kinds(kinds, _described(tables))
    if shape is not None:
        values = numbers(shape, len(shape.columns) - 1)
        graph.once(STRUCTURE_KEY, lambda: values)
    nodes.unpersist()
    named = split if (split != "").any() else None
    return LoadedGraph(graph, named, columns=columns)


def _described(tables: Tables) -> list[str] | None:
    """The kinds that have features; None: all, or there are no features."""
    if tables.features is None or tables.kinds is None:
        return None
    having = tables.features.select("id").join(tables.kinds, "id", "left")
    found = having.select(F.coalesce("kind", F.lit(OTHER)).alias("kind")).distinct().collect()
    return sorted(row["kind"] for row in found)


def _check_memory(nodes: int, features: int) -> None:
    needed, limit = 3 * 4 * nodes * max(features, 1), memory_limit()
    if needed > limit:  # the table, the matrix, the scaled matrix
        raise InputError(
            Message(
                f"The receptive field has {nodes:,} nodes with {features:,} features each, which "
                f"do not fit into {limit:,} bytes, half of the driver's memory. ",
                advise("Try {} with a smaller ", sample=True),
                Mention("max_edges"),
                ", or fewer layers.",
            )
        )

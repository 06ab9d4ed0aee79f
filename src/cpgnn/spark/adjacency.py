"""A as a distributed table, and the one product with it: join → weighted sum per target.

Edges lie in both directions. Where the values of all nodes fit into every executor, edges are
partitioned by target: values are sent everywhere, sums are complete where they are made, and a
product shuffles nothing. Else edges are partitioned and sorted by their source, so that a product
moves only sums: values meet the edges where they are, each partition adds up its share for every
target, and those partial sums are all that is shuffled. A hub's own edges would fill one partition;
they are partitioned by their other end instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cpgnn.relations.edge_weights import RAW, Weights
from cpgnn.spark.keeping import kept
from cpgnn.spark.sending import columns_sent
from cpgnn.spark.tables import Tables, proper_rows

HUB_SHARE = 0.25
"""A hub has more edges than this share of a fair partition. There are at most 1/0.25 = 4 hubs for
each partition, few enough to send their values everywhere."""
LEAST_HUB = 1000
"""Nodes with fewer edges are no hubs, however small the graph."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A without self-loops, repeated rows merged: weights add up, rows without weights are one."""

    edges: DataFrame
    """source, target[, weight …]: every row whose `end` is no hub, by that end."""
    hub_edges: DataFrame | None
    """The same for edges whose `end` is a hub, by the other end."""
    hubs: DataFrame | None
    """The hubs: id."""
    partitions: int
    sent: int
    """How many columns of values are sent to all executors at a time; 0: none, they are
    shuffled."""
    parts: list[DataFrame] = field(default_factory=list)
    """Products of the first columns that were too many to be sent at a time."""

    @property
    def end(self) -> str:
        """The end of an edge that says where it lies."""
        return "target" if self.sent else "source"

    @classmethod
    def of(cls, tables: Tables, weights: Weights = RAW, *, once: bool = False) -> Adjacency:
        """Both directions of all edges, whatever their type and direction."""
        hubs, rows = hubs_of(tables), both_ways(tables.edges)
        if weights == RAW:
            return cls.laid_out(rows, tables.num_nodes, hubs, merge=True, once=once)
        return cls.laid_out(weighed(merged(rows), weights), tables.num_nodes, hubs)

    @classmethod
    def laid_out(
        cls,
        rows: DataFrame,
        nodes: int,
        hubs: list[Any] | None = None,
        *,
        merge: bool = False,
        once: bool = False,
        placed: bool = False,
    ) -> Adjacency:
        """Rows (source, target, …) put where products need them; repeated ones merged if asked to.

        nodes: how many there are, with edges or without. hubs: the ids of ends that have too many
        rows; None: rows are counted. once: they are used a single time, so that keeping them would
        cost more than it saves. placed: they are partitioned by target.
        """
        spark = rows.sparkSession
        partitions, sent = _partitions(spark), columns_sent(spark, nodes)
        end, other = ("target", "source") if sent else ("source", "target")
        large = _crowded(rows, end) if hubs is None else hubs
        at_hubs = hub_edges = None
        keep: Callable[[DataFrame], DataFrame] = _as_it_is if once else kept
        if large:
            kind = rows.schema[end].dataType.simpleString()
            at_hubs = spark.createDataFrame([(id,) for id in large], f"id {kind}")
            there = F.broadcast(at_hubs.withColumnRenamed("id", end))
            hub_edges = rows.join(there, end, "left_semi")
            hub_edges = keep(_placed(hub_edges, partitions, other, merge))
            rows = rows.join(there, end, "left_anti")
        edges = rows if placed and sent else _placed(rows, partitions, end, merge)
        whole = rows.schema[end].dataType.simpleString() == "bigint"
        if not sent or (whole and not once):  # what is sent is then looked up in its own order
            edges = edges.sortWithinPartitions("source")
        return cls(keep(edges), hub_edges, at_hubs, partitions, sent)

    @property
    def weighted(self) -> bool:
        return "weight" in self.edges.columns

    def weight(self) -> Column:
        return F.col("weight").cast("double") if self.weighted else F.lit(1.0)

    def times(self, values: DataFrame, *, by_weight: bool = True) -> DataFrame:
        """A V for V = `values` (id and one column each); a node without edges has no row.

        Not by weight, every edge counts once.
        """
        weight = self.weight() if by_weight else F.lit(1.0)
        columns = [name for name in values.columns if name != "id"]

        def product(some: list[str]) -> DataFrame:
            sums = {name: F.sum(weight * F.col(name)) for name in some}
            return self.gathered(values.select("id", *some), sums)

        return self.in_parts(product, columns)

    def in_parts(
        self, made: Callable[[list[str]], DataFrame], columns: list[str], each: int = 1
    ) -> DataFrame:
        """A table made of some of the columns at a time, as many as can be sent; each of them
        stands for so many.

        All parts but the last are computed now: in one plan, all would be sent at once."""
        width = max(1, self.sent // each if self.sent else len(columns))
        *first, last = (columns[i : i + width] for i in range(0, len(columns), width))
        done = [kept(made(some), StorageLevel.DISK_ONLY) for some in first]
        self.parts.extend(done)
        return reduce(lambda one, more: one.join(more.hint("merge"), "id"), [*done, made(last)])

    def gathered(self, values: DataFrame, wanted: Mapping[str, Column]) -> DataFrame:
        """id and aggregates over what the sources of a node's edges have in `values`."""
        columns = [column.alias(name) for name, column in wanted.items()]
        if not self.sent:
            parts = [self._joined(values.hint("merge"), "inner")]
        else:
            said = F.broadcast(values.withColumnRenamed("id", "source"))
            tables = [table for table in (self.edges, self.hub_edges) if table is not None]
            parts = [table.join(said, "source") for table in tables]
        sums = [met.groupBy(F.col("target").alias("id")).agg(*columns) for met in parts]
        return reduce(DataFrame.unionByName, sums)

    def leaving(self, nodes: DataFrame) -> DataFrame:
        """The edges whose source is one of `nodes` (id), where A is symmetric."""
        if not self.sent:
            return self._joined(nodes, "left_semi")
        turned = {"source": F.col("target"), "target": F.col("source")}
        nodes = nodes.withColumnRenamed("id", "target")
        return self.everything().join(nodes, "target", "left_semi").withColumns(turned)

    def _joined(self, rows: DataFrame, how: str) -> DataFrame:
        """The edges, by source, joined with rows that have an id, at their source."""
        rows = rows.withColumnRenamed("id", "source")
        met = self.edges.join(rows, "source", how)
        if self.hubs is None or self.hub_edges is None:
            return met
        hubs = F.broadcast(self.hubs.withColumnRenamed("id", "source"))
        few = F.broadcast(rows.join(hubs, "source", "left_semi"))
        return met.unionByName(self.hub_edges.join(few, "source", how))

    def everything(self) -> DataFrame:
        """Both directions of every edge."""
        return self.edges if self.hub_edges is None else self.edges.unionByName(self.hub_edges)

    def degrees(self) -> DataFrame:
        """id, neighbours (how many), degree (the sum of their weights); none for isolated nodes.

        Of a symmetric A."""
        groups = self.everything().groupBy(F.col(self.end).alias("id"))
        neighbours, degree = F.count(F.lit(1)), F.sum(self.weight())
        return groups.agg(neighbours.alias("neighbours"), degree.alias("degree"))

    @property
    def hub_ids(self) -> list[Any]:
        return [] if self.hubs is None else [row["id"] for row in self.hubs.collect()]

    def release(self) -> None:
        for table in (self.edges, self.hub_edges, *self.parts):
            if table is not None:
                table.unpersist()


def _as_it_is(table: DataFrame) -> DataFrame:
    return table


def both_ways(edges: DataFrame) -> DataFrame:
    """source, target[, weight]: every row that joins two nodes, in both directions."""
    rest = [F.col("weight")] if "weight" in edges.columns else []
    source, target = F.col("source"), F.col("target")
    back = F.struct(target.alias("source"), source.alias("target"), *rest)
    directed = edges.select(F.inline(F.array(F.struct(source, target, *rest), back)))
    return directed.where(proper_rows(directed))


def merged(rows: DataFrame, *by: str) -> DataFrame:
    """Rows of the same edge (and the same in the columns `by`) as one: weights add up, as 32-bit
    numbers."""
    if "weight" not in rows.columns:
        return rows.dropDuplicates(["source", "target", *by])
    total = F.sum("weight").cast("float").alias("weight")
    return rows.groupBy("source", "target", *by).agg(total)


def weighed(rows: DataFrame, weights: Weights) -> DataFrame:
    """`relations.edge_weights.Weights` of merged rows."""
    if "weight" not in rows.columns or weights.how == "raw":
        return rows
    if weights.how == "none":
        return rows.drop("weight")
    return rows.withColumn("weight", F.log1p(F.col("weight") / weights.unit).cast("float"))


def hubs_of(tables: Tables) -> list[Any]:
    """The ids of nodes with too many edges in either direction, told from a part of the rows that
    shows `LEAST_HUB` of such a node's."""
    least = _least(2 * tables.rows, _partitions(tables.edges.sparkSession))
    share = LEAST_HUB / least
    rows = tables.edges if share == 1 else tables.edges.sample(fraction=share, seed=0)
    ends = rows.select(F.explode(F.array("source", "target")).alias("id"))
    counts = ends.groupBy("id").count()
    return [row["id"] for row in counts.where(F.col("count") > LEAST_HUB).select("id").collect()]


def _crowded(rows: DataFrame, end: str) -> list[Any]:
    """The ids of ends that have too many rows."""
    counts = rows.groupBy(F.col(end).alias("id")).count()
    found = counts.agg(F.sum("count"), F.max("count")).first()
    assert found is not None
    total, most = found
    least = _least(total or 0, _partitions(rows.sparkSession))
    if (most or 0) <= least:
        return []
    return [row["id"] for row in counts.where(F.col("count") > least).select("id").collect()]


def _least(total: int, partitions: int) -> int:
    """A node is a hub if it has more than so many of all rows."""
    return max(LEAST_HUB, int(HUB_SHARE * total / partitions))


def _partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def _placed(rows: DataFrame, partitions: int, by: str, merge: bool) -> DataFrame:
    """Partitioned by one end."""
    placed = rows.repartition(partitions, by)
    return merged(placed) if merge else placed

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
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.relations.edge_weights import RAW, Weights
from cpgnn.spark.sending import columns_sent
from cpgnn.spark.tables import Tables, kept, proper_rows

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

    @property
    def end(self) -> str:
        """The end of an edge that says where it lies."""
        return "target" if self.sent else "source"

    @classmethod
    def of(cls, tables: Tables, weights: Weights = RAW, *, once: bool = False) -> Adjacency:
        """Both directions of all edges, whatever their type and direction."""
        counts = tables.ends.select("id", F.col("rows").alias("count"))
        if weights == RAW:
            return cls.laid_out(both_ways(tables.edges), counts, merge=True, once=once)
        return cls.laid_out(weighed(merged(both_ways(tables.edges)), weights), counts)

    @classmethod
    def laid_out(
        cls,
        rows: DataFrame,
        counts: DataFrame | None = None,
        *,
        merge: bool = False,
        once: bool = False,
        placed: bool = False,
    ) -> Adjacency:
        """Rows (source, target, …) put where products need them; repeated ones merged if asked to.

        counts: id, and how many rows a source or target has at most; None: it is counted. once:
        they are used a single time, so that keeping them would cost more than it saves. placed:
        they are partitioned by target.
        """
        spark = rows.sparkSession
        partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
        known = _counts(rows, "source") if counts is None else counts
        total, nodes, most = _sizes(known)
        sent = columns_sent(spark, nodes)
        end, other = ("target", "source") if sent else ("source", "target")
        if counts is None and sent:
            known = _counts(rows, end)
            total, nodes, most = _sizes(known)
        least = max(LEAST_HUB, int(HUB_SHARE * total / partitions))
        large = known.where(F.col("count") > least).select("id").collect() if most > least else []
        hubs = hub_edges = None
        keep: Callable[[DataFrame], DataFrame] = _as_it_is if once else kept
        if large:
            kind = rows.schema[end].dataType.simpleString()
            hubs = spark.createDataFrame([(row["id"],) for row in large], f"id {kind}")
            at_hub = F.broadcast(hubs.withColumnRenamed("id", end))
            hub_edges = rows.join(at_hub, end, "left_semi")
            hub_edges = keep(_placed(hub_edges, partitions, other, merge))
            rows = rows.join(at_hub, end, "left_anti")
        edges = rows if placed and sent else _placed(rows, partitions, end, merge)
        if not sent:
            edges = edges.sortWithinPartitions(end)
        return cls(keep(edges), hub_edges, hubs, partitions, sent)

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
        parts = [
            self.gathered(
                values.select("id", *some), {name: F.sum(weight * F.col(name)) for name in some}
            )
            for some in self.in_parts(columns)
        ]
        return beside(parts)

    def in_parts(self, columns: list[str], each: int = 1) -> list[list[str]]:
        """The columns in parts that are sent one after the other; each stands for so many."""
        width = max(1, self.sent // each if self.sent else len(columns))
        return [columns[i : i + width] for i in range(0, len(columns), width)]

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

    def release(self) -> None:
        for table in (self.edges, self.hub_edges):
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


def beside(parts: list[DataFrame]) -> DataFrame:
    """Tables with the same ids as one."""
    return reduce(lambda one, more: one.join(more.hint("merge"), "id"), parts)


def _counts(rows: DataFrame, end: str) -> DataFrame:
    return rows.groupBy(F.col(end).alias("id")).count()


def _sizes(counts: DataFrame) -> tuple[int, int, int]:
    """The sum, how many there are, and the largest."""
    found = counts.agg(F.sum("count"), F.count("id"), F.max("count")).first()
    assert found is not None
    total, nodes, most = found
    return total or 0, nodes, most or 0


def _placed(rows: DataFrame, partitions: int, by: str, merge: bool) -> DataFrame:
    """Partitioned by one end."""
    placed = rows.repartition(partitions, by)
    return merged(placed) if merge else placed

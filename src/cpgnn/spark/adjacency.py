"""A as a distributed table, and the one product with it: join → weighted sum per target.

Edges lie in both directions, partitioned and sorted by their source, so that a product moves only
sums: values meet the edges where they are, each partition adds up its share for every target, and
those partial sums are all that is shuffled. A hub's own edges would fill one partition; they are
partitioned by target instead, and the few values of hubs go to all partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cpgnn.spark.tables import Tables, kept

HUB_SHARE = 0.25
"""A hub has more edges than this share of a fair partition. There are at most 1/0.25 = 4 hubs for
each partition, few enough to send their values everywhere."""
LEAST_HUB = 1000
"""Nodes with fewer edges are no hubs, however small the graph."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A without self-loops, repeated rows merged: weights add up, rows without weights are one."""

    edges: DataFrame
    """source, target[, weight]: both directions of every edge whose source is no hub, by source."""
    hub_edges: DataFrame | None
    """The same for edges whose source is a hub, by target."""
    hubs: DataFrame | None
    """The hubs: id."""
    ends: DataFrame
    """Every node that an edge row names, self-loops included: id, rows."""
    partitions: int

    @classmethod
    def of(cls, tables: Tables) -> Adjacency:
        spark = tables.edges.sparkSession
        partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
        rest = [F.col("weight")] if tables.weighted else []
        source, target = F.col("source"), F.col("target")
        back = F.struct(target.alias("source"), source.alias("target"), *rest)
        both = F.array(F.struct(source, target, *rest), back)
        directed = tables.edges.select(F.inline(both))
        ends = tables.ends
        least = max(LEAST_HUB, int(HUB_SHARE * 2 * tables.rows / partitions))
        found = [row["id"] for row in ends.where(F.col("rows") > least).select("id").collect()]
        proper = source != target
        if tables.weighted:
            proper = proper & (F.col("weight") > 0)
        directed = directed.where(proper)
        hubs = hub_edges = None
        if found:
            kind = ends.schema["id"].dataType.simpleString()
            hubs = spark.createDataFrame([(id,) for id in found], f"id {kind}")
            from_hub = F.broadcast(hubs.withColumnRenamed("id", "source"))
            hub_edges = directed.join(from_hub, "source", "left_semi")
            hub_edges = kept(_merged(hub_edges, partitions, "target"))
            directed = directed.join(from_hub, "source", "left_anti")
        edges = kept(_merged(directed, partitions, "source"))
        return cls(edges, hub_edges, hubs, ends, partitions)

    @property
    def weighted(self) -> bool:
        return "weight" in self.edges.columns

    def times(self, values: DataFrame, *, by_weight: bool = True) -> DataFrame:
        """A V for V = `values` (id and one column each); a node without edges has no row.

        Not by weight, every edge counts once.
        """
        columns = [name for name in values.columns if name != "id"]
        met = self._joined(values.hint("merge"), "inner")
        weighed = self.weighted and by_weight
        weight = F.col("weight").cast("double") if weighed else F.lit(1.0)
        sums = [F.sum(weight * F.col(name)).alias(name) for name in columns]
        return met.groupBy(F.col("target").alias("id")).agg(*sums)

    def leaving(self, nodes: DataFrame) -> DataFrame:
        """The edges whose source is one of `nodes` (id)."""
        return self._joined(nodes, "left_semi")

    def _joined(self, rows: DataFrame, how: str) -> DataFrame:
        """The edges joined with rows that have an id, at their source."""
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
        """id, neighbours (how many), degree (the sum of their weights); none for isolated nodes."""
        weight = F.col("weight").cast("double") if self.weighted else F.lit(1.0)
        groups = self.everything().groupBy(F.col("source").alias("id"))
        return groups.agg(F.count(F.lit(1)).alias("neighbours"), F.sum(weight).alias("degree"))

    def release(self) -> None:
        for table in (self.edges, self.hub_edges, self.ends):
            if table is not None:
                table.unpersist()


def _merged(directed: DataFrame, partitions: int, by: str) -> DataFrame:
    """Rows of the same edge as one, partitioned and sorted by one end."""
    placed = directed.repartition(partitions, by)
    if "weight" in directed.columns:
        one = placed.groupBy("source", "target").agg(F.sum("weight").cast("float").alias("weight"))
    else:
        one = placed.dropDuplicates(["source", "target"])
    return one.sortWithinPartitions(by)

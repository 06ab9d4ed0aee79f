"""The product with A against dense algebra; hubs spread out; rounds that do not pile up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pyspark.sql import functions as F

from cpgnn.spark import Given
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.keeping import kept
from cpgnn.spark.propagation import propagate, step
from cpgnn.spark.tables import check_tables
from cpgnn.spark.work import Work
from spark_files import random_files

pytestmark = pytest.mark.slow


def adjacency(spark, edges):
    return Adjacency.of(check_tables(Given(edges)))


@pytest.mark.parametrize("hub", [0, 1200])
def test_product_with_and_without_hubs(spark, way, tmp_path, hub):
    files = random_files(tmp_path, 2, weighted=True, hub=hub)
    A = adjacency(spark, spark.read.parquet(files.edges))
    assert (A.hubs is not None) == bool(hub)
    assert bool(A.sent) == (way == "sent")
    ids = files.graph.node_ids.astype(int)
    A = replace(A, sent=min(A.sent, 2))  # three columns are sent in two parts
    values = np.random.default_rng(0).normal(size=(len(ids), 3))
    rows = [(int(i), *map(float, v)) for i, v in zip(ids, values, strict=True)]
    V = spark.createDataFrame(rows, "id long, v0 double, v1 double, v2 double")
    found = A.times(V).toPandas().set_index("id").reindex(ids).fillna(0.0)
    assert len(A.parts) == (way == "sent"), "the first part was sent alone"
    wanted = files.graph.adjacency.astype(np.float64) @ values
    np.testing.assert_allclose(found.to_numpy(), wanted, atol=1e-9)
    degrees = A.degrees().toPandas().set_index("id").reindex(ids).fillna(0.0)
    np.testing.assert_allclose(degrees["degree"], files.graph.degrees, rtol=1e-6)
    few = A.leaving(V.where(F.col("id") < 5)).select("source", "target").toPandas()
    ends = files.graph.adjacency.tocoo().coords
    source, target = ids[ends[0]], ids[ends[1]]
    wanted = {*zip(source[source < 5].tolist(), target[source < 5].tolist(), strict=True)}
    assert {*few.itertuples(index=False, name=None)} == wanted
    A.release()


def largest_partition(table):
    return table.groupBy(F.spark_partition_id()).count().agg(F.max("count")).first()[0]


@pytest.mark.parametrize("leaves", [100_000, 1_000_000])
def test_a_star_with_so_many_leaves_fills_no_partition(spark, way, leaves):
    star = spark.range(1, leaves + 1).select(F.lit(0).cast("long").alias("source"), "id")
    star = star.withColumnRenamed("id", "target")
    fair = 2 * leaves / 4
    A = adjacency(spark, star)
    assert [row["id"] for row in A.hubs.collect()] == [0]
    assert A.everything().count() == 2 * leaves
    # the values of a million nodes do not fit into a tenth of 1 GB
    assert bool(A.sent) == (way == "sent" and leaves < 1_000_000)
    # the edges of the hub lie in all four partitions, those of the leaves too
    assert largest_partition(A.hub_edges) < 0.6 * fair
    assert largest_partition(A.edges) < 0.6 * fair
    ones = spark.range(leaves + 1).select("id", F.lit(1.0).alias("v"))
    sums = A.times(ones).agg(F.max("v"), F.sum("v")).first()
    assert tuple(sums) == (leaves, 2 * leaves)
    A.release()


def test_rounds_do_not_pile_up_and_do_not_shuffle_edges(spark, tmp_path):
    files = random_files(tmp_path, 3)
    A = adjacency(spark, spark.read.parquet(files.edges))
    features = spark.read.parquet(files.features)
    B_0 = features.select("id", F.rand(1).alias("b0"), F.rand(2).alias("b1"))
    B_0 = kept(B_0.repartition(A.partitions, "id"))
    H_bar = np.array([[0.01, -0.01], [-0.01, 0.01]])

    def plan(table):
        return table._jdf.queryExecution().executedPlan().toString()

    def scans(num_layers):
        text = plan(propagate(A, B_0, H_bar, num_layers, work=Work.at(None, spark)))
        return text.count("InMemoryTableScan"), text.count("Exchange hashpartitioning")

    assert scans(2) == scans(4)  # a plan that held its rounds would have read the edges twice more
    first = plan(step(A, B_0, B_0, H_bar)).partition("InMemoryRelation")[0]
    assert first.count("Exchange") <= 1
    A.release()

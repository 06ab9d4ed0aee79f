"""The shape of the graph around every node, `priors.columns.structure`, on tables.

Core numbers and PageRank need the whole graph. Up to `MOST_EDGES` the driver is handed its edges as
numbers, nothing else, and runs the code of one machine. Beyond that, PageRank is thirty products,
core numbers are the h-index of the neighbours' until none falls any more, and triangles are
missing, as they are on one machine from far fewer edges on.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cpgnn.errors import InputError
from cpgnn.priors import columns as col
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.work import Work

MOST_EDGES = 20_000_000
"""Edges whose ends the driver holds: about 1 GB while it works. One machine has no triangles for
graphs that large."""
CORE_ROUNDS = 200
ALPHA = 0.85
"""Of PageRank: the share that follows edges."""
COLUMNS = [f"c{i}" for i in range(len(col.STRUCTURE))]


def structure(A: Adjacency, nodes: DataFrame, work: Work) -> DataFrame:
    """id and `COLUMNS` of every node."""
    once = A.everything().where(F.col("source") < F.col("target"))
    if once.count() <= MOST_EDGES:
        return _on_the_driver(once, nodes)
    return _on_executors(A, nodes, work)


def _on_the_driver(once: DataFrame, nodes: DataFrame) -> DataFrame:
    ids = pd.Index(np.sort(nodes.select("id").toArrow().column("id").to_numpy()))
    edges = once.toArrow()
    ends = [ids.get_indexer(pd.Index(edges.column(i).to_numpy())) for i in ("source", "target")]
    weighted = "weight" in edges.column_names
    weight = edges.column("weight").to_numpy() if weighted else np.ones(len(ends[0]))
    n = len(ids)
    half = sp.coo_array((weight.astype(np.float32), ends), shape=(n, n)).tocsr()
    A = sp.csr_array(half + half.T)
    A.sort_indices()
    found = col.structure(A)
    table = {"id": ids.to_numpy()} | dict(zip(COLUMNS, found.T.copy(), strict=True))
    return nodes.sparkSession.createDataFrame(pa.table(table))


def _on_executors(A: Adjacency, nodes: DataFrame, work: Work) -> DataFrame:
    degrees = work.keep("degrees", A.degrees())
    log_degree = F.log1p("neighbours").cast("float").cast("double")
    values = degrees.select("id", log_degree.alias("c0"))
    around = A.gathered(
        values,
        {
            "c1": F.sum(A.weight() * F.col("c0")) / F.sum(A.weight()),
            "c2": F.max("c0"),
            "c3": F.min("c0"),
        },
    )
    core, rank = _core_numbers(A, degrees, work), _pagerank(A, degrees, work)
    joined = nodes.select("id").join(values, "id", "left")
    for part in (around, core, rank):
        joined = joined.join(part, "id", "left")
    filled = {
        "c0": F.coalesce("c0", F.lit(0.0)),
        "c1": F.coalesce("c1", F.lit(0.0)),
        "c2": F.coalesce("c2", F.lit(float("nan"))),
        "c3": F.coalesce("c3", F.lit(float("nan"))),
        "c4": F.log1p(F.coalesce("k", F.lit(0))),
        "c5": F.log(F.coalesce("p", F.lit(1 - ALPHA))),
        "c6": F.lit(float("nan")),
    }
    return joined.select("id", *(c.cast("float").alias(name) for name, c in filled.items()))


def _pagerank(A: Adjacency, degrees: DataFrame, work: Work) -> DataFrame:
    """id, p of nodes with edges: `priors.columns.pagerank`."""
    p = degrees.select("id", F.lit(1.0).alias("p"), "degree")
    for t in range(30):
        sums = A.times(p.select("id", (F.col("p") / F.col("degree")).alias("sum")))
        value = F.lit(1 - ALPHA) + ALPHA * F.col("sum")
        p = work.keep(
            f"pagerank-{t}", degrees.join(sums, "id").select("id", value.alias("p"), "degree")
        )
    return p.select("id", "p")


def _core_numbers(A: Adjacency, degrees: DataFrame, work: Work) -> DataFrame:
    """id, k: at first the degree, then at most the h-index of the neighbours', until none falls."""
    core = degrees.select("id", F.col("neighbours").cast("int").alias("k"))
    for t in range(CORE_ROUNDS):
        ranked = F.sort_array(F.collect_list("k"), asc=False)
        h = F.size(F.filter(ranked, lambda k, i: k > i))
        lower = A.gathered(core, {"h": h})
        both = core.join(lower, "id").select(
            "id", F.least("k", "h").alias("k"), F.col("k") - F.col("h")
        )
        both = work.keep(f"core-{t}", both.toDF("id", "k", "fell"))
        core = both.select("id", "k")
        if both.where("fell > 0").first() is None:
            return core
    raise InputError(
        f"Core numbers were not found within {CORE_ROUNDS} rounds, as in graphs with very long "
        "paths. The model's trees read them: on Spark, use a model fitted with --prior mlp."
    )

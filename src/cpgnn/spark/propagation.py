"""K rounds of B̄^(k) = B̄^(0) + A B̄^(k-1) H̄ on tables: `cpgnn.propagation.propagate` for Spark.

Beliefs have a row for each node: id, b0 … b(c-1), partitioned by id like the edges by source. A
round shuffles partial sums and, once they were written down (which forgets how they were
partitioned), the beliefs: rows of nodes, never the edges.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.engine.arrays import Matrix
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.keeping import kept
from cpgnn.spark.work import Work


def beliefs(columns: int) -> list[str]:
    """The names of the columns of beliefs."""
    return [f"b{j}" for j in range(columns)]


def propagate(
    A: Adjacency,
    B_0: DataFrame,
    H_bar: np.ndarray,
    num_layers: int,
    kind: Matrix = "none",
    *,
    work: Work,
) -> DataFrame:
    """B̄^(K), with A as it is, D^-½AD^-½ ("sym") or D^-1A ("row").

    The beliefs of every round but the last are written down: the plan of round k does not contain
    round k-1, and a lost executor costs a part of one round.
    """
    c = len(H_bar)
    if kind != "none":
        B_0 = kept(_with_scale(A, B_0, kind))
    B = B_0
    for k in range(1, num_layers + 1):
        B = step(A, B_0, B, H_bar, kind)
        if k < num_layers:
            B = work.keep(f"round-{k}", B)
    return B.select("id", *beliefs(c))


def step(
    A: Adjacency, B_0: DataFrame, B: DataFrame, H_bar: np.ndarray, kind: Matrix = "none"
) -> DataFrame:
    """B_0 + A B H̄, the product with the small matrix first."""
    names = beliefs(len(H_bar))
    message = product(names, H_bar)
    if kind == "sym":
        message = [F.col("scale") * column for column in message]
    sums = A.times(
        B.select("id", *(m.alias(f"m_{n}") for m, n in zip(message, names, strict=True)))
    )
    after = F.lit(1.0) if kind == "none" else F.col("scale")
    added = [F.col(name) + after * F.coalesce(f"m_{name}", F.lit(0.0)) for name in names]
    rest = [] if kind == "none" else ["scale"]
    joined = B_0.join(sums.hint("merge"), "id", "left")
    return joined.select("id", *(a.alias(n) for a, n in zip(added, names, strict=True)), *rest)


def product(names: list[str], H: np.ndarray) -> list[Column]:
    """The columns of B H for the columns `names` of B."""
    return [
        reduce(add, (F.col(name) * F.lit(float(h)) for name, h in zip(names, column, strict=True)))
        for column in H.T
    ]


def _with_scale(A: Adjacency, B_0: DataFrame, kind: Matrix) -> DataFrame:
    """B_0 with `scale`: the degree to the power of -½ or -1, 0 for isolated nodes."""
    power = F.pow(F.col("degree"), F.lit(-0.5 if kind == "sym" else -1.0))
    scale = A.degrees().select("id", power.alias("scale"))
    joined = B_0.join(scale, "id", "left")
    scaled = joined.withColumn("scale", F.coalesce("scale", F.lit(0.0)))
    return scaled.repartition(A.partitions, "id")

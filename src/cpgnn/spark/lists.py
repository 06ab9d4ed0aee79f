"""What is made of predictions: sets of classes, and the list of whom to look at next."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cpgnn.errors import wrong_value
from cpgnn.evaluation.conformal import FLOOR, Promise
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.propagation import product


def with_sets(
    P: DataFrame, names: list[str], A: Adjacency, H: np.ndarray, promise: Promise
) -> DataFrame:
    """P (id, …, and `names`: probabilities) with in0 … in(c-1): `conformal.prediction_sets`."""
    suits = [F.log(F.greatest(column, F.lit(FLOOR))) for column in product(names, H.T)]
    sums = [f"sum_{name}" for name in names]
    said = A.times(P.select("id", *(s.alias(n) for s, n in zip(suits, sums, strict=True))))
    row = P.join(said, "id", "left").join(A.degrees().select("id", "degree"), "id", "left")
    log_Q = [
        promise.restraint * F.log(name)
        + promise.strength * F.coalesce(F.col(s) / F.col("degree"), F.lit(0.0))
        for name, s in zip(names, sums, strict=True)
    ]
    row = row.withColumns(dict(zip(sums, log_Q, strict=True)))
    top = F.greatest(*sums)
    Q = [F.coalesce(F.exp(F.col(s) - top), F.lit(0.0)) for s in sums]
    row = row.withColumns({f"q{j}": q for j, q in enumerate(Q)})
    total = reduce(add, (F.col(f"q{j}") for j in range(len(Q))))
    inside = {
        f"in{j}": 1 - F.col(f"q{j}") / total <= F.lit(float(q))
        for j, q in enumerate(promise.thresholds)
    }
    return row.withColumns(inside).select(*P.columns, *inside)


def review_list(table: DataFrame, positive: str, top: int = 10_000) -> DataFrame:
    """Of a table of predictions, the nodes without a label, most probably `positive` first.

    rank, id, class and p_<positive> of at most `top` nodes: where to look next.
    """
    column = f"p_{positive}"
    if column not in table.columns:
        classes = [name[2:] for name in table.columns if name.startswith("p_")]
        raise wrong_value("positive", f"be one of the classes {', '.join(classes)}", repr(positive))
    order = [F.col(f"`{column}`").desc(), F.col("id").asc()]
    first = table.where(F.col("label") == "").orderBy(*order).limit(top)
    rank = F.row_number().over(Window.orderBy(*order)).alias("rank")
    return first.select(rank, "id", "class", F.col(f"`{column}`").alias(column))

"""softmax over columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.evaluation.calibration import AS_THEY_ARE, LEAST_SPREAD, Scaling
from cpgnn.spark.errors import OVERFLOW


def softmax(
    logits: DataFrame,
    columns: list[str],
    scaling: Scaling = AS_THEY_ARE,
    minus: float = 0.0,
    rest: Sequence[str] = (),
) -> DataFrame:
    """softmax(R · s^γ / T) - minus, and the columns `rest` as they are.

    Logits that are not finite are an error.
    """
    shifted = logits.withColumn("top", F.greatest(*columns))
    scale = _scale(columns, scaling)
    exps = {name: F.exp((F.col(name) - F.col("top")) * scale) for name in columns}
    total = reduce(add, (F.col(name) for name in columns))
    scaled = shifted.withColumns(exps).withColumn("total", total)
    fine = ~F.isnan("total")
    total = F.when(fine, F.col("total")).otherwise(F.raise_error(F.lit(OVERFLOW)).cast("double"))
    shares = (F.col(name) / F.col("total") - F.lit(minus) for name in columns)
    scaled = scaled.withColumn("total", total)
    return scaled.select("id", *rest, *(s.alias(n) for s, n in zip(shares, columns, strict=True)))


def _scale(columns: list[str], scaling: Scaling) -> Column:
    """s^γ / T of every row: see `evaluation.calibration`."""
    T, gamma = map(float, scaling)
    if not gamma:
        return F.lit(1 / T)
    mean = reduce(add, map(F.col, columns)) / len(columns)
    squares = reduce(add, ((F.col(name) - mean) ** 2 for name in columns)) / len(columns)
    return F.pow(F.greatest(F.sqrt(squares), F.lit(LEAST_SPREAD)), F.lit(gamma)) / T

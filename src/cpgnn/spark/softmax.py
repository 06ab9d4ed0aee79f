"""softmax over columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cpgnn.spark.errors import OVERFLOW


def softmax(
    logits: DataFrame,
    columns: list[str],
    temperature: float = 1.0,
    minus: float = 0.0,
    rest: Sequence[str] = (),
) -> DataFrame:
    """softmax(logits / temperature) - minus, and the columns `rest` as they are.

    Logits that are not finite are an error.
    """
    shifted = logits.withColumn("top", F.greatest(*columns))
    T = F.lit(float(temperature))
    exps = {name: F.exp((F.col(name) - F.col("top")) / T) for name in columns}
    total = reduce(add, (F.col(name) for name in columns))
    scaled = shifted.withColumns(exps).withColumn("total", total)
    fine = ~F.isnan("total")
    total = F.when(fine, F.col("total")).otherwise(F.raise_error(F.lit(OVERFLOW)).cast("double"))
    shares = (F.col(name) / F.col("total") - F.lit(minus) for name in columns)
    scaled = scaled.withColumn("total", total)
    return scaled.select("id", *rest, *(s.alias(n) for s, n in zip(shares, columns, strict=True)))

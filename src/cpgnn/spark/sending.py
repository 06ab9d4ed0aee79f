"""How much of what is known of the nodes can be sent to every executor, instead of shuffling it."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

SHARE = 0.1
"""Of the memory of an executor, for what is sent: Spark needs about four times as much while it
builds the table."""
ROW = 64
"""Bytes of a row besides its columns: its id and its place in the table."""
LEAST = 6
"""With fewer columns, the edges would be read too often."""
UNITS = {"": 20, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


def columns_sent(spark: SparkSession, nodes: int) -> int:
    """How many columns of numbers, a row for each node, can be sent at a time; 0: too few.

    None are where somebody forbids Spark to broadcast (spark.sql.autoBroadcastJoinThreshold=-1).
    """
    if str(spark.conf.get("spark.sql.autoBroadcastJoinThreshold", "10m")).startswith("-"):
        return 0
    kinds = ["driver"]
    if str(spark.conf.get("spark.master", "")).partition("[")[0] != "local":
        kinds.append("executor")
    memory = min(_bytes(spark.conf.get(f"spark.{kind}.memory", "1g") or "1g") for kind in kinds)
    columns = int((SHARE * memory / max(nodes, 1) - ROW) / 8)
    return columns if columns >= LEAST else 0


def _bytes(size: str) -> float:
    """Of a size as Java says it, such as 4g."""
    found = re.fullmatch(r"(\d+)([bkmgtp]?)b?", size.strip().lower())
    return float(found[1]) * 2 ** UNITS[found[2]] if found else 2.0**30

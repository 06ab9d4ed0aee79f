"""Tables that are used more than once."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def kept(table: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK) -> DataFrame:
    """The table, computed now and kept in memory or on the executors' disks.

    Computed now: only then does Spark know, when it plans what follows, how it is partitioned.
    A lost executor's share is computed again from the input.
    """
    table = table.persist(level)
    table.count()
    return table

"""Tables between two rounds: written down, so that a plan never holds the round before it.

A lost executor then costs a part of one round, and a job that died goes on after the last round
that it finished, if it is given the same folder, model and tables again.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cpgnn.errors import InputError


@dataclass(frozen=True)
class Work:
    """A folder that all executors reach, and the place in it that belongs to one job."""

    folder: str
    resumes: bool
    """Whether what an earlier run of the same job finished is used again."""

    @classmethod
    def at(cls, folder: str | None, spark: SparkSession, *parts: bytes | str) -> Work:
        """The work of a job that depends on `parts` alone.

        Without a folder, a temporary one: on one machine every process reaches that.
        """
        if folder is not None:
            digest = hashlib.sha256()
            for part in parts:
                digest.update(part if isinstance(part, bytes) else part.encode())
            return cls(f"{folder.rstrip('/')}/cpgnn-{digest.hexdigest()[:16]}", resumes=True)
        if not str(spark.conf.get("spark.master", "")).startswith("local"):
            raise InputError(
                "On a cluster, what is known between rounds needs a folder that every executor can "
                "reach. Try work='hdfs:///tmp/cpgnn', or --work on the command line."
            )
        temporary = tempfile.mkdtemp(prefix="cpgnn-spark-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return cls(temporary, resumes=False)

    def keep(self, name: str, table: DataFrame) -> DataFrame:
        """The table, computed now and read back when it is used."""
        spark, path = table.sparkSession, f"{self.folder}/{name}"
        schema = table.schema
        if not (self.resumes and _finished(spark, path)):
            table.write.mode("overwrite").parquet(path)
            if self.resumes:
                spark.range(1).coalesce(1).write.mode("overwrite").parquet(f"{path}.done")
        return spark.read.schema(schema).parquet(path)


def _finished(spark: SparkSession, path: str) -> bool:
    """A mark is written after the table it stands for."""
    try:
        return spark.read.parquet(f"{path}.done").count() == 1
    except PySparkException:
        return False

"""Tables out: a Parquet folder that is written once all of it is known."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cpgnn.io.files import wrong
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.keeping import kept


@spark_errors()
def check_new(spark: SparkSession, path: str) -> None:
    """Refuses an output path that is taken, before any job starts."""
    try:
        assert spark.read.format("binaryFile").load(path).schema
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return
        raise
    hint = "Choose another name, or remove it first."
    raise wrong(path, "The output", "be new", "a path that exists", hint)


@spark_errors()
def write_parquet(table: DataFrame, path: str) -> int:
    """Writes `table` to a new folder; returns the rows written.

    What fails leaves nothing: on one machine it is removed; elsewhere everything is computed before
    it is written. `_SUCCESS` in the folder is what says that it is whole.
    """
    spark = table.sparkSession
    check_new(spark, path)
    first = table if _is_here(spark, path) else kept(table)
    try:
        first.write.mode("error").parquet(path)
    except BaseException:
        _remove_partial(spark, path)
        raise
    if first is not table:
        first.unpersist()
    return spark.read.schema(table.schema).parquet(path).count()


def _is_here(spark: SparkSession, path: str) -> bool:
    """Whether a path is on this machine, and so is all of Spark."""
    local = str(spark.conf.get("spark.master", "")).startswith("local")
    client = "connect" in type(spark).__module__  # of a server that may be elsewhere
    return local and not client and "://" not in path.removeprefix("file://")


def _remove_partial(spark: SparkSession, path: str) -> None:
    """What Spark leaves of a folder that it could not finish, on this machine."""
    here = Path(path.removeprefix("file://").removeprefix("file:"))
    known = _is_here(spark, path) and here.is_dir()
    files = [one.name for one in here.iterdir()] if known else ["unknown"]
    if all(name.startswith(("_temporary", ".")) for name in files):
        shutil.rmtree(here, ignore_errors=True)

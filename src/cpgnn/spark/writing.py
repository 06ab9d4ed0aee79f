"""Tables out: a Parquet folder that is written once all of it is known."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cpgnn.io.files import wrong
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.tables import kept


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

    Everything is computed first, so that what fails leaves nothing. Only the writing itself can
    break off after that: `_SUCCESS` in the folder is what says that it is whole.
    """
    spark = table.sparkSession
    check_new(spark, path)
    table = kept(table)
    try:
        table.write.mode("error").parquet(path)
    except PySparkException:
        _remove_partial(spark, path)
        raise
    rows = table.count()
    table.unpersist()
    return rows


def _remove_partial(spark: SparkSession, path: str) -> None:
    """What Spark leaves of a folder that it could not finish, on this machine."""
    here = Path(path.removeprefix("file://").removeprefix("file:"))
    local = str(spark.conf.get("spark.master", "")).startswith("local") and "://" not in str(here)
    files = [one.name for one in here.iterdir()] if local and here.is_dir() else ["unknown"]
    if all(name.startswith(("_temporary", ".")) for name in files):
        shutil.rmtree(here, ignore_errors=True)

"""Tables out: a Parquet folder that appears whole or not at all, on any of Spark's file systems."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from cpgnn.errors import InputError
from cpgnn.io.files import wrong
from cpgnn.spark.errors import spark_errors


@spark_errors()
def check_new(spark: SparkSession, path: str) -> None:
    """Refuses an output path that is taken, before any job starts."""
    files, place = _opened(spark, path)
    if files.exists(place):
        hint = "Choose another name, or remove it first."
        raise wrong(path, "The output", "be new", "a path that exists", hint)


@spark_errors()
def write_parquet(table: DataFrame, path: str) -> int:
    """Writes `table` to a folder beside `path`, then renames it; returns the rows written.

    A job that fails leaves nothing. On object stores a rename is a copy that is not atomic:
    there, `_SUCCESS` in the folder is what says that it is whole.
    """
    spark = table.sparkSession
    check_new(spark, path)
    with partial_folder(spark, path) as partial:
        written = Observation()
        table.observe(written, F.count(F.lit(1)).alias("rows")).write.parquet(partial)
        check_new(spark, path)  # somebody else may have been faster
        files, place = _opened(spark, path)
        if not files.rename(_path(spark, partial), place):
            raise InputError(f"{path}: The output could not be put in place. Is it writable?")
    return int(written.get["rows"])


@contextmanager
def partial_folder(spark: SparkSession, path: str) -> Iterator[str]:
    """A name beside `path` for what is not done yet; whatever is there at the end is removed."""
    files, place = _opened(spark, path)
    partial = f".{place.getName()}.partial-{secrets.token_hex(8)}"
    partial = _path(spark, place.getParent(), partial).toString()
    try:
        yield partial
    finally:
        files.delete(_path(spark, partial), True)


def _opened(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system and the absolute place of a path, as Hadoop calls them."""
    place = _path(spark, path)
    files = place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    return files, files.makeQualified(place)


def _path(spark: SparkSession, *parts: Any) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return jvm.org.apache.hadoop.fs.Path(*parts)

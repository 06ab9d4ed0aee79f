"""A Spark session for the command line; under `spark-submit`, the one that is there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from cpgnn.errors import InputError

JAVA_OPTIONS = "-XX:+UseParallelGC -XX:+UseTransparentHugePages"
"""For the Java that is started here: on one machine, sums and joins over tables of many MB then
take less CPU. A Java that does not know one of them ignores it, as Spark asks."""

MEMORY_SHARE = "0.4"
"""Of the Java that is started here, for tables that are kept: what is sent to all executors is
built in the rest, up to four times its size (`sending`), where Java keeps old and new apart."""


@contextmanager
def session(
    master: str | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session on `master`; without one, what spark-submit says, or else all local cores.

    `conf` are Spark's own settings, as in `spark-submit --conf`. Without spark-submit, and where
    nobody names the Python of the executors, it is this one.
    """
    check_java()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("cpgnn")
    if master is not None:
        builder = builder.master(master)
    shown = "true" if sys.stderr.isatty() else "false"
    # What fails is raised as well; on one machine the log would say it again, in pages of Java.
    level = "ERROR" if submitted else "OFF"
    ours = {"spark.ui.showConsoleProgress": shown, "spark.log.level": level}
    if not submitted and (master or "local").startswith("local"):
        ours["spark.driver.extraJavaOptions"] = JAVA_OPTIONS
        ours["spark.memory.fraction"] = MEMORY_SHARE
    for key, value in (ours | {**(conf or {})}).items():
        builder = builder.config(key, value)
    new = SparkSession.getActiveSession() is None
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        if new:
            spark.stop()


EDGE_ENDS, LEAST = 500_000, 8
"""Of a partition: what takes seconds; and the fewest partitions."""


def fit_partitions(edges: DataFrame) -> None:
    """Fewer partitions than Spark's own 200 for a small graph, unless somebody chose a number."""
    key, spark = "spark.sql.shuffle.partitions", edges.sparkSession
    if spark.conf.get(key) == "200":
        spark.conf.set(key, min(200, max(LEAST, 2 * edges.count() // EDGE_ENDS)))


def check_java() -> None:
    """Raises if there is no Java, in words that say how to get it."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and shutil.which("java", path=f"{home}/bin")):
        raise InputError(
            "Spark needs Java 17 or newer, and there is no 'java' on the path. "
            "Try apt-get install openjdk-17-jre-headless, or set JAVA_HOME."
        )

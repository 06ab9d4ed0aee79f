"""What is sent to every executor fits into its memory, and nothing is where Spark may not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.errors import PySparkException

from cpgnn.errors import CPGNNError
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.sending import columns_sent


def sent(nodes, **conf):
    settings = {"spark.master": "local[2]"}
    settings |= {f"spark.{name.replace('_', '.')}": value for name, value in conf.items()}
    return columns_sent(SimpleNamespace(conf=settings), nodes)


@pytest.mark.parametrize(
    ("nodes", "memory", "columns"),
    [
        (2_000_000, "4g", 18),
        (2_000_000, "4096m", 18),
        (2_000_000, "4096", 18),  # Java's default unit here
        (2_000_000, "1g", 0),
        (500_000, "1g", 18),
        (100_000_000, "16g", 0),
    ],
)
def test_a_tenth_of_memory_is_used(nodes, memory, columns):
    assert sent(nodes, driver_memory=memory) == columns


def test_the_smaller_of_driver_and_executors_counts_on_a_cluster():
    sizes = {"driver_memory": "8g", "executor_memory": "1g"}
    assert sent(2_000_000, **sizes) > 0
    assert sent(2_000_000, master="yarn", **sizes) == 0


def test_somebody_may_forbid_it():
    forbidden = {"spark.master": "local[2]", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    assert columns_sent(SimpleNamespace(conf=forbidden), 10) == 0
    assert columns_sent(SimpleNamespace(conf={"spark.master": "local[2]"}), 10) > 0


def test_what_did_not_fit_is_said_with_a_way_out():
    said = "Not enough memory to build and broadcast the table to all worker nodes."
    with pytest.raises(CPGNNError, match=r"memory is too small.*Threshold=-1\)\.$"), spark_errors():
        raise PySparkException(said)

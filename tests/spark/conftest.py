"""One small Spark for all tests of this folder."""

from __future__ import annotations

import shutil

import pytest

from spark_conf import CONF


@pytest.fixture(scope="session")
def spark():
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    from cpgnn.spark.session import session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        with session("local[2]", CONF) as started:
            yield started


@pytest.fixture(params=["shuffled", "sent"])
def way(request, spark):
    """How a node's neighbours get to know its values: see `cpgnn.spark.sending`."""
    key = "spark.sql.autoBroadcastJoinThreshold"
    spark.conf.set(key, "10m" if request.param == "sent" else "-1")
    yield request.param
    spark.conf.set(key, "-1")

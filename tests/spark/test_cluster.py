"""Executors in processes of their own: the same numbers, also when one of them is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cpgnn.check.facts import Stats
from spark_blends import WORLDS
from spark_files import random_files

TESTS = Path(__file__).parent.parent


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
]


def environment():
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def causes(log: str) -> str:
    """What went wrong first, without the pages of Java that follow it; and the last words."""
    lines = [line for line in log.splitlines() if not line.lstrip().startswith("at ")]
    telling = [line for line in lines if "Error" in line or "Exception" in line or "Lost" in line]
    return "\n".join([*telling[:40], "…", *lines[-40:]])


def test_a_killed_executor_changes_nothing(tmp_path):
    command = [sys.executable, str(TESTS / "spark_cluster.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, causes(done.stderr)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["executors"] == 2
    assert len(found["killed"]) == 6
    assert all(each["running"] > 0 for each in found["killed"])
    assert found["first_was_executor"]
    assert found["killed_are_gone"]
    assert list(found["gaps"]) == [*WORLDS, "K = 1", "K = 2"]
    assert max(found["gaps"].values()) < 1e-5
    assert found["homophily_gap"] < 1e-5
    assert found["same_degrees"]
    assert found["fit_gap"] < 1e-5
    assert found["left_running"] == 0


def test_a_client_of_spark_connect_gets_the_same(tmp_path):
    pytest.importorskip("grpc")
    command = [sys.executable, str(TESTS / "spark_connect.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, causes(done.stderr)
    found = json.loads((tmp_path / "found.json").read_text())
    assert "connect" in found["client"]
    assert found["rows"] == found["nodes"]
    assert list(found["gaps"]) == [*WORLDS, "K = 1", "K = 2"]
    assert max(found["gaps"].values()) < 1e-5
    assert found["homophily_gap"] < 1e-5
    assert found["features"] == 300
    new, missing = found["refused"]
    assert "The output must be new" in new
    assert "The table must exist" in missing


def test_the_same_words_follow_spark_submit(tmp_path):
    import pyspark

    files = random_files(tmp_path, 1)
    job = tmp_path / "job.py"
    job.write_text("from cpgnn.cli import main\nmain()\n")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--master", "local[2]", "--conf", "spark.ui.enabled=false", str(job)]
    command += ["spark", "stats", files.edges, "--labels", files.labels]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, causes(done.stderr)
    assert f"{Stats.of(files.graph).homophily_ratio():.3f}" in done.stdout

"""Run by tests/spark/test_cluster.py: two executors in processes of their own, one of them
killed in each of six jobs.

python spark_cluster.py FOLDER     # writes FOLDER/found.json
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyspark

from cpgnn import CPGNNClassifier
from cpgnn.check.facts import Stats
from cpgnn.io import LoadedGraph
from cpgnn.run.fit import train_run
from cpgnn.run.predictions import predictions
from cpgnn.spark import Packed, fit, predict, stats, write_parquet
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.session import session
from spark_blends import WORLDS, loud, random_world
from spark_conf import CONF
from spark_files import random_files


def executors() -> list[psutil.Process]:
    """The executors that this process's Spark has started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def kill_one_while_tasks_run(spark, ended: threading.Event) -> dict[str, int] | None:
    """Waits until tasks are running, then ends one executor the hard way; None: the job ended
    before."""
    tracker = spark.sparkContext.statusTracker()
    while not ended.is_set():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        running = sum(stage.numActiveTasks for stage in stages if stage is not None)
        with suppress(psutil.Error, IndexError):  # one that just starts or ends is not to be had
            if running:
                executor = executors()[0]
                executor.kill()
                return {"pid": executor.pid, "running": running}
        time.sleep(0.005)
    return None


def with_a_kill(
    spark, job: Callable[[int], pd.DataFrame], at: int
) -> tuple[pd.DataFrame, dict[str, int]]:
    """What a job finds, and which executor was killed after its `at`th product with A began. A job
    that is over before is run again: it is told how often it was."""
    gathered = Adjacency.gathered
    for again in range(10):
        ended, calls, kills = threading.Event(), [], []
        with ThreadPoolExecutor(1) as pool:

            def counted(self, values, wanted, calls=calls, kills=kills, pool=pool, ended=ended):
                calls.append(None)
                if len(calls) == at:
                    kills.append(pool.submit(kill_one_while_tasks_run, spark, ended))
                return gathered(self, values, wanted)

            Adjacency.gathered = counted
            try:
                found = job(again)
            finally:
                Adjacency.gathered = gathered
                ended.set()
        killed = kills[0].result()
        if killed is not None:
            return found, killed
    raise AssertionError("Ten jobs ended before an executor of theirs could be killed")


def send(spark, sent: bool) -> None:
    """Whether values of nodes are sent to the executors, or shuffled."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10m" if sent else "-1")


def gap(found: pd.DataFrame, wanted: pd.DataFrame) -> float:
    """The largest difference of probabilities; infinite where the nodes are not the same."""
    found, wanted = found.set_index("id"), wanted.set_index("id")
    if set(found.index) != set(wanted.index) or len(found) != len(wanted):
        return float("inf")
    p = [name for name in wanted.columns if name.startswith("p_")]
    return float(np.abs(found.loc[wanted.index, p] - wanted[p]).to_numpy().max())


def main(folder: Path) -> None:
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    files = random_files(folder, 7, text=True, weighted=True)
    classifier = CPGNNClassifier("mlp", 2, pretrain_epochs=5, epochs=10, seed=1)
    loaded = LoadedGraph(files.graph, files.split)
    one = train_run(loaded, classifier).classifier
    shorter = CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=10, seed=1)
    first = train_run(loaded, shorter).classifier
    killed: list[dict[str, int]] = []
    with session("local-cluster[2,1,2048]", CONF) as spark:
        given = files.given(spark)
        found, wanted = stats(given), Stats.of(files.graph)
        many = fit(classifier, given, folder / "run").classifier
        before = [process.pid for process in executors()]
        gaps = {}
        for place, (name, options) in enumerate(WORLDS.items()):
            send(spark, place % 2 == 1)
            world = random_world(9 + place, **options)
            blend = loud(world.graph(), place)

            def written(again, blend=blend, world=world, place=place):
                out = str(folder / f"out-{place}-{again}.parquet")
                write_parquet(predict(Packed.of(blend), world.given(spark)), out)
                return spark.read.parquet(out).toPandas()

            # some products are kept already
            rows, killing = with_a_kill(spark, written, at=2 + place % 2)
            killed.append(killing)
            gaps[name] = gap(rows, predictions(blend, world.graph()))
        for K, model in ((1, first), (2, one)):
            send(spark, K == 2)
            packed = Packed.of(model)
            found_K, killing = with_a_kill(
                spark, lambda again, packed=packed: predict(packed, given).toPandas(), at=K
            )
            killed.append(killing)
            gaps[f"K = {K}"] = gap(found_K, predictions(model))
        last = executors()
    after = [process.pid for process in last]
    _, alive = psutil.wait_procs(last, timeout=60)  # they need a moment to end
    result = {
        "executors": len(before),
        "killed": killed,
        "first_was_executor": bool(killed) and killed[0]["pid"] in before,
        "killed_are_gone": all(one["pid"] not in after for one in killed),
        "left_running": len(alive),
        "gaps": gaps,
        "homophily_gap": abs(found.homophily_ratio() - wanted.homophily_ratio()),
        "same_degrees": bool((found.degrees == wanted.degrees).all()),
        "fit_gap": float(np.abs(many.compatibility_ - one.compatibility_).max()),
    }
    (folder / "found.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Run by tests/spark/test_cluster.py: a Spark Connect server on this machine, and a client.

python spark_connect.py FOLDER     # writes FOLDER/found.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cpgnn.check.facts import Stats
from cpgnn.errors import InputError
from cpgnn.run.predictions import predictions
from cpgnn.spark import Given, Packed, predict, stats, write_parquet
from cpgnn.spark.tables import check_tables
from spark_blends import loud, random_world
from spark_cluster import CONF

OPTIONS = {"types": ("knows", "pays"), "directed": ("pays",), "text": True}


def main(folder: Path) -> None:
    world = random_world(11, **OPTIONS)
    graph = world.graph()
    # Tasks are tried four times, as on a cluster: `local[2]` ends a job at the first one lost.
    builder = SparkSession.builder.remote("local[2, 4]")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10m")  # values are sent to executors
    given = world.given(spark)
    classifier = loud(graph)
    out = str(folder / "out.parquet")
    rows = write_parquet(predict(Packed.of(classifier), given), out)
    table = spark.read.parquet(out).toPandas().set_index("id")
    refused = []
    for attempt in (
        lambda: write_parquet(spark.range(3), out),
        lambda: Given.read(spark, str(folder / "nowhere.parquet")),
    ):
        try:
            attempt()
        except InputError as error:
            refused.append(str(error))
    chain = spark.range(49).selectExpr("id AS source", "id + 1 AS target")
    wide = spark.range(50).select("id", *(F.lit(float(i)).alias(f"f{i}") for i in range(300)))
    here = predictions(classifier, graph).set_index("id")
    p = [name for name in here.columns if name.startswith("p_")]
    found = {
        "client": type(spark).__module__,
        "rows": rows,
        "nodes": len(here),
        "gap": float(np.abs(table.loc[here.index, p] - here[p]).to_numpy().max()),
        "homophily_gap": abs(stats(given).homophily_ratio() - Stats.of(graph).homophily_ratio()),
        "refused": refused,
        "features": check_tables(Given(chain, features=wide)).num_features,
    }
    (folder / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Run by tests/spark/test_cluster.py: a Spark Connect server on this machine, and a client.

python spark_connect.py FOLDER     # writes FOLDER/found.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cpgnn import CPGNNClassifier
from cpgnn.check.facts import Stats
from cpgnn.errors import InputError
from cpgnn.io import LoadedGraph
from cpgnn.run.fit import train_run
from cpgnn.run.predictions import predictions
from cpgnn.spark import Given, Packed, predict, stats, write_parquet
from cpgnn.spark.tables import check_tables
from spark_blends import WORLDS, loud, random_world
from spark_cluster import gap, send
from spark_conf import CONF
from spark_files import random_files


def main(folder: Path) -> None:
    # Tasks are tried four times, as on a cluster: `local[2]` ends a job at the first one lost.
    builder = SparkSession.builder.remote("local[2, 4]")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    gaps, out = {}, str(folder / "out.parquet")
    for place, (name, options) in enumerate(WORLDS.items()):
        send(spark, place % 2 == 0)
        world = random_world(11 + place, **options)
        blend = loud(world.graph())
        found = predict(Packed.of(blend), world.given(spark))
        if not place:
            rows = write_parquet(found, out)
            nodes, found = world.graph().num_nodes, spark.read.parquet(out)
        gaps[name] = gap(found.toPandas(), predictions(blend, world.graph()))
    files = random_files(folder, 7, text=True, weighted=True)
    given = files.given(spark)
    for K in (1, 2):
        send(spark, K == 1)
        classifier = CPGNNClassifier("mlp", K, pretrain_epochs=5, epochs=10, seed=1)
        model = train_run(LoadedGraph(files.graph, files.split), classifier).classifier
        gaps[f"K = {K}"] = gap(predict(Packed.of(model), given).toPandas(), predictions(model))
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
    counted, wanted = stats(given).homophily_ratio(), Stats.of(files.graph).homophily_ratio()
    found = {
        "client": type(spark).__module__,
        "rows": rows,
        "nodes": nodes,
        "gaps": gaps,
        "homophily_gap": abs(counted - wanted),
        "refused": refused,
        "features": check_tables(Given(chain, features=wide)).num_features,
    }
    (folder / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

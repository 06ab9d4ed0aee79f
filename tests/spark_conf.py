"""What small Spark sessions of tests are started with."""

from __future__ import annotations

# Jobs are short, so Java compiles with its quick compiler alone. With it alone, it also keeps room
# for a fifth of the code, which long plans fill: Spark then fails in odd places.
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"

CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.sql.codegen.wholeStage": "false",  # compiles little, too
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # joins as of tables that are not small
    "spark.sql.catalogImplementation": "in-memory",
}

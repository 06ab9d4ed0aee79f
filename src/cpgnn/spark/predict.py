"""Classes for every node: the prior in executors, K rounds of propagation, softmax."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.engine.scaling import match_names
from cpgnn.io.files import wrong
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.errors import OVERFLOW, spark_errors
from cpgnn.spark.model import Packed, check_distributable, paper_model, prior_logits
from cpgnn.spark.propagation import beliefs, check_checkpoints, propagate
from cpgnn.spark.tables import Given, Tables, check_tables, column_at, kept

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark import Broadcast

    from cpgnn.classifier import CPGNNClassifier


@spark_errors()
def predict(packed: Packed, given: Given) -> DataFrame:
    """One row per node: id, class, label, split, and `p_<class>` for every class.

    What `cpgnn.run.predictions` gives on one machine. Labels only fill the columns label
    and split. The last round runs when the result is used; what is kept on the executors for it
    goes with the session, or with `spark.catalog.clearCache()`.
    """
    classifier = packed.unpacked()
    given = check_model(classifier, given)
    tables = check_tables(given)
    A = Adjacency.of(tables)
    P = probabilities(classifier, packed, A, tables)
    return _predictions(P, tables, [str(name) for name in classifier.classes_])


def check_model(classifier: CPGNNClassifier, given: Given) -> Given:
    """Raises, before any job, if the model cannot be used here or not with these features.

    Returns the tables with the features in the model's order, where it knows them by name.
    """
    wanted = classifier.n_features_in_
    architecture = classifier.architecture_
    check_distributable("auto" if architecture is None else architecture.prior, wanted)
    if given.features is not None and classifier.feature_names_in_ is not None:
        columns = given.features.columns
        order, _ = match_names(classifier.feature_names_in_, columns[1:], given.names.features)
        places = [0, *(int(i) + 1 for i in order)]
        features = given.features.select(*(column_at(given.features, i) for i in places))
        given = replace(given, features=features)
    width = 0 if given.features is None else len(given.features.columns) - 1
    if width != wanted:
        must = f"have the {wanted:,} features the model was fitted with"
        raise wrong(given.names.features, "Features", must, width or "none")
    if classifier.num_layers_ > 1:
        check_checkpoints(given.edges)
    return given


def probabilities(
    classifier: CPGNNClassifier, packed: Packed, A: Adjacency, tables: Tables
) -> DataFrame:
    """id, b0 … b(c-1): the probability of every class for every node."""
    assert tables.features is not None
    model, c = paper_model(classifier), len(classifier.classes_)
    columns = beliefs(c)
    shared = tables.features.sparkSession.sparkContext.broadcast(packed)
    kind = tables.features.schema["id"].dataType.simpleString()
    schema = ", ".join([f"id {kind}", *(f"{name} double" for name in columns)])
    logits = tables.features.mapInArrow(partial(_logits, shared, columns), schema)
    temperature = classifier.temperature_
    if model.num_layers == 0:
        return softmax(logits, columns, temperature)
    B_0 = softmax(logits, columns, minus=1 / c)
    B_0 = kept(B_0.repartition(A.partitions, "id"))
    H_bar = model.H_bar.detach().double().numpy()
    B = propagate(A, B_0, H_bar, model.num_layers, model.normalization)
    return softmax(B, columns, temperature)  # + 1/c for every class alike changes nothing here


def softmax(
    logits: DataFrame, columns: list[str], temperature: float = 1.0, minus: float = 0.0
) -> DataFrame:
    """softmax(logits / temperature) - minus; logits that are not finite are an error."""
    shifted = logits.withColumn("top", F.greatest(*columns))
    T = F.lit(float(temperature))
    exps = {name: F.exp((F.col(name) - F.col("top")) / T) for name in columns}
    total = reduce(add, (F.col(name) for name in columns))
    scaled = shifted.withColumns(exps).withColumn("total", total)
    fine = ~F.isnan("total")
    total = F.when(fine, F.col("total")).otherwise(F.raise_error(F.lit(OVERFLOW)).cast("double"))
    shares = (F.col(name) / F.col("total") - F.lit(minus) for name in columns)
    scaled = scaled.withColumn("total", total)
    return scaled.select("id", *(s.alias(n) for s, n in zip(shares, columns, strict=True)))


def _logits(
    shared: Broadcast[Packed], columns: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return prior_logits(batches, shared.value, columns)


def best_column(c: int) -> Column:
    """The position of the first largest of c columns of beliefs."""
    columns = beliefs(c)
    top, best = F.greatest(*columns), F.lit(c - 1)
    for j in reversed(range(c - 1)):
        best = F.when(F.col(columns[j]) == top, F.lit(j)).otherwise(best)
    return best


def _predictions(P: DataFrame, tables: Tables, class_names: list[str]) -> DataFrame:
    columns = beliefs(len(class_names))
    every = F.array(*(F.lit(name) for name in class_names))
    label = split = F.lit("")
    if tables.labels is not None:
        P = P.join(tables.labels, "id", "left")
        label, split = F.coalesce("label", F.lit("")), F.coalesce("split", F.lit(""))
    return P.select(
        F.col("id").cast("string").alias("id"),
        every[best_column(len(class_names))].alias("class"),
        label.alias("label"),
        split.alias("split"),
        *(F.col(c).alias(f"p_{n}") for c, n in zip(columns, class_names, strict=True)),
    )

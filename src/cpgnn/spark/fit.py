"""Training on the receptive field that Spark extracts, by the ordinary library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from cpgnn.classifier import Begin, CPGNNClassifier
from cpgnn.errors import must_be
from cpgnn.features import FeatureScaler
from cpgnn.homophily import row_normalized
from cpgnn.io import check_free
from cpgnn.run import Run, train_run, write_run
from cpgnn.settings import preset
from cpgnn.spark.adjacency import Adjacency, kept
from cpgnn.spark.field import MAX_EDGES, collect_field, hops_for, receptive_field
from cpgnn.spark.model import Packed, check_distributable
from cpgnn.spark.predict import probabilities
from cpgnn.spark.propagation import beliefs, check_checkpoints
from cpgnn.spark.tables import Given, Tables, check_covered, check_tables


def fit(
    classifier: CPGNNClassifier,
    given: Given,
    out: Path | str,
    *,
    unlabelled: str | None = None,
    max_edges: int = MAX_EDGES,
    sample: bool = False,
    test: float = 0.2,
    positive: str | None = None,
    refit: bool = False,
    options: dict[str, Any] | None = None,
    begin: Begin | None = None,
) -> Run:
    """Fits on the receptive field of the labels and writes the run to `out`, on the driver.

    The folder is the one that `cpgnn.run.fit_run` writes, without the graph and predictions: nodes
    at the rim of the field lack neighbours, so `predict` is asked for those, here or on one
    machine. The classifier needs prior="mlp" and a number of layers.
    """
    check_free(out)
    check_fittable(classifier, given)
    tables = check_tables(given, unlabelled=unlabelled)
    A = Adjacency.of(tables)
    check_covered(tables, A.ends, given.names)
    layers = classifier.num_layers or 0
    field = receptive_field(
        A,
        tables,
        hops_for(layers, classifier.normalization),
        max_edges=max_edges,
        sample=sample,
        seed=classifier.seed,
    )
    loaded = collect_field(field, tables)
    field.edges.unpersist()
    if field.notice:
        loaded = replace(loaded, graph=replace(loaded.graph, notices=(field.notice,)))
    scaler = _scaler(classifier, tables)
    run = train_run(
        loaded, classifier, test=test, positive=positive, refit=refit, scaler=scaler, begin=begin
    )
    run.classifier.edge_frequency_ = edge_frequency(run.classifier, A, tables)
    A.release()
    write_run(run, out, options or {}, with_graph=False)
    return run


def check_fittable(classifier: CPGNNClassifier, given: Given) -> None:
    """Raises, before any job, if the classifier cannot be trained here."""
    classifier.check_params()
    prior = classifier.prior if isinstance(classifier.prior, str) else "a function"
    check_distributable(prior, 0 if given.features is None else len(given.features.columns) - 1)
    if given.labels is None:
        raise must_be("Labels", "be given to fit", "none")
    if classifier.num_layers is None:
        hint = "Each hop of the receptive field is a job: try 1 first."
        raise must_be("'num_layers'", "be given on Spark", "None", hint)
    if classifier.num_layers > 1:
        check_checkpoints(given.edges)


def _scaler(classifier: CPGNNClassifier, tables: Tables) -> FeatureScaler:
    """The scaler of all nodes, not of the field's: columns have the mean of the whole table."""
    assert tables.features is not None
    kind = preset(classifier.preset).feature_scaling
    F_ = tables.num_features
    if kind in ("rows", "none"):
        return FeatureScaler(kind, F_)
    columns = [F.col(f"x{i}").cast("double") for i in range(F_)]
    moments = tables.features.agg(*map(F.avg, columns), *(F.avg(x * x) for x in columns)).first()
    assert moments is not None
    values = np.array(tuple(moments), dtype=np.float64)
    return FeatureScaler.from_moments(values[:F_], values[F_:])


def edge_frequency(classifier: CPGNNClassifier, A: Adjacency, tables: Tables) -> np.ndarray:
    """Rows of B̃ᵀAB̃ scaled to sum 1, over the whole graph: `cpgnn.compatibility.edge_frequency`.

    B̃ holds the labels that training and validation used, and the model's beliefs elsewhere.
    """
    assert tables.labels is not None
    names, c = [str(name) for name in classifier.classes_], len(classifier.classes_)
    columns = beliefs(c)
    P = probabilities(classifier, Packed.of(classifier), A, tables)
    known = np.concatenate([classifier.split_.train, classifier.split_.val])
    graph, spark = classifier.graph_, P.sparkSession
    kind = P.schema["id"].dataType.simpleString()
    ids = graph.node_ids[known]
    table = spark.createDataFrame(
        pa.table({"id": ids.astype("int64" if kind == "bigint" else str), "y": graph.labels[known]})
    )
    joined = P.join(table, "id", "left")
    own = [
        F.when(F.col("y").isNull(), F.col(b)).otherwise((F.col("y") == j).cast("double"))
        for j, b in enumerate(columns)
    ]
    B = joined.select("id", *(o.alias(b) for o, b in zip(own, columns, strict=True)))
    B = kept(B.repartition(A.partitions, "id"))
    sums = A.times(B.select("id", *(F.col(b).alias(f"m_{b}") for b in columns)))
    pairs = [F.sum(F.col(i) * F.col(f"m_{j}")) for i in columns for j in columns]
    totals = B.join(sums, "id").agg(*pairs).first()
    assert totals is not None
    B.unpersist()
    C = np.array([0.0 if value is None else value for value in totals]).reshape(len(names), c)
    return row_normalized(C)

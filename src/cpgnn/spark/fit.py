"""Training on the receptive field that Spark extracts, by the ordinary library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.loop import Begin
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import must_be, wrong_value
from cpgnn.evaluation.intervals import EdgeFrequency, edge_frequency_interval
from cpgnn.io import check_free
from cpgnn.relations.derived import joining
from cpgnn.run.fit import train_run
from cpgnn.run.folder import write_run
from cpgnn.run.run import Run
from cpgnn.settings import preset
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.field import MAX_EDGES, collect_field, hops_for, receptive_field
from cpgnn.spark.model import check_paper_prior
from cpgnn.spark.predict import probabilities
from cpgnn.spark.propagation import beliefs
from cpgnn.spark.relations import Relations, predicted_nodes
from cpgnn.spark.structure import structure
from cpgnn.spark.tables import Given, Tables, check_tables
from cpgnn.spark.work import Work

BLEND_HOPS = 2
"""How far a blend looks from the labels that teach it: two hops, and means over two hops."""


@spark_errors()
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
    work: str | None = None,
    options: dict[str, Any] | None = None,
    begin: Begin | None = None,
) -> Run:
    """Fits on the receptive field of the labels and writes the run to `out`, on the driver.

    The folder is the one that `cpgnn.run.folder.fit_run` writes, without the graph and predictions:
    nodes at the rim of the field lack neighbours, so `predict` is asked for those, here or on one
    machine. A blend is fitted on all within two hops of the labels; the shape of the graph around a
    node is that in the whole graph. The paper's model needs prior="mlp" and a number of layers.
    `work` as in `predict`.
    """
    check_free(out)
    blends = check_fittable(classifier, given)
    place = Work.at(work, given.edges.sparkSession)
    tables = check_tables(given, unlabelled=unlabelled)
    relations = Relations(tables, predicted_nodes(tables) if blends else None)
    layers = classifier.num_layers or 0
    hops = BLEND_HOPS if blends else hops_for(layers, classifier.normalization)
    A = relations.near if blends else relations.adjacency
    seed = classifier.seed
    field = receptive_field(A, tables, hops, max_edges=max_edges, sample=sample, seed=seed)
    shape = structure(A, tables.nodes, place) if blends else None
    loaded = collect_field(field, tables, shape)
    field.edges.unpersist()
    if field.notice:
        loaded = replace(loaded, graph=replace(loaded.graph, notices=(field.notice,)))
    scaler = None if tables.features is None else _scaler(classifier, tables)
    run = train_run(
        loaded, classifier, test=test, positive=positive, refit=refit, scaler=scaler, begin=begin
    )
    found = _frequencies(run.measured or run.classifier, relations, tables, place)
    for each in {run.measured or run.classifier, run.classifier}:
        each.edge_frequency_interval_, each.edge_frequency_ = found, found.share
    relations.release()
    run = replace(run, options=options or {})
    write_run(run, out, with_graph=False)
    return run


def check_fittable(classifier: CPGNNClassifier, given: Given) -> bool:
    """Raises, before any job, if the classifier cannot be trained here; whether it is a blend."""
    classifier.check_params()
    if given.labels is None:
        raise must_be("Labels", "be given to fit", "none")
    if classifier.blends:
        return True
    prior = classifier.prior if isinstance(classifier.prior, str) else "a function"
    check_paper_prior(prior, 0 if given.features is None else len(given.features.columns) - 1)
    if classifier.num_layers is None:
        hint = "Each layer makes the receptive field larger: try 1 first."
        raise wrong_value("num_layers", "be given on Spark", "None", hint)
    return False


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


def _frequencies(
    classifier: CPGNNClassifier, relations: Relations, tables: Tables, work: Work
) -> EdgeFrequency:
    """`edge_frequency_interval_` of the whole graph: predictions of all its nodes, from Spark.

    The field holds every edge of the labelled nodes; what it lacks are right predictions at its
    rim, and how many of the nodes outside are of which class.
    """
    graph, (train, val, unseen) = classifier.graph_, classifier.unseen()
    c = graph.num_classes
    P = probabilities(classifier, tables, work, relations).P.persist()
    [sums] = P.agg(*(F.sum(name) for name in beliefs(c))).collect()
    total = np.array(tuple(sums), dtype=np.float64)
    kind = "int64" if P.schema["id"].dataType.simpleString() == "bigint" else str
    here = {"id": graph.node_ids.astype(kind), "position": np.arange(graph.num_nodes)}
    inside = P.join(P.sparkSession.createDataFrame(pa.table(here)), "id").toArrow()
    P.unpersist()
    B = np.empty((graph.num_nodes, c))
    for j, name in enumerate(beliefs(c)):
        B[inside.column("position").to_numpy(), j] = inside.column(name).to_numpy()
    beyond = np.maximum(total - B[graph.predicted].sum(axis=0), 0)
    B[val] = unseen[val]
    return edge_frequency_interval(
        joining(graph),
        graph.labels,
        train,
        val,
        B,
        initial=classifier.initial_compatibility_,
        beyond=beyond,
        asked=graph.predicted,
    )

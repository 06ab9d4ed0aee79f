"""Classes for every node: priors in executors, rounds of propagation, softmax."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.blend.blend import Blend
from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import in_a_cell
from cpgnn.evaluation.conformal import Promise
from cpgnn.io.files import wrong
from cpgnn.priors import MLPPrior
from cpgnn.priors.network import Network
from cpgnn.priors.rows import FromNetwork
from cpgnn.run.predictions import BASIS
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.blend import Distributed
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.keeping import kept
from cpgnn.spark.lists import with_sets
from cpgnn.spark.model import Packed, check_distributable, paper_model
from cpgnn.spark.propagation import beliefs, propagate
from cpgnn.spark.relations import Relations
from cpgnn.spark.softmax import softmax
from cpgnn.spark.tables import Given, Tables, check_tables, column_at
from cpgnn.spark.work import Work

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier


@spark_errors()
def predict(
    packed: Packed, given: Given, *, promise: Promise | None = None, work: str | None = None
) -> DataFrame:
    """One row per node: id, class, label, split, and `p_<class>` for every class.

    What `cpgnn.run.predictions` gives on one machine for the graph of these tables: nodes are known
    by their ids. Labels fill the columns label and split; the model knows those that trained it.
    With a `promise` (of a run, or `CPGNNClassifier.promise`), `set` and `set_size` hold the classes
    that remain. `work` is a folder that all executors reach, for what is known between rounds: with
    the same folder, model and tables, a job that died goes on where it was. The last round runs
    when the result is used; what is kept on the executors goes with the session.
    """
    classifier = packed.unpacked()
    given = check_model(classifier, given)
    tables = check_tables(given)
    place = Work.at(work, given.edges.sparkSession, packed.config, packed.weights, tables.content)
    believed = probabilities(classifier, tables, place)
    if promise is not None:
        columns, H = beliefs(len(classifier.classes_)), classifier.compatibility_
        P = place.keep("probabilities", believed.P)
        P = with_sets(P, columns, Adjacency.of(tables), H, promise)
        believed = replace(believed, P=P)
    return _predictions(believed, tables, [str(name) for name in classifier.classes_])


@dataclass(frozen=True, eq=False)
class Believed:
    """What a model believes of every node."""

    P: DataFrame
    """id, nothing, b0 … b(c-1): the probability of every class."""
    some_unknown: bool
    """Whether nothing is known of some: their probabilities are the shares of training labels."""
    asked: DataFrame | None = None
    """id of the nodes of the kind that is predicted; None: all."""


def check_model(classifier: CPGNNClassifier, given: Given) -> Given:
    """Raises, before any job, if the model cannot be used here or not with these features.

    Returns the tables with the features in the model's order, where it knows them by name.
    """
    wanted = classifier.n_features_in_
    check_distributable(classifier)
    if given.features is not None and classifier.feature_names_in_ is not None:
        columns = given.features.columns
        order, _ = match_names(classifier.feature_names_in_, columns[1:], given.names.features)
        places = [0, *(int(i) + 1 for i in order)]
        features = given.features.select(*(column_at(given.features, i) for i in places))
        given = replace(given, features=features)
    width = 0 if given.features is None else len(given.features.columns) - 1
    if width != wanted:
        must = f"have the {wanted or 'no'} features the model was fitted with"
        raise wrong(given.names.features, "Features", must, width or "none")
    return given


def probabilities(
    classifier: CPGNNClassifier, tables: Tables, work: Work, relations: Relations | None = None
) -> Believed:
    """The probability of every class for every node."""
    names, shares = beliefs(len(classifier.classes_)), classifier.class_shares_
    asked = None
    if isinstance(classifier.model_, Blend):
        spread = Distributed.of(classifier, tables, work, relations)
        logits, asked = spread.logits(), spread.relations.predicted
        unknown = shares is not None and _any(spread.own, "nothing")
        shown = unknown
        if unknown and asked is not None:
            shown = _any(spread.own.join(asked, "id", "left_semi"), "nothing")
    else:
        model = paper_model(classifier)
        once = model.num_layers == 1 and model.normalization == "none"
        A = Adjacency.of(tables, once=once) if relations is None else relations.adjacency
        logits, unknown = _paper_logits(classifier, A, tables, work)
        shown = unknown
    P = softmax(logits, names, classifier.scaling_, rest=["nothing"])
    if not unknown or shares is None:
        return Believed(P, some_unknown=False, asked=asked)
    either = [
        F.when(F.col("nothing"), F.lit(float(share))).otherwise(F.col(name)).alias(name)
        for name, share in zip(names, shares, strict=True)
    ]
    return Believed(P.select("id", "nothing", *either), shown, asked)


def _any(table: DataFrame, column: str) -> bool:
    """Whether it holds for a row; by one job, where `first` would look three times."""
    found = table.agg(F.max(column)).first()
    return bool(found and found[0])


def _paper_logits(
    classifier: CPGNNClassifier, A: Adjacency, tables: Tables, work: Work
) -> tuple[DataFrame, bool]:
    """Logits of the paper's model with an MLP: id, nothing, b0 … b(c-1); and whether there is a
    node of which nothing is known."""
    assert tables.features is not None
    model, c = paper_model(classifier), len(classifier.classes_)
    names = beliefs(c)
    kind = tables.features.schema["id"].dataType.simpleString()
    schema = ", ".join([f"id {kind}", "empty boolean", *(f"{name} double" for name in names)])
    prior = model.prior
    assert isinstance(prior, MLPPrior)
    W_1, W_2 = (W.detach().numpy() for W in (prior.W_1, prior.W_2))
    network = Network(W_1, np.zeros(W_1.shape[1], W_1.dtype), W_2, np.zeros(c, W_2.dtype))
    makes = FromNetwork(classifier.scaler_, network, names)
    own = tables.features.mapInArrow(makes.rows, schema)
    if model.num_layers:
        own = softmax(own, names, minus=1 / c, rest=["empty"]).repartition(A.partitions, "id")
    own = kept(own)
    logits = own.select("id", *names)
    if model.num_layers:  # + 1/c for every class alike would change nothing
        H_bar = model.H_bar.detach().double().numpy()
        logits = propagate(A, logits, H_bar, model.num_layers, model.normalization, work=work)
    if classifier.class_shares_ is None or not _any(own, "empty"):
        return logits.withColumn("nothing", F.lit(False)), False
    bare = own.where("empty").select("id", F.lit(True).alias("nothing"))
    nothing = kept(bare.join(A.degrees(), "id", "left_anti"))
    logits = logits.join(nothing, "id", "left")
    return logits.withColumn("nothing", F.coalesce("nothing", F.lit(False))), _any(
        nothing, "nothing"
    )


def best_column(c: int) -> Column:
    """The position of the first largest of c columns of beliefs."""
    columns = beliefs(c)
    top, best = F.greatest(*columns), F.lit(c - 1)
    for j in reversed(range(c - 1)):
        best = F.when(F.col(columns[j]) == top, F.lit(j)).otherwise(best)
    return best


def _predictions(believed: Believed, tables: Tables, class_names: list[str]) -> DataFrame:
    P, columns = believed.P, beliefs(len(class_names))
    if believed.asked is not None:
        P = P.join(believed.asked, "id", "left_semi")
    every = F.array(*(F.lit(name) for name in class_names))
    label = split = F.lit("")
    if tables.labels is not None:
        P = P.join(tables.labels, "id", "left")
        label, split = F.coalesce("label", F.lit("")), F.coalesce("split", F.lit(""))
    sets = []
    if "in0" in P.columns:
        held = [
            F.when(F.col(f"in{j}"), F.lit(in_a_cell(name))) for j, name in enumerate(class_names)
        ]
        size = F.size(F.array_compact(F.array(*held))).cast("long")
        sets = [F.concat_ws("|", *held).alias("set"), size.alias("set_size")]
    unknown = F.when(F.col("nothing"), F.lit("nothing known")).otherwise(F.lit(""))
    basis = [unknown.alias(BASIS)] if believed.some_unknown else []
    return P.select(
        F.col("id").cast("string").alias("id"),
        every[best_column(len(class_names))].alias("class"),
        label.alias("label"),
        split.alias("split"),
        *(F.col(c).alias(f"p_{n}") for c, n in zip(columns, class_names, strict=True)),
        *basis,
        *sets,
    )

"""Why: every term of the logits of chosen nodes, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.blend.blend import Blend
from cpgnn.engine.text import listed
from cpgnn.errors import InputError, must_be
from cpgnn.priors.members import TogetherPrior
from cpgnn.spark.blend import Distributed
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.heard import named
from cpgnn.spark.model import Packed
from cpgnn.spark.predict import check_model
from cpgnn.spark.propagation import beliefs
from cpgnn.spark.tables import Given, check_tables
from cpgnn.spark.work import Work

OWN = "own"
MOST = 10_000
"""Nodes that are explained at once."""


@spark_errors()
def explain(
    packed: Packed, given: Given, nodes: Sequence[str | int], *, work: str | None = None
) -> DataFrame:
    """id, relation, neighbour and `logit_<class>` for every class, one row for each term.

    The relation "own" is the node's own part; every other row is what one neighbour says over one
    relation. Added up, the rows of a node are its logits. For the default model; of up to 10,000
    nodes; `work` as in `predict`.
    """
    classifier = packed.unpacked()
    if not isinstance(classifier.model_, Blend):
        raise InputError(
            "On Spark, the default model can be explained; the paper's goes by walks, which need "
            "the graph. Try cpgnn explain on one machine."
        )
    wanted = sorted({str(node) for node in nodes})
    if not 0 < len(wanted) <= MOST:
        raise must_be("The nodes to explain", f"be 1 to {MOST:,}", len(wanted))
    tables = check_tables(check_model(classifier, given))
    spark = given.edges.sparkSession
    place = Work.at(work, spark, packed.config, packed.weights, tables.content)
    made = Distributed.of(classifier, tables, place)
    chosen = tables.nodes.where(F.col("id").cast("string").isin(wanted))
    found = {str(row["id"]) for row in chosen.collect()}
    if len(found) < len(wanted):
        raise must_be("A node id", "be one of the graph's", listed(sorted({*wanted} - found)))
    blend, names = classifier.model_, beliefs(len(classifier.classes_))
    last = len(blend.stages)
    spoken = (made.spoken(last), names, blend.hears, blend.stage.H_bar)
    parts = [made.heard.terms(chosen, *spoken)]
    for (m, prior), w in zip(enumerate(blend.priors), blend.stage.w, strict=True):
        if isinstance(prior, TogetherPrior) and w:
            B, columns, hears, H_bar = made.spoken_by(m, prior)
            terms = made.heard.terms(chosen, B, columns, hears, w * H_bar)
            if terms is not None:
                parts.append(terms.toDF("source", "target", "relation", *names))
    heard = [terms for terms in parts if terms is not None]
    logits = made.logits().join(F.broadcast(chosen), "id").select("id", *names)
    if not heard:
        return _presented(logits, F.lit(OWN), F.lit(""), names, classifier.classes_)
    every = reduce(DataFrame.unionByName, heard)
    total = [F.sum(name).alias(name) for name in names]
    every = every.groupBy("source", "target", "relation").agg(*total)
    every = place.keep("terms", every.withColumnRenamed("target", "id"))
    sums = every.groupBy("id").agg(*(F.sum(name).alias(f"sum_{name}") for name in names))
    rest = [F.col(name) - F.coalesce(f"sum_{name}", F.lit(0.0)) for name in names]
    own = logits.join(sums, "id", "left").select("id", *named(rest, names))
    relation = F.array(*map(F.lit, made.heard.names))[F.col("relation")]
    return _presented(own, F.lit(OWN), F.lit(""), names, classifier.classes_).unionByName(
        _presented(every, relation, F.col("source").cast("string"), names, classifier.classes_)
    )


def _presented(
    table: DataFrame,
    relation: Column,
    neighbour: Column,
    names: Sequence[str],
    classes: Iterable[object],
) -> DataFrame:
    return table.select(
        F.col("id").cast("string").alias("id"),
        relation.alias("relation"),
        neighbour.alias("neighbour"),
        *(F.col(b).alias(f"logit_{name}") for b, name in zip(names, classes, strict=True)),
    )

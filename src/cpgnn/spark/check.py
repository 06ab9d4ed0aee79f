"""What is wrong or risky in a graph on Spark: counts of all of it, the rest around its labels."""

from __future__ import annotations

from dataclasses import replace

from cpgnn.check import CheckReport, check_loaded
from cpgnn.check.counted import counted
from cpgnn.check.facts import Stats
from cpgnn.check.finding import worst_first
from cpgnn.engine.loop import Begin
from cpgnn.errors import must_be
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.errors import spark_errors
from cpgnn.spark.field import MAX_EDGES, collect_field, receptive_field
from cpgnn.spark.fit import BLEND_HOPS
from cpgnn.spark.stats import described
from cpgnn.spark.tables import Given, check_tables

NEED_ALL = {"components", "parts-without-labels", "labelled-unlike-others"}
"""Findings that a part of a graph cannot tell."""


@spark_errors()
def check(
    given: Given,
    *,
    unlabelled: str | None = None,
    max_edges: int = MAX_EDGES,
    sample: bool = False,
    compare: bool = True,
    positive: str | None = None,
    seed: int = 0,
    begin: Begin | None = None,
) -> CheckReport:
    """`cpgnn.check`: what counts can tell (sizes, self-loops, isolated nodes, hubs, classes) is of
    the whole graph; the rest is of what lies within two hops of the labels, which `fit` reads.

    That is collected as `fit` does: `max_edges` and `sample` as there. Unless it is all of the
    graph, nobody looks for separate parts, or whether labelled nodes are like the others.
    """
    if given.labels is None:
        raise must_be("Labels", "be given to check", "none")
    tables = check_tables(given, unlabelled=unlabelled)
    A = Adjacency.of(tables)
    whole = described(tables, A, given.names)
    field = receptive_field(A, tables, BLEND_HOPS, max_edges=max_edges, sample=sample, seed=seed)
    loaded = collect_field(field, tables)
    for table in (field.edges, tables.nodes):
        table.unpersist()
    A.release()
    graph = loaded.graph
    report = check_loaded(loaded, compare=compare, positive=positive, seed=seed, begin=begin)
    away = {finding.code for finding in counted(Stats.of(graph), graph)}
    if (graph.num_nodes, graph.num_edges) != (whole.nodes, whole.edges):
        away |= NEED_ALL
    found = [finding for finding in report.findings if finding.code not in away]
    return replace(
        report,
        nodes=whole.nodes,
        edges=whole.edges,
        classes=len(whole.class_names),
        labelled=int(whole.class_sizes.sum()),
        findings=worst_first([*found, *counted(whole)]),
    )

"""A split by time: learn from what was there before a moment, and be judged by what came after."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from cpgnn.engine.text import count
from cpgnn.errors import GraphNotice, Mention, Message, check_share, must_be
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph
from cpgnn.io.times import Times
from cpgnn.splits import Split


def time_split(
    loaded: LoadedGraph, *, test: float, validation: float
) -> tuple[Split, Graph, float]:
    """The split, the graph as it was before the moment, and the moment.

    The latest labelled nodes, a share `test` of them, are tested; the latest of the rest validate.
    Nodes of one time stay together. The earlier graph has all nodes but only the edges that came
    before the first node that is tested; all edges, if only labels have times.
    """
    times, graph = loaded.times, loaded.graph
    assert times is not None
    check_share("test", test)
    check_share("validation", validation)
    nodes = np.flatnonzero((graph.labels >= 0) & ~np.isnan(times.nodes))
    if not test or not len(nodes):
        must = "have labelled nodes to test by, with a time"
        raise must_be(f"A split by {times.column!r}", must, "none" if test else "a test share of 0")
    when = times.nodes[nodes]
    moment = _latest(when, test, times)
    early = nodes[when < moment]
    first = _latest(times.nodes[early], validation, times) if validation else moment
    parts = (times.nodes[early] < first, times.nodes[early] >= first, when >= moment)
    split = Split(early[parts[0]], early[parts[1]], nodes[parts[2]])
    unseen = np.setdiff1d(graph.labels[split.test], graph.labels[split.train])
    if len(unseen):
        must = f"have training labels before {times.said(first)}"
        hint = Message("Use a smaller ", Mention("test"), ", or a split without times.")
        raise must_be(f"Class {graph.class_names[unseen[0]]!r}", must, "none", hint)
    return split, _before(graph, times, moment), moment


def told(times: Times, split: Split, before: Graph, moment: float) -> str:
    """What was learned from and what tests it, by which moment."""
    labelled = count(len(split.train) + len(split.val), "labelled node")
    edges = "" if times.edges is None else f" and {count(before.num_edges, 'edge')}"
    later = count(len(split.test), "later node tests", "later nodes test")
    when = times.said(moment)
    return (
        f"By {times.column!r}, the model learns from {labelled}{edges} before {when}; {later} it."
    )


def _latest(when: np.ndarray, share: float, times: Times) -> float:
    """The time from which on about this share of the nodes came; some came before it."""
    if len(np.unique(when)) < 2:
        got = f"only {times.said(when[0])}" if len(when) else "none"
        raise must_be(f"Column {times.column!r}", "have nodes of several times to split", got)
    ordered = np.sort(when)
    moment = ordered[min(round(len(ordered) * (1 - share)), len(ordered) - 1)]
    return float(ordered[ordered > ordered[0]][0] if moment == ordered[0] else moment)


def _before(graph: Graph, times: Times, moment: float) -> Graph:
    edges = times.edges
    if edges is None:
        return graph
    kept = edges.times < moment
    if not kept.any():
        got = f"none; the first came {times.said(float(edges.times.min()))}"
        raise must_be("Edges to learn from", f"come before {times.said(moment)}", got)
    relation = None if edges.relation is None else np.asarray(edges.relation, dtype=object)[kept]
    directed = edges.directed
    if relation is not None and not isinstance(directed, bool):
        directed = [name for name in directed if name in set(relation)]
    with warnings.catch_warnings(action="ignore", category=GraphNotice):
        early = Graph.from_edges(
            edges.source[kept],
            edges.target[kept],
            weights=None if edges.weights is None else edges.weights[kept],
            num_nodes=graph.num_nodes,
            relation=relation,
            directed=directed,
        )
    return replace(graph, adjacency=early.adjacency, edge_types=early.edge_types)

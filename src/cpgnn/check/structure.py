"""Findings about the edges: rows of the file, self-loops, isolated nodes, components, hubs."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from cpgnn.check.finding import Finding, named, number
from cpgnn.graph import Graph

HUB_DEGREE, HUB_FACTOR = 100, 20
"""A hub has at least this many neighbours, and so many times the median."""


def edge_rows(graph: Graph, rows: np.ndarray) -> list[Finding]:
    """Repeated rows, and edges given in one direction where others are given in both.

    `rows` [2, m] are the edges as the file lists them, as positions of nodes.
    """
    source, target = (part[rows[0] != rows[1]].astype(np.int64) for part in rows)
    n = max(graph.num_nodes, 1)
    directed, first, times = np.unique(source * n + target, return_index=True, return_counts=True)
    findings = []
    repeated = int(times.sum() - len(directed))
    if repeated:
        twice = first[times > 1]
        findings.append(
            Finding(
                "risk",
                "repeated-edges",
                "The same edge is listed more than once",
                f"{number(repeated, 'row repeats', 'rows repeat')} an earlier one, same direction. "
                + ("Their weights were added up." if graph.is_weighted else "Each counts once."),
                "Remove the repeats; if they are separate events, count them in a weight column.",
                repeated,
                named(graph, np.unique(np.stack([source[twice], target[twice]]), axis=1).T.ravel()),
            )
        )
    backward = (directed % n) * n + directed // n
    mutual = np.isin(backward, directed, assume_unique=True)
    one_way = int((~mutual).sum())
    if 0 < one_way < len(directed):
        both = (len(directed) - one_way) // 2
        odd = directed[mutual if both < one_way else ~mutual]
        findings.append(
            Finding(
                "problem" if graph.is_weighted else "risk",
                "one-direction-edges",
                "Some edges are listed in both directions, others in one",
                f"{number(one_way, 'edge')} in one direction, {both:,} in both. "
                "Edges have no direction here"
                + (", so those in both count twice." if graph.is_weighted else "."),
                "List every edge once, or every edge twice; if directions matter, put them into "
                "features (in-degree and out-degree, say).",
                one_way,
                named(graph, np.stack([odd // n, odd % n], axis=1)[:1].ravel()),
            )
        )
    return findings


def connections(graph: Graph) -> list[Finding]:
    """Self-loops, isolated nodes, components, hubs."""
    degrees = np.diff(graph.adjacency.indptr)
    return [*_self_loops(graph), *_isolated(graph, degrees), *_parts(graph), *_hubs(graph, degrees)]


def _self_loops(graph: Graph) -> list[Finding]:
    loops = graph.self_loops
    if not len(loops):
        return []
    return [
        Finding(
            "note",
            "self-loops",
            "Some nodes have an edge to themselves",
            f"{number(len(loops), 'node has', 'nodes have')} a self-loop. They are set aside.",
            "Nothing, unless an edge to itself says something: then make it a feature.",
            len(loops),
            named(graph, loops),
        )
    ]


def _isolated(graph: Graph, degrees: np.ndarray) -> list[Finding]:
    alone = np.flatnonzero(degrees == 0)
    if not len(alone):
        return []
    blind = graph.features is None
    return [
        Finding(
            "risk" if blind else "note",
            "isolated-nodes",
            "Some nodes have no edge to another node",
            f"{number(len(alone), 'node has', 'nodes have')} no neighbour. "
            + (
                "Without features nothing is known about them but how frequent the classes are."
                if blind
                else "The graph says nothing about them; their features alone decide."
            ),
            "Check that their ids are written as in the edges; "
            + ("leave them out, or add features." if blind else "else leave them as they are."),
            len(alone),
            named(graph, alone),
        )
    ]


def _parts(graph: Graph) -> list[Finding]:
    """Components of at least two nodes; those without a label matter where features are missing."""
    number_of, part = connected_components(graph.adjacency, directed=False)
    sizes = np.bincount(part, minlength=number_of)
    several = np.flatnonzero(sizes > 1)
    if len(several) < 2:
        return []
    labelled = np.zeros(number_of, dtype=bool)
    labelled[part[graph.labels >= 0]] = True
    dark = np.flatnonzero((sizes > 1)[part] & ~labelled[part])
    largest = int(sizes.max())
    findings = [
        Finding(
            "note",
            "components",
            "The graph falls into several parts",
            f"{len(several):,} parts of two or more nodes without an edge between them; the "
            f"largest has {largest:,} of {graph.num_nodes:,} nodes.",
            "Nothing, if that is how the data is; else look for edges that are missing.",
            len(several),
            named(graph, np.flatnonzero((part != sizes.argmax()) & (sizes > 1)[part])),
        )
    ]
    if len(dark) and graph.num_classes:
        findings.append(
            Finding(
                "risk" if graph.features is None else "note",
                "parts-without-labels",
                "Parts of the graph have no labelled node",
                f"{number(len(dark), 'node lies', 'nodes lie')} in parts that no label reaches. "
                + (
                    "Without features there is nothing to tell their classes by."
                    if graph.features is None
                    else "Their features have to do."
                ),
                "Label a few nodes there.",
                len(dark),
                named(graph, dark),
            )
        )
    return findings


def _hubs(graph: Graph, degrees: np.ndarray) -> list[Finding]:
    connected = degrees[degrees > 0]
    if not len(connected):
        return []
    median = float(np.median(connected))
    hubs = np.flatnonzero(degrees >= max(HUB_DEGREE, HUB_FACTOR * median))
    if not len(hubs):
        return []
    hubs = hubs[np.argsort(-degrees[hubs], kind="stable")]
    held = degrees[hubs].sum() / degrees.sum()
    return [
        Finding(
            "note",
            "hubs",
            "A few nodes have very many neighbours",
            f"{number(len(hubs), 'node has', 'nodes have')} at least "
            f"{max(HUB_DEGREE, HUB_FACTOR * median):,.0f} neighbours (the median is {median:g}, "
            f"the largest {degrees.max():,}) and hold {held:.0%} of all edge ends.",
            "Check that they are real nodes and no stand-in such as 'unknown'. If training "
            "overflows or is unstable, try --normalization sym.",
            len(hubs),
            named(graph, hubs),
        )
    ]

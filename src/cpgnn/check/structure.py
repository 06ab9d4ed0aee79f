"""Findings about the edges: the rows of their file, and the parts that the graph falls into."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from cpgnn.check.finding import Finding, named
from cpgnn.engine.text import count
from cpgnn.errors import advise
from cpgnn.graph import Graph

LARGE = 10
"""A mean weight from which on weights are called large."""


def edge_rows(graph: Graph, rows: np.ndarray, *, undirected: bool = False) -> Iterator[Finding]:
    """Repeated rows, and edges given in one direction where others are given in both.

    `rows` [2, m] are the edges as the file lists them, as positions of nodes; a third row has the
    codes of their types: edges of two types repeat nothing. Payments and the
    like go one way, now and then both, and may repeat: that is a risk only if most edges are
    listed twice, so that the weights of the others seem to count half; otherwise it is no news
    where it was said that edges are `undirected`.
    """
    source, target, *types = (part[rows[0] != rows[1]].astype(np.int64) for part in rows)
    n = max(graph.num_nodes, 1)
    kind = n * n * types[0] if types else 0
    directed, times = np.unique(kind + source * n + target, return_counts=True)
    ends = np.stack([directed // n % n, directed % n], axis=1)
    repeated = int(times.sum() - len(directed))
    summed = graph.is_weighted
    if repeated:
        yield Finding(
            "note",
            "repeated-edges",
            "The same edge is listed more than once",
            f"{count(repeated, 'row joins', 'rows join')} the same two nodes, in the same "
            "direction, as an earlier row. "
            + ("Their weights were added up." if summed else "Each edge counts once."),
            "Nothing, if they are separate events, such as payments. If they are copies, drop them."
            if summed
            else "Nothing, if they are copies. If they are separate events, such as payments, and "
            "should count, give their number in a weight column.",
            repeated,
            named(graph, pd.unique(ends[times > 1].ravel())),
        )
    reverse = directed // (n * n) * n * n + ends[:, 1] * n + ends[:, 0]
    mutual = np.isin(reverse, directed, assume_unique=True)
    one_way = int((~mutual).sum())
    if 0 < one_way < len(directed) and not any(kind.directed for kind in graph.edge_types):
        both = (len(directed) - one_way) // 2
        mostly_both = both > one_way
        if undirected and not mostly_both:
            return
        odd = ends[~mutual if mostly_both else mutual]
        yield Finding(
            "risk" if mostly_both and summed else "note",
            "one-direction-edges",
            "Some edges are listed in both directions, others in one",
            f"{count(one_way, 'edge')} in one direction, {both:,} in both. Directions are ignored"
            + (": the weights of both are added up." if summed else "."),
            "If every edge was meant to be listed twice, add the missing rows, or list every edge "
            "once."
            if mostly_both
            else advise("Nothing, unless directions matter: then use {}.", directed=True),
            one_way,
            named(graph, odd[0]),
        )


def weights(graph: Graph) -> Iterator[Finding]:
    """Weights so large that the propagation of the paper, which multiplies by them, may overflow.
    The default model scales what neighbours say, and tries logarithms of weights that span much."""
    A = graph.adjacency
    if not graph.is_weighted or not A.nnz or (mean := float(A.data.mean())) < LARGE:
        return
    yield Finding(
        "note",
        "large-weights",
        "The edge weights are large",
        f"They are {mean:,.0f} on average and up to {A.data.max():,.0f}. Each layer of "
        "the paper's models multiplies by them: training may overflow, and probabilities may be "
        "overconfident. The default model takes weights in any unit.",
        advise(
            "Nothing for the default model. With {}, use weights near 1 (amounts divided by their "
            "mean, or logarithms of them), or try {}.",
            prior=("mlp", "cheby"),
            normalization="sym",
        ),
        graph.num_edges,
        named(graph, np.argsort(-A.sum(axis=1), kind="stable")),
    )


def parts(graph: Graph) -> Iterator[Finding]:
    """Components of at least two nodes; those without a label matter where features are missing."""
    # A is symmetric: both answers are the same, and this one needs no transpose of it.
    num_parts, part = connected_components(graph.adjacency, connection="strong")
    sizes = np.bincount(part, minlength=num_parts)
    several = int((sizes > 1).sum())
    if several < 2:
        return
    connected = (sizes > 1)[part]
    yield Finding(
        "note",
        "components",
        "The graph falls into several parts",
        f"{several:,} parts of two or more nodes without an edge between them; the largest has "
        f"{sizes.max():,} of {graph.num_nodes:,} nodes.",
        "Nothing, if that is how the data is; otherwise look for missing edges.",
        several,
        named(graph, (part != sizes.argmax()) & connected),
    )
    dark = connected & ~np.isin(part, part[graph.labels >= 0]) & graph.predicted
    if dark.any() and graph.num_classes:
        blind = graph.features is None
        yield Finding(
            "risk" if blind else "note",
            "parts-without-labels",
            "Parts of the graph have no labelled node",
            f"{count(int(dark.sum()), 'node lies', 'nodes lie')} in parts that no label reaches. "
            + (
                "Without features there is nothing to tell their classes by."
                if blind
                else "Only their features say anything about their classes."
            ),
            "Label a few nodes there.",
            int(dark.sum()),
            named(graph, dark),
        )

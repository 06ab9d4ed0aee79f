"""Findings that counts alone can tell, for a graph of any size: degrees, self-loops, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cpgnn.check.facts import Stats
from cpgnn.check.finding import Finding, named
from cpgnn.engine.formatting import percent
from cpgnn.engine.text import count, listed, some
from cpgnn.errors import advise
from cpgnn.graph import Graph

HUB_DEGREE, HUB_FACTOR = 100, 20
"""A hub has at least this many neighbours, and so many times the median."""
RARE = 10
"""A class with fewer labelled nodes is rare: a fifth of them is one or two nodes to test on."""


def counted(stats: Stats, graph: Graph | None = None) -> Iterator[Finding]:
    """Self-loops, isolated nodes, hubs; missing, empty and rare classes; unlabelled nodes.

    With the `graph` that the numbers are of, findings also name a few nodes.
    """

    def names(which: Callable[[Graph], np.ndarray]) -> tuple[str, ...]:
        return () if graph is None else named(graph, which(graph))

    if loops := stats.self_loops:
        yield Finding(
            "note",
            "self-loops",
            "Some nodes have an edge to themselves",
            f"{count(loops, 'node has', 'nodes have')} a self-loop. Self-loops are set aside.",
            "Nothing, unless self-loops mean something: if so, make them a feature.",
            loops,
            names(lambda graph: graph.self_loops),
        )
    if alone := stats.isolated:
        blind = not stats.features
        yield Finding(
            "risk" if blind else "note",
            "isolated-nodes",
            "Some nodes have no edge to another node",
            f"{count(alone, 'node has', 'nodes have')} no neighbour. "
            + (
                "Without features, all that is known about them is how frequent the classes are."
                if blind
                else "The graph says nothing about them; their features alone decide."
            ),
            "Check that their ids are written as in the edges. "
            + ("If they are, remove them or add features." if blind else "If they are, keep them."),
            alone,
            names(lambda graph: graph.num_neighbours == 0),
        )
    yield from _hubs(stats, names)
    nodes = stats.nodes if graph is None else int(graph.predicted.sum())
    yield from _classes(stats, names, nodes)


Names = Callable[[Callable[[Graph], np.ndarray]], tuple[str, ...]]


def _hubs(stats: Stats, names: Names) -> Iterator[Finding]:
    median = stats.degree_quantile(0.5, isolated=False)
    least = max(HUB_DEGREE, HUB_FACTOR * median)
    hubs = stats.degrees[stats.degrees[:, 0] >= least]
    if not len(hubs):
        return
    many, largest = int(hubs[:, 1].sum()), int(hubs[-1, 0])
    hold = "holds" if many == 1 else "hold"
    held = hubs.prod(axis=1).sum() / stats.degrees.prod(axis=1).sum()

    yield Finding(
        "note",
        "hubs",
        "A few nodes have very many neighbours",
        f"{count(many, 'node has', 'nodes have')} at least {least:,.0f} neighbours (the median is "
        f"{median:g}, the largest {largest:,}) and {hold} {percent(held, 0)} of all edge ends.",
        advise(
            "Check that they are real nodes, not placeholders such as 'unknown'. The default model "
            "can cope with hubs. With {}, whose beliefs hubs may make overflow, try {}.",
            prior=("mlp", "cheby"),
            normalization="sym",
        ),
        many,
        names(lambda graph: np.argsort(-graph.num_neighbours, kind="stable")[:many]),
    )


def _classes(stats: Stats, names: Names, nodes: int) -> Iterator[Finding]:
    """`nodes`: those that may have a class."""
    sizes, labelled = stats.class_sizes, stats.labelled
    if (sizes > 0).sum() < 2:
        got = f"only {stats.class_names[int(sizes.argmax())]!r}" if labelled else "no class at all"
        yield Finding(
            "problem",
            "no-classes",
            "There are not two classes to tell apart",
            f"The labels name {got}.",
            "Label nodes of at least two classes.",
            labelled,
            names(lambda graph: graph.labels >= 0),
        )
        return
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        yield Finding(
            "risk",
            "empty-classes",
            "Some classes have no labelled node",
            f"{listed([stats.class_names[i] for i in empty])}: they cannot be learned, but "
            "still get probabilities.",
            "Label some of their nodes, or remove these classes.",
            len(empty),
        )
    rare = np.flatnonzero((sizes > 0) & (sizes < RARE))
    if len(rare):
        rare = rare[np.argsort(sizes[rare], kind="stable")]
        single = sizes[rare[0]] < 2
        yield Finding(
            "risk",
            "rare-classes",
            "Some classes have very few labelled nodes",
            f"{count(len(rare), 'class', 'classes')} with fewer than {RARE}: "
            f"{some([f'{stats.class_names[i]!r} ({sizes[i]})' for i in rare])}. They can hardly "
            "be learned, and their scores say little"
            + ("; the only label of a class is trained on, not tested." if single else "."),
            advise(
                "Label more of their nodes, merge them into one class with {}, or remove them. You "
                "can give them more weight with {}.",
                merge_rare=RARE,
                class_weight="balanced",
            ),
            len(rare),
            names(lambda graph: np.isin(graph.labels, rare)),
        )
    if unknown := nodes - labelled:
        yield Finding(
            "note",
            "unlabelled-nodes",
            "Some nodes have no label",
            f"{unknown:,} of {nodes:,} nodes. Their classes are predicted.",
            "Nothing: that is what the model is for.",
            unknown,
            names(lambda graph: graph.unlabelled),
        )

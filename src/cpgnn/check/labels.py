"""Findings about classes that a split leaves out, and about one that is rare."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cpgnn.check.finding import Finding, named
from cpgnn.engine.arrays import class_sizes
from cpgnn.engine.formatting import percent
from cpgnn.engine.text import listed
from cpgnn.errors import advise
from cpgnn.evaluation.metrics import RARE, positive_class
from cpgnn.graph import Graph
from cpgnn.splits import Split


def left_out(graph: Graph, split: Split) -> Iterator[Finding]:
    """Classes that have labels, but none where the split needs one."""
    labelled = np.flatnonzero(class_sizes(graph.labels, graph.num_classes))
    for part, purpose in (("train", "learn from"), ("test", "be scored on")):
        nodes = getattr(split, part)
        missing = np.setdiff1d(labelled, graph.labels[nodes])
        if len(nodes) and len(missing):
            yield Finding(
                "problem" if part == "train" else "risk",
                f"classes-not-in-{part}",
                f"Some classes have no {part} node",
                f"This split has no node to {purpose} in "
                f"{listed([graph.class_names[i] for i in missing])}.",
                "Label more of their nodes; if the labels have a split column, mark some of them "
                f"'{part}' there.",
                len(missing),
                named(graph, np.isin(graph.labels, missing)),
            )


def rare_positive(graph: Graph, positive: str | None) -> tuple[int | None, list[Finding]]:
    """The index of the class to judge by: the one named, or a rare one; None to judge by all.

    And, where it is rare, a warning that accuracy says nothing about it.
    """
    names = [str(name) for name in graph.class_names]
    sizes = class_sizes(graph.labels, len(names))
    target = positive_class(names, sizes, positive)
    if target is None or not sizes[target]:
        return None, []
    share = float(sizes[target] / sizes.sum())
    if share >= RARE:
        return (None if positive is None else target), []
    warning = Finding(
        "risk" if positive is None else "note",
        "accuracy-says-nothing",
        f"Accuracy says nothing about {names[target]!r}",
        f"{percent(share)} of the labelled nodes have this class: never predicting it is right for "
        f"{percent(1 - share)} of them. It is judged by average precision instead, which is "
        f"{percent(share)} for a random order.",
        advise(
            ("Use {}" if positive is None else "Nothing here. Give 'fit' {} as well")
            + ": nodes are then ranked by its probability, and the model is chosen by average "
            "precision.",
            positive=names[target],
        ),
        int(sizes[target]),
        named(graph, graph.labels == target),
    )
    return target, [warning]

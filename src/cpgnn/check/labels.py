"""Findings about classes that a split leaves out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cpgnn.check.finding import Finding, named
from cpgnn.engine.text import listed
from cpgnn.graph import Graph
from cpgnn.splits import Split


def left_out(graph: Graph, split: Split) -> Iterator[Finding]:
    """Classes that have labels, but none where the split needs one."""
    labelled = np.unique(graph.labels[graph.labels >= 0])
    for part, purpose in (("train", "learn from"), ("test", "be scored on")):
        nodes = getattr(split, part)
        missing = np.setdiff1d(labelled, graph.labels[nodes])
        if len(nodes) and len(missing):
            yield Finding(
                "problem" if part == "train" else "risk",
                f"classes-not-in-{part}",
                f"Some classes have no {part} node",
                "This split leaves no node to "
                f"{purpose} of {listed([graph.class_names[i] for i in missing])}.",
                "Label more of their nodes; if the labels have a split column, mark some of them "
                f"'{part}' there.",
                len(missing),
                named(graph, np.isin(graph.labels, missing)),
            )

"""Findings about names: ids and classes that look alike, and classes that mean "unknown"."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cpgnn.check.finding import EXAMPLES, Finding, listed, named, number
from cpgnn.graph import Graph
from cpgnn.io.likeness import alike, stands_for_unknown


def similar_ids(graph: Graph) -> list[Finding]:
    """Ids that differ only by case or surrounding spaces, in one file or between two."""
    if pd.api.types.is_integer_dtype(graph.node_ids.dtype) or not graph.num_nodes:
        return []
    group = alike(graph.node_ids)
    found = np.flatnonzero(group >= 0)
    if not len(found):
        return []
    found = found[np.argsort(group[found], kind="stable")]
    lonely = np.diff(graph.adjacency.indptr)[found] == 0
    between = (
        f" {number(int(lonely.sum()), 'of them has', 'of them have')} no edge, so that it seems "
        "that the files write ids differently."
        if lonely.any()
        else ""
    )
    return [
        Finding(
            "problem" if lonely.any() else "risk",
            "similar-ids",
            "Ids of nodes differ only by case or spaces",
            f"{number(len(found), 'id')}, such as {listed(list(graph.node_ids[found[:2]]))}, count "
            f"as different nodes.{between}",
            "Write every id in one way in all files.",
            len(found),
            named(graph, found),
        )
    ]


def class_names(graph: Graph) -> list[Finding]:
    """Classes that differ only by case or spaces, and classes that look like "unknown"."""
    if not graph.num_classes:
        return []
    names = [str(name) for name in graph.class_names]
    group = alike(names)
    found = np.flatnonzero(group >= 0)
    findings = []
    if len(found):
        found = found[np.argsort(group[found], kind="stable")]
        same = np.isin(graph.labels, found)
        findings.append(
            Finding(
                "problem",
                "similar-classes",
                "Classes differ only by case or spaces",
                f"{listed([names[i] for i in found])} count as different classes "
                f"({number(int(same.sum()), 'node')}).",
                "Write every class in one way.",
                len(found),
                named(graph, np.flatnonzero(same)),
            )
        )
    for i in (i for i, name in enumerate(names) if stands_for_unknown(name, names)):
        nodes = np.flatnonzero(graph.labels == i)
        findings.append(
            Finding(
                "risk",
                "placeholder-class",
                f"The class {names[i]!r} looks like a stand-in for 'unknown'",
                f"{number(len(nodes), 'node is', 'nodes are')} labelled so, and it would be "
                "learned and predicted like any other class.",
                f"If it means that the class is not known, use --unlabelled {names[i]!r}.",
                len(nodes),
                named(graph, nodes),
            )
        )
    return findings[: EXAMPLES + 1]

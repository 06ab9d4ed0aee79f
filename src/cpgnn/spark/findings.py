"""The main findings of `cpgnn check` that counts alone can tell, for a graph of any size."""

from __future__ import annotations

import numpy as np

from cpgnn.check.facts import Stats
from cpgnn.check.finding import Finding, Severity, number, worst_first
from cpgnn.check.labels import RARE
from cpgnn.check.structure import HUB_DEGREE, HUB_FACTOR


def findings(stats: Stats) -> tuple[Finding, ...]:
    """Self-loops, isolated nodes, hubs, missing or rare classes, unlabelled nodes; worst first.

    Codes, severities and counts are those of `cpgnn.check`; nodes are not named.
    """
    return worst_first([*_structure(stats), *_hubs(stats), *_labels(stats)])


def _structure(stats: Stats) -> list[Finding]:
    found = []
    if stats.self_loops:
        detail = f"{number(stats.self_loops, 'node has', 'nodes have')} a self-loop, set aside."
        title, advice = (
            "Some nodes have an edge to themselves",
            "Nothing, if that is meant.",
        )
        found.append(Finding("note", "self-loops", title, detail, advice, stats.self_loops))
    if stats.isolated:
        detail = f"{number(stats.isolated, 'node has', 'nodes have')} no neighbour."
        title, advice = (
            "Some nodes have no edge to another node",
            "Check their ids.",
        )
        severity: Severity = "note" if stats.features else "risk"
        found.append(Finding(severity, "isolated-nodes", title, detail, advice, stats.isolated))
    return found


def _hubs(stats: Stats) -> list[Finding]:
    connected = stats.degrees[stats.degrees[:, 0] > 0]
    if not len(connected):
        return []
    median = stats.degree_quantile(0.5, isolated=False)
    least = max(HUB_DEGREE, HUB_FACTOR * median)
    hubs = connected[connected[:, 0] >= least]
    many = int(hubs[:, 1].sum())
    if not many:
        return []
    held = hubs.prod(axis=1).sum() / connected.prod(axis=1).sum()
    detail = (
        f"{number(many, 'node has', 'nodes have')} at least {least:,.0f} neighbours (the median "
        f"is {median:g}, the largest {hubs[-1, 0]:,}) and hold {held:.0%} of all edge ends."
    )
    advice = "Check that they are real nodes. If training overflows, try --normalization sym."
    return [Finding("note", "hubs", "A few nodes have very many neighbours", detail, advice, many)]


def _labels(stats: Stats) -> list[Finding]:
    counts = stats.class_sizes
    if len(counts) < 2:
        title = "There are not two classes to tell apart"
        detail = f"The labels name {number(len(counts), 'class', 'classes')}."
        advice = "Label nodes of at least two classes (--labels)."
        return [Finding("problem", "no-classes", title, detail, advice, stats.labelled)]
    found = []
    rare = np.flatnonzero(counts < RARE)
    if len(rare):
        each = ", ".join(f"{stats.class_names[i]!r} ({counts[i]})" for i in rare[:5])
        detail = f"{number(len(rare), 'class', 'classes')} with fewer than {RARE}: {each}."
        title = "Some classes have very few labelled nodes"
        severity: Severity = "problem" if counts.min() < 2 else "risk"
        advice = "Label more nodes of them, merge them with others, or leave them out."
        found.append(Finding(severity, "rare-classes", title, detail, advice, len(rare)))
    unknown = stats.nodes - stats.labelled
    if unknown:
        detail = f"{unknown:,} of {stats.nodes:,} nodes. Their classes are predicted."
        title, advice = "Some nodes have no label", "Nothing: that is what the model is for."
        found.append(Finding("note", "unlabelled-nodes", title, detail, advice, unknown))
    return found

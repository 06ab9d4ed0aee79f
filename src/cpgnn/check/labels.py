"""Findings about labels: none, too few, classes without any, classes that a split leaves out."""

from __future__ import annotations

import numpy as np

from cpgnn.check.finding import Finding, listed, named, number
from cpgnn.graph import Graph
from cpgnn.splits import Split

RARE = 10
"""A class with fewer labelled nodes is rare: a fifth of them is one or two nodes to test on."""


def label_counts(graph: Graph, split: Split | None = None) -> list[Finding]:
    """`split` is the one that the owner named, if any."""
    labelled = graph.labels >= 0
    counts = np.bincount(graph.labels[labelled], minlength=graph.num_classes)
    names = [str(name) for name in graph.class_names]
    if (counts > 0).sum() < 2:
        got = f"only {names[int(counts.argmax())]!r}" if labelled.any() else "no label at all"
        return [
            Finding(
                "problem",
                "no-classes",
                "There are not two classes to tell apart",
                f"The labels name {got}.",
                "Label nodes of at least two classes (--labels).",
                int(labelled.sum()),
                named(graph, np.flatnonzero(labelled)),
            )
        ]
    findings = [*_rare(graph, counts, names)]
    if split is not None:
        findings += _left_out(graph, split, counts, names)
    unknown = np.flatnonzero(~labelled)
    if len(unknown):
        findings.append(
            Finding(
                "note",
                "unlabelled-nodes",
                "Some nodes have no label",
                f"{len(unknown):,} of {graph.num_nodes:,} nodes. Their classes are predicted.",
                "Nothing: that is what the model is for.",
                len(unknown),
                named(graph, unknown),
            )
        )
    return findings


def _rare(graph: Graph, counts: np.ndarray, names: list[str]) -> list[Finding]:
    findings = []
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        findings.append(
            Finding(
                "risk",
                "empty-classes",
                "Some classes have no labelled node",
                f"{listed([names[i] for i in empty])}: cannot be learned, but take part in the "
                "probabilities.",
                "Label some nodes of them, or leave the classes out.",
                len(empty),
            )
        )
    rare = np.flatnonzero((counts > 0) & (counts < RARE))
    if len(rare):
        rare = rare[np.argsort(counts[rare], kind="stable")]
        each = ", ".join(f"{names[i]!r} ({counts[i]})" for i in rare[:5])
        findings.append(
            Finding(
                "problem" if counts[rare[0]] < 2 else "risk",
                "rare-classes",
                "Some classes have very few labelled nodes",
                f"{number(len(rare), 'class', 'classes')} with fewer than {RARE}: {each}"
                f"{', …' if len(rare) > 5 else ''}. Hardly learned, and their scores say little"
                + (
                    "; one labelled node cannot both teach and test."
                    if counts[rare[0]] < 2
                    else "."
                ),
                "Label more nodes of them, merge them with others, or leave them out; with "
                "--class-weight balanced they weigh more.",
                len(rare),
                named(graph, np.flatnonzero(np.isin(graph.labels, rare))),
            )
        )
    return findings


def _left_out(graph: Graph, split: Split, counts: np.ndarray, names: list[str]) -> list[Finding]:
    """Classes that have labels, but none where the split needs one."""
    findings = []
    parts = (("train", split.train, "learn from"), ("test", split.test, "be scored on"))
    for part, nodes, purpose in parts:
        y = graph.labels[nodes]
        present = np.bincount(y[y >= 0], minlength=graph.num_classes) > 0
        missing = np.flatnonzero((counts > 0) & ~present)
        if len(nodes) and len(missing):
            which = listed([names[i] for i in missing])
            findings.append(
                Finding(
                    "problem" if part == "train" else "risk",
                    f"classes-not-in-{part}",
                    f"Some classes have no {part} node",
                    f"With this split there is no node to {purpose} of {which}.",
                    f"Mark some of their nodes '{part}', or leave the split column out.",
                    len(missing),
                    named(graph, np.flatnonzero(np.isin(graph.labels, missing))),
                )
            )
    return findings

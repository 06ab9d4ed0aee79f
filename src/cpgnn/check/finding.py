"""A finding: what is wrong or risky in a graph, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from cpgnn.graph import Graph

Severity = Literal["problem", "risk", "note"]
"""Worst first. A "problem" makes results wrong or scores misleading; a "risk" may; a "note" is
good to know and leaves the data clean."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
EXAMPLES = 5
"""Names that a finding gives; it counts them all."""


@dataclass(frozen=True)
class Finding:
    """One thing about the data, in plain words."""

    severity: Severity
    code: str
    """What was found, as one word for programs: "self-loops"."""
    title: str
    detail: str
    advice: str
    """What to do."""
    count: int = 0
    """How many nodes, edges, columns or classes it is about."""
    nodes: tuple[str, ...] = ()
    """Ids of the first few nodes it is about."""

    @property
    def counts(self) -> bool:
        """Whether data with it is not clean."""
        return self.severity != "note"


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By severity; among equals, those about more nodes come first."""
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), -f.count)))


def named(graph: Graph, nodes: np.ndarray) -> tuple[str, ...]:
    """The ids of the first few of these nodes (positions, or a mask)."""
    positions = np.flatnonzero(nodes) if nodes.dtype == bool else nodes
    return tuple(str(node) for node in graph.node_ids[positions[:EXAMPLES]])

"""The main findings of `cpgnn check` that counts alone can tell, for a graph of any size."""

from __future__ import annotations

from cpgnn.check.counted import counted
from cpgnn.check.facts import Stats
from cpgnn.check.finding import Finding, worst_first


def findings(stats: Stats) -> tuple[Finding, ...]:
    """Self-loops, isolated nodes, hubs, missing or rare classes, unlabelled nodes; worst first."""
    return worst_first(counted(stats))

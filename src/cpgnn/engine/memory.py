"""How much memory there is, and whether a graph can be trained in it."""

from __future__ import annotations

import os
from pathlib import Path

from cpgnn.errors import InputError, must_be

CGROUP = Path("/sys/fs/cgroup/memory.max")
PER_WEIGHT, HIDDEN = 16, 64
"""Bytes for a 32-bit weight with its gradient and two moments; hidden units for each feature."""
MATRICES = 8
"""Matrices between classes that are held at once: estimate, learned, intervals, …"""


def memory_limit() -> int:
    """Half of what this process may use, in bytes: what one file may need."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        machine = 16 << 30
    return min(machine, _container(), address_space() or machine) // 2


def address_space() -> int | None:
    """The limit of `ulimit -v` in bytes, if there is one."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _container() -> int:
    """What a container may use; without a limit, more than any machine has."""
    try:
        return int(CGROUP.read_text())
    except (OSError, ValueError):
        return 1 << 62


def check_features(features: int) -> None:
    """Raises if the weights of one layer on so many features would not fit into memory."""
    _check(f"Training on {features:,} features", PER_WEIGHT * HIDDEN * features)


def check_classes(classes: int) -> None:
    """Raises if the matrices between so many classes would not fit into memory."""
    hint = "Are these classes, and not ids?"
    _check(f"Training with {classes:,} classes", 8 * MATRICES * classes**2, hint)


def check_generated(classes: int, nodes: int, edges_per_node: int, relations: int = 1) -> None:
    """Raises if a graph of so many nodes, drawn by class, would not fit into memory."""
    needed = 8 * MATRICES * (relations * (classes**2 + nodes * edges_per_node) + nodes)
    _check(f"A graph of {nodes:,} nodes in {classes:,} classes", needed)


def _check(what: str, needed: int, hint: str = "Use fewer, or a machine with more memory.") -> None:
    limit = memory_limit()
    if needed > limit:
        raise too_large(what, needed, limit, hint)


def too_large(what: str, needed: int, limit: int, hint: str) -> InputError:
    """ "WHAT must fit into 12.1 GB of memory. Got 1,024.0 GB. HINT"."""
    return must_be(what, f"fit into {_giga(limit)} of memory", _giga(needed), hint)


def _giga(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"

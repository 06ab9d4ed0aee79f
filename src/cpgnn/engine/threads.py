"""How many threads torch uses for a graph: the same from Python and from the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from cpgnn.engine.arrays import num_stored

if TYPE_CHECKING:
    from cpgnn.graph import Graph

SHARED_WORK, MOST = 2_000_000, 4
"""Edges or stored features below which a product is too short to be shared, and the most threads
that share one: more help little, since a sparse product is bound by memory, and threads that wait
for each other on a busy machine cost far more than they bring."""

_asked: int | None = None


def use_threads(threads: int | None) -> None:
    """The number of threads from here on, whatever the graph; None: what suits each graph."""
    global _asked
    _asked = threads


@contextmanager
def threads_for(graph: Graph) -> Iterator[None]:
    """Torch's threads for work on this graph inside; outside, as the caller has set them.

    Unless `use_threads` says otherwise, one for small graphs and at most four for large ones.
    """
    work = graph.num_edges + num_stored(graph.features)
    suits = min(os.cpu_count() or 1, MOST) if work > SHARED_WORK else 1
    before = torch.get_num_threads()
    torch.set_num_threads(_asked or suits)
    try:
        yield
    finally:
        torch.set_num_threads(before)

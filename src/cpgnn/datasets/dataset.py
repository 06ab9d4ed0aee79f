"""A benchmark graph with its published splits, as one `.npz` holds it.

The file is a graph file (`cpgnn.io.graph_npz`) with `train_masks`, `val_masks` and `test_masks`,
bool [splits, n], where splits were published.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cpgnn.errors import check_count
from cpgnn.graph import Graph
from cpgnn.homophily import homophily_ratio
from cpgnn.io import atomic_write, read_npz_arrays
from cpgnn.io.files import StrPath, about, wrong
from cpgnn.io.graph_npz import graph_from_arrays
from cpgnn.io.npz import Arrays
from cpgnn.splits import PARTS, Split, per_class_split


@dataclass(frozen=True)
class Statistics:
    """A row of the paper's data table. The paper counts self-loops in |E| and h; A has none."""

    nodes: int
    """|V|."""
    edges: int
    """|E| without self-loops: the edges of A."""
    edges_with_self_loops: int
    """|E| as the paper counts it."""
    classes: int
    """|Y|."""
    features: int
    """F."""
    homophily: float
    """h over the edges of A."""
    homophily_with_self_loops: float
    """h as the paper counts it."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with every label, the splits published with it, and where it came from."""

    name: str
    graph: Graph
    """Self-loops of the source are in `graph.self_loops`, never in A."""
    splits: tuple[Split, ...]
    """The published splits; empty where there are none."""
    source: str
    """The file or the site that it was read from."""

    def statistics(self) -> Statistics:
        graph = self.graph
        return Statistics(
            nodes=graph.num_nodes,
            edges=graph.num_edges,
            edges_with_self_loops=graph.num_edges + len(graph.self_loops),
            classes=graph.num_classes,
            features=graph.num_features or 0,
            homophily=homophily_ratio(graph),
            homophily_with_self_loops=homophily_ratio(graph, self_loops=True),
        )

    def paper_splits(self, count: int = 10) -> tuple[Split, ...]:
        """The paper's splits with features: 10 % / 10 % / 80 % of every class, seeds 0, 1, …"""
        check_count("count", count, least=1)
        return tuple(per_class_split(self.graph.labels, seed=seed) for seed in range(count))


def read_dataset(path: StrPath, name: str | None = None) -> Dataset:
    """The data set in an `.npz`, named after the file if no name is given."""
    path = Path(path)
    return as_dataset(path, read_npz_arrays(path), name or path.stem, str(path))


def write_arrays(path: StrPath, arrays: Arrays) -> None:
    """Write the arrays of a data set, packed and atomically."""
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def as_dataset(path: Path, arrays: Arrays, name: str, source: str) -> Dataset:
    """The arrays as a `Dataset`, each checked; `path` is what errors name."""
    graph = graph_from_arrays(path, arrays)
    return Dataset(name, graph, _splits(path, arrays, graph.num_nodes), source)


def _splits(path: Path, arrays: Arrays, n: int) -> tuple[Split, ...]:
    keys = [f"{part}_masks" for part in PARTS]
    present = [key for key in keys if key in arrays]
    if not present:
        return ()
    if len(present) < len(keys):
        raise wrong(path, "Split masks", f"be present as {', '.join(keys)}", ", ".join(present))
    masks = [arrays[key] for key in keys]
    for key, mask in zip(keys, masks, strict=True):
        if mask.dtype != np.bool_ or mask.shape != (len(masks[0]), n):
            must = f"be true or false for each of {n:,} nodes in every split"
            raise wrong(path, f"'{key}'", must, f"{mask.dtype} of shape {list(mask.shape)}")
    with about(path):
        return tuple(Split.from_masks(*rows) for rows in zip(*masks, strict=True))

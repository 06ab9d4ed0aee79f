"""A graph as the tables that `cpgnn fit` reads."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from cpgnn.engine.arrays import dense
from cpgnn.graph import Graph
from cpgnn.io import atomic_folder, write_table
from cpgnn.io.files import StrPath
from cpgnn.io.graph_npz import features_out


def write_tables(
    graph: Graph, folder: StrPath, *, features: Literal["csv", "npz"] = "npz"
) -> tuple[str, ...]:
    """edges.csv, labels.csv and, if there are any, features.csv or .npz in a new folder.

    Nodes are named by position, 0 … n-1. Each edge is listed once, as are self-loops that were set
    aside; a column `type` tells types of edges apart. Every node has a row of labels, empty if
    unknown. Returns the names of the files.
    """
    X: Any = graph.features
    nodes = np.arange(graph.num_nodes)
    labels = [None if y < 0 else str(graph.class_names[y]) for y in graph.labels]
    with atomic_folder(folder) as partial:
        write_table(partial / "edges.csv", _edges(graph))
        write_table(partial / "labels.csv", pd.DataFrame({"id": nodes, "label": labels}))
        if X is not None and features == "csv":
            table = pd.DataFrame(dense(X)).add_prefix("x")
            table.insert(0, "id", nodes)
            write_table(partial / "features.csv", table)
        elif X is not None:
            np.savez_compressed(partial / "features.npz", **features_out(X))  # type: ignore[arg-type]
        return tuple(sorted(path.name for path in partial.iterdir()))


def _edges(graph: Graph) -> pd.DataFrame:
    types = graph.types
    parts = [kind.each_once() for kind in types]
    loops = graph.self_loops
    ends = [np.concatenate([*(part.coords[i] for part in parts), loops]) for i in (0, 1)]
    table = pd.DataFrame({"source": ends[0], "target": ends[1]})
    if graph.is_weighted:
        table["weight"] = np.concatenate([*(part.data for part in parts), np.ones(len(loops))])
    if graph.has_types:
        names = np.repeat([kind.name for kind in types], [part.nnz for part in parts])
        table["type"] = np.append(names, [types[0].name] * len(loops))
    return table

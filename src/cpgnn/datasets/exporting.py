"""A graph as the tables that `cpgnn fit` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.graph import Graph
from cpgnn.io import atomic_folder, write_table
from cpgnn.io.files import StrPath
from cpgnn.io.npz import Arrays

FeatureFormat = Literal["csv", "npz"]


def write_tables(
    graph: Graph, folder: StrPath, *, features: FeatureFormat = "npz"
) -> tuple[str, ...]:
    """edges.csv, labels.csv and, if there are any, features.csv or .npz in a new folder.

    Nodes are called by their position, 0 … n-1. Each edge stands once, self-loops that were set
    aside too; every node has a row of labels, empty if unknown. Returns the names of the files.
    """
    with atomic_folder(folder) as partial:
        write_table(partial / "edges.csv", _edges(graph))
        write_table(partial / "labels.csv", _labels(graph))
        if graph.features is not None and features == "csv":
            write_table(partial / "features.csv", _feature_table(graph.features))
        elif graph.features is not None:
            _write_features(partial / "features.npz", graph.features)
        return tuple(sorted(path.name for path in partial.iterdir()))


def _edges(graph: Graph) -> pd.DataFrame:
    upper = sp.coo_array(sp.triu(graph.adjacency, k=1))
    ends = [np.concatenate([nodes, graph.self_loops]) for nodes in upper.coords]
    table = pd.DataFrame({"source": ends[0], "target": ends[1]})
    if graph.is_weighted:
        table["weight"] = np.concatenate([upper.data, np.ones(len(graph.self_loops))])
    return table


def _labels(graph: Graph) -> pd.DataFrame:
    names = [None if y < 0 else str(graph.class_names[y]) for y in graph.labels]
    return pd.DataFrame({"id": np.arange(graph.num_nodes), "label": names})


def _feature_table(features: Any) -> pd.DataFrame:
    X = features.toarray() if sp.issparse(features) else features
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    table.insert(0, "id", np.arange(len(X)))
    return table


def _write_features(path: Path, features: Any) -> None:
    arrays: Arrays
    if sp.issparse(features):
        parts = ("data", "indices", "indptr")
        arrays = {f"features_{part}": getattr(features, part) for part in parts}
        arrays["features_shape"] = np.array(features.shape)
    else:
        arrays = {"features": np.asarray(features)}
    with path.open("xb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

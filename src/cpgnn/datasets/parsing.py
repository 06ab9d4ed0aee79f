"""Upstream files as the arrays of our `.npz`: geom-gcn's text, and the `.npz` of Platonov et al.

A parser takes the folder with the files of one data set. What it does not understand is an
`InputError` that names file and line; nothing is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.text import shorten
from cpgnn.errors import InputError, must_be
from cpgnn.io import read_npz_arrays
from cpgnn.io.files import opened, wrong
from cpgnn.io.npz import Arrays

PARTS = ("train", "val", "test")
EDGES, NODES = "out1_graph_edges.txt", "out1_node_feature_label.txt"
SPARSE_BELOW, SPARSE_FROM = 0.25, 64
"""Features are sparse if fewer of the entries are not 0, and there are as many columns."""


def parse_geom_gcn(folder: Path) -> Arrays:
    """WebKB: rows of `id`, `0,1,0,…`, `label`."""
    X, labels = _nodes(folder / NODES, lambda numbers: numbers)
    return as_arrays(_edges(folder / EDGES), labels, X, split_masks(folder, len(labels)))


def parse_film(folder: Path) -> Arrays:
    """Actor: rows of `id`, the positions of ones among 932 features, `label`."""
    width = 932

    def ones(positions: list[int]) -> np.ndarray:
        row = np.zeros(width, dtype=np.float32)
        if min(positions) < 0 or max(positions) >= width:
            raise ValueError
        row[positions] = 1  # some are named twice
        return row

    X, labels = _nodes(folder / NODES, ones)
    return as_arrays(_edges(folder / EDGES), labels, X, split_masks(folder, len(labels)))


def parse_platonov(folder: Path) -> Arrays:
    """An `.npz` with node_features, node_labels, edges [E, 2] and masks [splits, n]."""
    path = next(folder.glob("*.npz"))
    arrays = read_npz_arrays(path)
    X, labels = _features_and_labels(path, arrays)
    masks = {f"{part}_masks": _array(path, arrays, f"{part}_masks", 2) for part in PARTS}
    return as_arrays(_array(path, arrays, "edges", 2), labels, X, masks)


def parse_wikipedia(folder: Path) -> Arrays:
    """Chameleon, Squirrel: edges and splits of geom-gcn, features and labels of Platonov et al."""
    path = next(path for path in folder.glob("*.npz") if "_split_" not in path.name)
    X, labels = _features_and_labels(path, read_npz_arrays(path))
    return as_arrays(_edges(folder / EDGES), labels, X, split_masks(folder, len(labels)))


# -- our form --------------------------------------------------------------------------------


def as_arrays(edges: np.ndarray, labels: np.ndarray, features: Any, masks: Arrays) -> Arrays:
    """Edges [E, 2] in any order and direction, with self-loops, as one row u < v for each."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise InputError(f"Edges must be integers [E, 2]. Got {edges.dtype} {edges.shape}.")
    _check_range("A node", edges, np.iinfo(np.int32).max)
    _check_range("A label", labels, np.iinfo(np.int16).max)
    loop = edges[:, 0] == edges[:, 1]
    simple = np.unique(np.sort(edges[~loop], axis=1), axis=0)
    arrays: Arrays = {
        "edge_index": np.ascontiguousarray(simple.T, dtype=np.int32),
        "self_loops": np.unique(edges[loop]).astype(np.int32),
        "labels": np.asarray(labels, dtype=np.int16),
    }
    return arrays | _feature_arrays(features) | masks


def _check_range(what: str, values: np.ndarray, most: int) -> None:
    if values.size and not (int(values.min()) >= -1 and int(values.max()) <= most):
        raise must_be(what, f"lie in 0 … {most:,}", f"{values.min()} … {values.max()}")


def _feature_arrays(features: Any) -> Arrays:
    X = sp.csr_array(features, dtype=np.float32)
    X.sum_duplicates()
    X.eliminate_zeros()
    if X.shape[1] < SPARSE_FROM or X.nnz >= SPARSE_BELOW * X.shape[0] * X.shape[1]:
        return {"features": X.toarray()}
    return {
        "features_data": X.data,
        "features_indices": X.indices,
        "features_indptr": X.indptr,
        "features_shape": np.array(X.shape),
    }


def split_masks(folder: Path, n: int) -> Arrays:
    """The masks of geom-gcn's `…_split_0.6_0.2_<i>.npz`, bool [splits, n]."""
    masks: dict[str, list[np.ndarray]] = {part: [] for part in PARTS}
    for path in sorted(folder.glob("*_split_*.npz")):
        arrays = read_npz_arrays(path)
        for part in PARTS:
            mask = _array(path, arrays, f"{part}_mask", 1)
            if mask.shape != (n,) or mask.dtype.kind not in "biuf":
                must = f"be true or false for each of {n:,} nodes"
                raise wrong(path, f"'{part}_mask'", must, f"{mask.dtype} {list(mask.shape)}")
            masks[part].append(mask.astype(bool))
    return {f"{part}_masks": np.stack(masks[part]) for part in PARTS if masks[part]}


# -- theirs ----------------------------------------------------------------------------------


def _nodes(
    path: Path, as_row: Callable[[list[int]], list[int] | np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """X [n, F] and labels [n]; the rows of the file are in any order."""
    found: dict[int, tuple[np.ndarray, int]] = {}
    for line, fields in _lines(path, 3):
        try:
            node, label = _integer(fields[0]), _integer(fields[2])
            numbers = [_integer(number) for number in fields[1].split(",")]
            row = np.asarray(as_row(numbers), dtype=np.float32)
        except ValueError:
            must = "be an id, features and a label"
            raise wrong(path, "A row", must, shorten("\t".join(fields)), line=line) from None
        if node in found:
            raise wrong(path, "A node id", "be there once", f"a second {node}", line=line)
        found[node] = row, label
        if len(row) != len(next(iter(found.values()))[0]):
            raise wrong(path, "A row", "be as long as the first", len(row), line=line)
    if not found or sorted(found) != list(range(len(found))):
        raise wrong(path, "The node ids", "be 0 … n-1, each once", f"{len(found):,} others")
    rows = [found[node] for node in range(len(found))]
    return np.stack([row for row, _ in rows]), np.array([label for _, label in rows])


def _edges(path: Path) -> np.ndarray:
    pairs = []
    for line, fields in _lines(path, 2):
        try:
            pairs.append((_integer(fields[0]), _integer(fields[1])))
        except ValueError:
            got = shorten("\t".join(fields))
            raise wrong(path, "A row", "be two node ids", got, line=line) from None
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _integer(text: str) -> int:
    """A ValueError also where it would not fit into 32 bits."""
    number = int(text)
    if abs(number) >= 2**31:
        raise ValueError
    return number


def _lines(path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """Line number and tab-separated fields of every line but the header."""
    with opened(path) as stream:
        for number, raw in enumerate(stream, start=1):
            fields = raw.decode("utf-8", errors="replace").strip().split("\t")
            if number == 1 or fields == [""]:
                continue
            if len(fields) != width:
                raise wrong(path, "A row", f"have {width} fields", len(fields), line=number)
            yield number, fields


def _features_and_labels(path: Path, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    X = _array(path, arrays, "node_features", 2)
    labels = _array(path, arrays, "node_labels", 1)
    if X.dtype.kind not in "biuf" or labels.dtype.kind not in "iu":
        raise wrong(path, "Features and labels", "be numbers", f"{X.dtype}, {labels.dtype}")
    return X, labels


def _array(path: Path, arrays: Arrays, key: str, ndim: int) -> np.ndarray:
    if key not in arrays or arrays[key].ndim != ndim:
        must = f"have an array '{key}' of {ndim} dimension(s)"
        raise wrong(path, "The file", must, ", ".join(sorted(arrays)[:8]) or "no arrays")
    return arrays[key]

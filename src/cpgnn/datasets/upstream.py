"""Upstream files as the arrays of our `.npz`: geom-gcn's text, Platonov's `.npz`, Planetoid.

A parser takes the folder with the files of one data set. What it does not understand is an
`InputError`; what it misunderstands, `verify` notices. Nothing is ever executed.
"""

from __future__ import annotations

import pickle
import pickletools
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.text import first_line
from cpgnn.errors import InputError, must_be
from cpgnn.io.files import wrong
from cpgnn.io.graph_npz import features_out
from cpgnn.io.npz import Arrays, read_npz_arrays
from cpgnn.io.tables import read_table
from cpgnn.splits import PARTS

EDGES, NODES = "out1_graph_edges.txt", "out1_node_feature_label.txt"
FILM_WIDTH = 932
PLANETOID_FILES = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
SPARSE_BELOW, SPARSE_FROM = 0.25, 64
"""Features are sparse if fewer of the entries are not 0, and there are as many columns."""
_HARMLESS = {
    "numpy dtype",
    "numpy ndarray",
    "numpy.core.multiarray _reconstruct",
    "numpy._core.multiarray _reconstruct",
    "scipy.sparse.csr csr_matrix",
    "scipy.sparse._csr csr_matrix",
    "collections defaultdict",
    "__builtin__ list",
    "builtins list",
}
"""What Planetoid's pickles name, in Python 2's words and today's; nothing else runs."""
_BY_OTHER_MEANS = {"INST", "STACK_GLOBAL", "EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID"}


def _refusing(parse: Callable[[Path], Arrays]) -> Callable[[Path], Arrays]:
    """Whatever goes wrong in a file that is not as published, as an `InputError`."""

    @wraps(parse)
    def guarded(folder: Path) -> Arrays:
        try:
            return parse(folder)
        except InputError:
            raise
        except Exception as error:
            got = f"{type(error).__name__}: {first_line(error)}"
            raise wrong(folder, "The files", "be as published", got) from None

    return guarded


@_refusing
def parse_geom_gcn(folder: Path) -> Arrays:
    """WebKB: rows of `id`, `0,1,0,…`, `label`."""
    cells, labels = _nodes(folder)
    X = np.array([cell.split(",") for cell in cells], dtype=np.float32)
    return _arrays(_edges(folder), labels, X, _split_masks(folder))


@_refusing
def parse_film(folder: Path) -> Arrays:
    """Actor: rows of `id`, the positions of ones among 932 features, `label`."""
    cells, labels = _nodes(folder)
    X = np.zeros((len(labels), FILM_WIDTH), dtype=np.float32)
    for row, cell in zip(X, cells, strict=True):
        row[np.array(cell.split(","), dtype=np.uint32)] = 1  # some are named twice
    return _arrays(_edges(folder), labels, X, _split_masks(folder))


@_refusing
def parse_platonov(folder: Path) -> Arrays:
    """An `.npz` with node_features, node_labels, edges [E, 2] and masks [splits, n]."""
    arrays = read_npz_arrays(next(folder.glob("*.npz")))
    masks = {f"{part}_masks": arrays[f"{part}_masks"] for part in PARTS}
    return _arrays(arrays["edges"], arrays["node_labels"], arrays["node_features"], masks)


@_refusing
def parse_wikipedia(folder: Path) -> Arrays:
    """Chameleon, Squirrel: edges and splits of geom-gcn, features and labels of Platonov et al."""
    path = next(path for path in folder.glob("*.npz") if "_split_" not in path.name)
    arrays = read_npz_arrays(path)
    X, labels = arrays["node_features"], arrays["node_labels"]
    return _arrays(_edges(folder), labels, X, _split_masks(folder))


@_refusing
def parse_planetoid(folder: Path) -> Arrays:
    """Cora, CiteSeer, PubMed: the files ind.<name>.*, read by PyG, and geom-gcn's splits.

    Nodes without a label (CiteSeer has 15) get a zero row of features and class 0, as in
    geom-gcn. PyG drops self-loops; they are counted here from the same file.
    """
    graph_file = next(folder.glob("ind.*.graph"))
    name = graph_file.name.split(".")[1]
    for suffix in PLANETOID_FILES[:-1]:
        check_pickle(folder / f"ind.{name}.{suffix}")
    from torch_geometric.io import read_planetoid_data

    with warnings.catch_warnings(action="ignore"):  # the pickles name modules that have moved since
        data = read_planetoid_data(str(folder), name)
        neighbours = pickle.loads(graph_file.read_bytes(), encoding="latin1")
    loops = np.array([node for node, others in neighbours.items() if node in others], dtype=int)
    edges = np.concatenate([data.edge_index.numpy().T, np.stack([loops, loops], axis=1)])
    return _arrays(edges, data.y.numpy(), data.x.numpy(), _split_masks(folder))


def check_pickle(path: Path) -> None:
    """Refuse a pickle that names anything but arrays, sparse matrices, dicts and lists."""
    try:
        for code, argument, _ in pickletools.genops(path.read_bytes()):
            named = str(argument) if code.name == "GLOBAL" else ""
            if (named and named not in _HARMLESS) or code.name in _BY_OTHER_MEANS:
                must = "contain nothing but arrays and lists"
                raise wrong(path, "A pickle", must, named or code.name, "It was not loaded.")
    except InputError:
        raise
    except Exception as error:
        raise wrong(path, "A pickle", "be whole", first_line(error)) from None


# -- our form --------------------------------------------------------------------------------


def _arrays(edges: np.ndarray, labels: np.ndarray, features: Any, masks: Arrays) -> Arrays:
    """Edges [E, 2] in any order and direction, with self-loops, as one row u < v for each."""
    if edges.ndim != 2 or edges.shape[1] != 2 or {edges.dtype.kind, labels.dtype.kind} - set("iu"):
        got = f"{edges.dtype} {list(edges.shape)} and {labels.dtype}"
        raise must_be("Edges and labels", "be integers [E, 2] and [n]", got)
    for what, values, kind in (("A node", edges, np.int32), ("A label", labels, np.int16)):
        most = np.iinfo(kind).max
        if values.size and not (int(values.min()) >= -1 and int(values.max()) <= most):
            raise must_be(what, f"lie in 0 … {most:,}", f"{values.min()} … {values.max()}")
    loop = edges[:, 0] == edges[:, 1]
    simple = np.unique(np.sort(edges[~loop], axis=1), axis=0)
    X = sp.csr_array(features, dtype=np.float32)
    X.sum_duplicates()
    X.eliminate_zeros()
    few = X.shape[1] >= SPARSE_FROM and X.nnz < SPARSE_BELOW * X.shape[0] * X.shape[1]
    return {
        "edge_index": np.ascontiguousarray(simple.T, dtype=np.int32),
        "self_loops": np.unique(edges[loop]).astype(np.int32),
        "labels": np.asarray(labels, dtype=np.int16),
        **features_out(X if few else X.toarray()),
        **masks,
    }


# -- theirs ----------------------------------------------------------------------------------


def _nodes(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Cells of features and labels of the nodes 0 … n-1; the rows of the file are in any order."""
    ids, cells, labels = _columns(folder / NODES)
    nodes = ids.astype(np.int64)
    order = np.argsort(nodes, kind="stable")
    if (nodes[order] != np.arange(len(nodes))).any():
        got = f"{len(np.unique(nodes)):,} of them in {len(nodes):,} rows"
        raise wrong(folder / NODES, "The node ids", "be 0 … n-1, each once", got)
    return cells[order], labels[order].astype(np.int64)


def _edges(folder: Path) -> np.ndarray:
    source, target = _columns(folder / EDGES)
    return np.stack([source, target], axis=1).astype(np.int64)


def _columns(path: Path) -> list[np.ndarray]:
    """The columns of a table as text."""
    return [np.array(column.to_pylist()) for column in read_table(path, header=True).table.columns]


def _split_masks(folder: Path) -> Arrays:
    """The masks of geom-gcn's `…_split_0.6_0.2_<i>.npz`, bool [splits, n]."""
    splits = [read_npz_arrays(path) for path in sorted(folder.glob("*_split_*.npz"))]
    return {
        f"{part}_masks": np.stack([arrays[f"{part}_mask"] for arrays in splits]).astype(bool)
        for part in PARTS
    }

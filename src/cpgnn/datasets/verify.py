"""Whether what was read is the published data: counts, and hashes of arrays in canonical form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from cpgnn.datasets.dataset import Dataset
from cpgnn.datasets.registry import Expected
from cpgnn.engine.arrays import class_sizes
from cpgnn.errors import must_be
from cpgnn.graph import Graph
from cpgnn.splits import Split


def verify(dataset: Dataset, expected: Expected) -> None:
    """Raise an `InputError` that names the first difference; what is not known is not compared."""
    graph = dataset.graph
    loops = len(graph.self_loops)
    sizes = tuple(class_sizes(graph.labels, graph.num_classes))
    found: dict[str, tuple[object, object]] = {
        "The number of nodes": (graph.num_nodes, expected.nodes),
        "The number of self-loops": (loops, expected.self_loops),
        "The number of edges with self-loops": (graph.num_edges + loops, expected.edges),
        "The number of classes": (graph.num_classes, expected.classes),
        "The class sizes": (tuple(int(size) for size in sizes), expected.class_sizes),
        "The number of features": (graph.num_features, expected.features),
        "The number of splits": (len(dataset.splits), expected.splits),
    }
    for what, (is_, wanted) in found.items():
        if wanted is not None and is_ != wanted:
            raise must_be(what, f"be {wanted}", is_)
    _compare("The SHA-256 of the graph", expected.graph_sha256, graph_sha256(graph))
    _compare("The SHA-256 of the splits", expected.splits_sha256, splits_sha256(dataset.splits))


def _compare(what: str, wanted: str | None, found: str) -> None:
    if wanted is not None and found != wanted:
        raise must_be(what, f"be {wanted[:12]}…", f"{found[:12]}…")


def graph_sha256(graph: Graph) -> str:
    """A hash that knows nothing of files: edges u < v by row, self-loops, labels, X as CSR."""
    A = sp.csr_array(sp.triu(graph.adjacency, k=1, format="csr"))
    A.sort_indices()
    given = (graph.num_nodes, 0) if graph.features is None else graph.features
    X = sp.csr_array(given, dtype=np.float32, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(A.indptr))
    return _digest(
        [
            (rows, "<i4"),
            (A.indices, "<i4"),
            (np.sort(graph.self_loops), "<i4"),
            (graph.labels, "<i2"),
            (np.array(X.shape), "<i8"),
            (X.indptr, "<i8"),
            (X.indices, "<i4"),
            (X.data, "<f4"),
        ]
    )


def splits_sha256(splits: tuple[Split, ...]) -> str:
    """A hash of the node positions in every part of every split."""
    parts = [part for split in splits for part in (split.train, split.val, split.test)]
    return _digest((np.sort(part), "<i4") for part in parts)


def _digest(arrays: Iterable[tuple[np.ndarray, str]]) -> str:
    """SHA-256 over the arrays, each preceded by its length."""
    digest = hashlib.sha256()
    for array, kind in arrays:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()

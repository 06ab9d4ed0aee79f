"""Our graph file: one `.npz` with edges, labels, features, ids and class names.

Arrays: `edge_index` int [2, E] (each undirected edge once), `labels` int [n] (-1 = unknown),
and, where there are any, `edge_weight` float [E], `self_loops` int (nodes), `features` [n, F]
or `features_data`/`_indices`/`_indptr`/`_shape` (CSR), `node_ids` (integers or text) and
`class_names` (integers or text), `feature_names` (text). Text is written as `<name>_bytes`
(UTF-8, uint8) with `<name>_offsets` (int64); reading also takes fixed-width unicode. Without
`node_ids` the nodes are 0 … n-1. Other arrays, such as split masks, are left to `read_npz_arrays`.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from cpgnn.errors import GraphNotice, must_be
from cpgnn.graph import Graph
from cpgnn.io.atomic import atomic_write
from cpgnn.io.places import StrPath, memory_limit, wrong
from cpgnn.io.safe_npz import read_npz_arrays

Arrays = dict[str, np.ndarray]


def write_graph(path: StrPath, graph: Graph) -> None:
    """Write a graph, uncompressed and atomically; its notices are not kept."""
    upper = sp.coo_array(sp.triu(graph.adjacency, k=1))
    arrays: Arrays = {
        "edge_index": np.stack(upper.coords).astype(np.int32, copy=False),
        "labels": graph.labels,
        "self_loops": graph.self_loops,
        **_names_out("class_names", graph.class_names),
    }
    if graph.is_weighted:
        arrays["edge_weight"] = upper.data
    if not graph.node_ids.equals(pd.RangeIndex(graph.num_nodes)):
        arrays |= _names_out("node_ids", graph.node_ids)
    X: Any = graph.features
    if X is not None and sp.issparse(X):
        shape = np.array(X.shape, dtype=np.int64)
        arrays |= {"features_data": X.data, "features_indices": X.indices}
        arrays |= {"features_indptr": X.indptr, "features_shape": shape}
    elif X is not None:
        arrays["features"] = np.asarray(X)
    if graph.feature_names is not None:
        arrays |= _names_out("feature_names", graph.feature_names)
    with atomic_write(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_graph_npz(path: StrPath) -> Graph:
    """The graph in an `.npz`; see the module for its arrays."""
    path = Path(path)
    parts = graph_parts(path, read_npz_arrays(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        return Graph.from_edges(**parts)


def graph_parts(path: Path, arrays: Arrays) -> dict[str, Any]:
    """The arguments of `Graph.from_edges`, each array checked."""
    if "edge_index" not in arrays:
        got = ", ".join(sorted(arrays)[:8]) or "no arrays"
        raise wrong(path, "A graph file", "have an array 'edge_index'", got)
    edges = _integers(path, arrays, "edge_index", 2)
    if edges.shape[0] != 2:
        raise wrong(path, "'edge_index'", "have the shape [2, edges]", list(edges.shape))
    weights = arrays.get("edge_weight")
    if weights is not None:
        if weights.dtype.kind not in "iuf" or weights.shape != (edges.shape[1],):
            must = f"hold a number for each of {edges.shape[1]:,} edges"
            raise wrong(path, "'edge_weight'", must, _sight(weights))
        odd = ~(np.isfinite(weights) & (weights >= 0))
        if odd.any():
            got = f"{weights[odd][0]} at position {int(np.argmax(odd)):,}"
            raise wrong(path, "'edge_weight'", "be finite and at least 0", got)
    features = features_in(path, arrays)
    width = 0 if features is None else int(features.shape[1])
    ids = names_in(path, arrays, "node_ids")
    labels = _integers(path, arrays, "labels", 1) if "labels" in arrays else None
    no_loops = np.empty(0, dtype=np.int64)
    loops = _integers(path, arrays, "self_loops", 1) if "self_loops" in arrays else no_loops
    sizes = [len(x) for x in (labels, ids) if x is not None]
    sizes += [features.shape[0]] if features is not None else []
    largest = max((int(x.max()) for x in (edges, loops) if np.size(x)), default=-1)
    n = sizes[0] if sizes else largest + 1
    if not sizes and 64 * n > memory_limit():  # one edge could claim any number of nodes
        hint = "Add 'labels' (-1 = unknown), one for each node."
        raise wrong(path, "A node in 'edge_index'", "be a row number", f"{largest:,}", hint)
    if any(size != n for size in sizes):
        raise wrong(path, "'labels', 'features' and 'node_ids'", "be equally long", sizes)
    smallest = min((int(x.min()) for x in (edges, loops) if np.size(x)), default=0)
    if largest >= n or smallest < 0:
        bad = smallest if smallest < 0 else largest
        raise wrong(path, "A node in 'edge_index' or 'self_loops'", f"lie in 0 … {n - 1}", bad)
    names = names_in(path, arrays, "class_names")
    if labels is not None and n:
        most = "" if names is None else f" … {len(names) - 1}"
        low, high = int(labels.min()), int(labels.max())
        if low < -1 or (names is not None and high >= len(names)):
            bad = low if low < -1 else high
            raise wrong(path, "'labels'", f"lie in -1{most or ' and above'}", bad)
    if ids is not None and not ids.is_unique:
        raise wrong(path, "'node_ids'", "be unique", f"{ids[ids.duplicated()][0]!r} twice")
    return {
        "source": edges[0],
        "target": edges[1],
        "weights": weights,
        "num_nodes": n,
        "features": features,
        "feature_names": None if features is None else feature_names_in(path, arrays, width),
        "labels": labels,
        "node_ids": ids,
        "class_names": None if names is None or labels is None else tuple(names.tolist()),
        "self_loops": loops,
    }


def features_in(path: Path, arrays: Arrays) -> np.ndarray | sp.csr_array | None:
    """Dense or CSR features of an `.npz`, checked; None where it has none."""
    if "features" in arrays:
        X: Any = arrays["features"]
        values = X
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise wrong(path, "'features'", "be numbers [n, F]", _sight(X))
    elif "features_data" in arrays:
        keys = [f"features_{part}" for part in ("indices", "indptr", "shape")]
        indices, indptr, shape = (_integers(path, arrays, key, 1) for key in keys)
        values = arrays["features_data"]
        rows, width = (int(x) for x in shape) if len(shape) == 2 else (-1, -1)
        well_formed = (
            values.ndim == 1
            and values.dtype.kind in "biuf"
            and len(values) == len(indices)
            and min(rows, width) >= 0
            and len(indptr) == rows + 1
            and indptr[0] == 0
            and indptr[-1] == len(values)
            and bool((np.diff(indptr) >= 0).all())
            and (not len(indices) or (indices.min() >= 0 and int(indices.max()) < width))
        )
        if not well_formed:
            got = f"shape {list(shape)}, {len(indptr)} pointers, {len(indices)} indices"
            raise wrong(path, "The sparse features", "be a well-formed CSR matrix", got)
        X = sp.csr_array((values, indices, indptr), shape=(rows, width))
    else:
        return None
    with np.errstate(over="ignore"):
        small = values.astype(np.float32, copy=False)
    if not np.isfinite(small).all():
        raise wrong(path, "Features", "be finite 32-bit numbers", "NaN or an infinite value")
    return X


def feature_names_in(path: Path, arrays: Arrays, width: int) -> tuple[str, ...] | None:
    """The names of the features, checked; None where the file has none."""
    names = names_in(path, arrays, "feature_names")
    if names is None:
        return None
    if len(names) != width or not names.is_unique:
        must = f"name each of the {width:,} features once"
        raise wrong(path, "'feature_names'", must, f"{names.nunique():,} names")
    return tuple(str(name) for name in names)


def names_in(path: Path, arrays: Arrays, key: str) -> pd.Index | None:
    """Integers or text, stored in one of the three ways; None where the file has none."""
    if key in arrays:
        names = arrays[key]
        if names.ndim != 1 or names.dtype.kind not in "iuU":
            raise wrong(path, f"'{key}'", "be a list of integers or text", _sight(names))
        return pd.Index(names.astype(object) if names.dtype.kind == "U" else names)
    if f"{key}_bytes" not in arrays:
        return None
    data = arrays[f"{key}_bytes"]
    offsets = _integers(path, arrays, f"{key}_offsets", 1).astype(np.int64, copy=False)
    if (
        data.dtype != np.uint8
        or data.ndim != 1
        or not len(offsets)
        or offsets[0] != 0
        or offsets[-1] != len(data)
        or (np.diff(offsets) < 0).any()
    ):
        raise wrong(path, f"'{key}_offsets'", f"cut '{key}_bytes' into names", _sight(offsets))
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
    text = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    try:
        text.validate(full=True)
    except pa.ArrowException:
        raise wrong(path, f"'{key}_bytes'", "be UTF-8", "other bytes") from None
    return pd.Index(text.to_numpy(zero_copy_only=False), dtype=object)


def _names_out(key: str, names: Sequence[Hashable] | pd.Index) -> Arrays:
    if isinstance(names, pd.Index) and names.dtype.kind in "iu":
        return {key: names.to_numpy()}
    values = list(names)
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in values) and values:
        return {key: np.array(values, dtype=np.int64)}
    try:
        text = pa.array(values, pa.large_string())
        if text.null_count:
            raise pa.ArrowInvalid("null")
    except (pa.ArrowException, UnicodeError, TypeError):
        kinds = sorted({type(x).__name__ for x in values})
        hint = "Convert them to text first."
        raise must_be(f"'{key}'", "be all text or all integers", kinds, hint) from None
    _, offsets, data = text.buffers()
    cut = np.frombuffer(offsets, dtype=np.int64)[: len(text) + 1]
    size = int(cut[-1]) if len(cut) else 0
    raw = np.frombuffer(data, dtype=np.uint8)[:size] if size else np.empty(0, dtype=np.uint8)
    return {f"{key}_bytes": raw, f"{key}_offsets": cut if len(cut) else np.zeros(1, np.int64)}


def _integers(path: Path, arrays: Arrays, key: str, ndim: int) -> np.ndarray:
    if key not in arrays:
        raise wrong(path, "A graph file", f"have an array '{key}'", ", ".join(sorted(arrays)[:8]))
    array = arrays[key]
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise wrong(path, f"'{key}'", f"be integers of {ndim} dimension(s)", _sight(array))
    return array


def _sight(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {list(array.shape)}"

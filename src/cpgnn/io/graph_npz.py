"""Our graph file: one `.npz` with edges, labels, features, ids and class names.

Arrays: `edge_index` int [2, E] (each undirected edge once), `labels` int [n] (-1 = unknown),
and, where there are any, `edge_weight` float [E], `self_loops` int (nodes), `features` [n, F]
or `features_data`/`_indices`/`_indptr`/`_shape` (CSR), `node_ids` (integers or text) and
`class_names` (integers or text), `feature_names` (text). Text is written as `<name>_bytes`
(UTF-8, uint8) with `<name>_offsets` (int64); reading also takes fixed-width unicode. Without
`node_ids` the nodes are 0 … n-1. Other arrays, such as split masks, are left to `read_npz_arrays`.

Only what `Graph` cannot notice is checked here; it says the rest, and the file is put before it.
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

from cpgnn.engine.text import first_line
from cpgnn.errors import GraphNotice, must_be
from cpgnn.graph import Graph
from cpgnn.io.atomic import atomic_write
from cpgnn.io.files import StrPath, about, memory_limit, wrong
from cpgnn.io.npz import Arrays, read_npz_arrays

# -- out ----------------------------------------------------------------------------------------


def write_graph(path: StrPath, graph: Graph) -> None:
    """Write a graph, uncompressed and atomically; its notices are not kept."""
    upper = sp.coo_array(sp.triu(graph.adjacency, k=1))
    arrays: Arrays = {
        "edge_index": np.stack(upper.coords).astype(np.int32, copy=False),
        "labels": graph.labels,
        "self_loops": graph.self_loops,
        **_names_out("class_names", graph.class_names),
        **features_out(graph.features),
    }
    if graph.is_weighted:
        arrays["edge_weight"] = upper.data
    if not graph.node_ids.equals(pd.RangeIndex(graph.num_nodes)):
        arrays |= _names_out("node_ids", graph.node_ids)
    if graph.feature_names is not None:
        arrays |= _names_out("feature_names", graph.feature_names)
    with atomic_write(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def features_out(X: Any) -> Arrays:
    """Features as arrays of our file, dense or CSR; none where there are none."""
    if X is None:
        return {}
    if not sp.issparse(X):
        return {"features": np.asarray(X)}
    parts = {f"features_{part}": getattr(X, part) for part in ("data", "indices", "indptr")}
    return {**parts, "features_shape": np.array(X.shape, dtype=np.int64)}


def _names_out(key: str, names: Sequence[Hashable] | pd.Index) -> Arrays:
    if isinstance(names, pd.Index) and names.dtype.kind in "iu":
        return {key: names.to_numpy()}
    values = list(names)
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in values) and values:
        return {key: np.array(values, dtype=np.int64)}
    try:
        encoded = [x.encode() for x in values]
    except (AttributeError, UnicodeError):
        kinds = sorted({type(x).__name__ for x in values})
        hint = "Convert them to text first."
        raise must_be(f"'{key}'", "be all text or all integers", kinds, hint) from None
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    raw = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {f"{key}_bytes": raw, f"{key}_offsets": offsets}


# -- in -----------------------------------------------------------------------------------------


def read_graph_npz(path: StrPath) -> Graph:
    """The graph in an `.npz`; see the module for its arrays."""
    return graph_from_arrays(Path(path), read_npz_arrays(path))


def graph_from_arrays(path: Path, arrays: Arrays) -> Graph:
    parts = graph_parts(path, arrays)
    with about(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        return Graph.from_edges(**parts)


def graph_parts(path: Path, arrays: Arrays) -> dict[str, Any]:
    """The arguments of `Graph.from_edges`."""
    edges = _integers(path, arrays, "edge_index", 2)
    if edges.shape[0] != 2:
        raise wrong(path, "'edge_index'", "have the shape [2, edges]", list(edges.shape))
    labels = _integers(path, arrays, "labels", 1) if "labels" in arrays else None
    if labels is not None and len(labels) and labels.min() < -1:
        raise wrong(path, "'labels'", "be -1 (unknown) or a class index", labels.min())
    no_loops = np.empty(0, dtype=np.int64)
    loops = _integers(path, arrays, "self_loops", 1) if "self_loops" in arrays else no_loops
    ids, features = names_in(path, arrays, "node_ids"), features_in(path, arrays)
    sizes = [int(np.shape(x)[0]) for x in (labels, ids, features) if x is not None]
    if any(size != sizes[0] for size in sizes):
        raise wrong(path, "'labels', 'features' and 'node_ids'", "be equally long", sizes)
    largest = max((int(x.max()) for x in (edges, loops) if np.size(x)), default=-1)
    n = sizes[0] if sizes else largest + 1
    if not sizes and 64 * n > memory_limit():  # one edge could claim any number of nodes
        hint = "Add 'labels' (-1 = unknown), one for each node."
        raise wrong(path, "A node in 'edge_index'", "be a row number", f"{largest:,}", hint)
    if largest >= n:  # nodes of other files come behind these
        raise wrong(path, "A node in 'edge_index' or 'self_loops'", f"be below {n}", largest)
    names = names_in(path, arrays, "class_names")
    return {
        "source": edges[0],
        "target": edges[1],
        "weights": arrays.get("edge_weight"),
        "num_nodes": n,
        "features": features,
        "feature_names": None if features is None else names_in(path, arrays, "feature_names"),
        "labels": labels,
        "node_ids": ids,
        "class_names": None if names is None or labels is None else tuple(names.tolist()),
        "self_loops": loops,
    }


def features_in(path: Path, arrays: Arrays) -> np.ndarray | sp.csr_array | None:
    """Dense or CSR features of an `.npz`, float32 and finite; None where it has none."""
    if "features" in arrays:
        X: Any = arrays["features"]
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise wrong(path, "'features'", "be numbers [n, F]", _sight(X))
    elif "features_data" in arrays:
        keys = [f"features_{part}" for part in ("indices", "indptr", "shape")]
        indices, indptr, shape = (_integers(path, arrays, key, 1) for key in keys)
        try:
            if arrays["features_data"].dtype.kind not in "biuf":
                raise ValueError(_sight(arrays["features_data"]))
            X = sp.csr_array((arrays["features_data"], indices, indptr), shape=tuple(shape))
            X.check_format(full_check=True)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            must = "be a well-formed CSR matrix"
            raise wrong(path, "The sparse features", must, first_line(error)) from None
    else:
        return None
    with np.errstate(over="ignore"):
        X = X.astype(np.float32, copy=False)
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        raise wrong(path, "Features", "be finite 32-bit numbers", "NaN or an infinite value")
    return X


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
    offsets = _integers(path, arrays, f"{key}_offsets", 1).astype(np.int64)
    try:
        if data.dtype != np.uint8 or data.ndim != 1 or not len(offsets):
            raise pa.ArrowInvalid(_sight(data))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
        text = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
        text.validate(full=True)
    except pa.ArrowException as error:
        must = f"be UTF-8 that '{key}_offsets' cuts into names"
        raise wrong(path, f"'{key}_bytes'", must, first_line(error)) from None
    return pd.Index(text.to_numpy(zero_copy_only=False), dtype=object)


def listed_arrays(arrays: Arrays) -> str:
    return ", ".join(sorted(arrays)[:8]) or "no arrays"


def _integers(path: Path, arrays: Arrays, key: str, ndim: int) -> np.ndarray:
    if key not in arrays:
        raise wrong(path, "A graph file", f"have an array '{key}'", listed_arrays(arrays))
    array = arrays[key]
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise wrong(path, f"'{key}'", f"be integers of {ndim} dimension(s)", _sight(array))
    return array


def _sight(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {list(array.shape)}"

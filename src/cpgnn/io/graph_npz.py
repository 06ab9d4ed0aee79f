"""Our graph file: one `.npz` with edges, labels, features, ids and class names.

Arrays: `edge_index` int [2, E] (each undirected edge once), `labels` int [n] (-1 = unknown),
and, where there are any, `edge_weight` float [E], `self_loops` int (nodes), `features` [n, F]
or `features_data`/`_indices`/`_indptr`/`_shape` (CSR), `node_ids` (integers or text) and
`class_names` (integers or text), `feature_names` (text). Text is written as `<name>_bytes`
(UTF-8, uint8) with `<name>_offsets` (int64); reading also takes fixed-width unicode. Without
`node_ids` the nodes are 0 … n-1. Other arrays, such as split masks, are left to `read_npz_arrays`.

Types of edges: `edge_type` int [E] into `relation_names`; `relation_directed` bool [types], where
`edge_index` then leads from source to target. Kinds of nodes: `node_kind` int [n] into
`kind_names`; `kind_described` bool [kinds]: which have features. Features may have rows for the
nodes of the first kind only.

What features were before they were numbers: the missing cells as `gaps` int [2, cells]; categories
as `category_names`, `category_start` int (their first 0/1 column in the features), and
`category_sizes` int, which cuts `category_values` into the values of each.

Only what `Graph` cannot notice is checked here; it says the rest, and the file is put before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from cpgnn.engine.arrays import picked_rows
from cpgnn.engine.memory import check_features
from cpgnn.engine.mixed import Category, Mixed
from cpgnn.engine.text import first_line
from cpgnn.errors import GraphNotice, must_be
from cpgnn.graph import Graph
from cpgnn.io.atomic import atomic_write
from cpgnn.io.files import StrPath, about, wrong
from cpgnn.io.npz import Arrays, read_npz_arrays
from cpgnn.relations.edge_types import MOST_TYPES, UNNAMED
from cpgnn.relations.kinds import Kinds

MOST_UNNAMED = 1_000_000
"""Nodes that need neither an edge nor a label to be believed."""

# -- out ----------------------------------------------------------------------------------------


def write_graph(path: StrPath, graph: Graph) -> None:
    """Write a graph, uncompressed and atomically; its notices are not kept."""
    types = graph.types
    edges = [kind.each_once() for kind in types]
    ends = [np.concatenate([part.coords[i] for part in edges]) for i in (0, 1)]
    arrays: Arrays = {
        "edge_index": np.stack(ends).astype(np.int32, copy=False),
        "labels": graph.labels,
        "self_loops": graph.self_loops,
        **_names_out("class_names", graph.class_names),
        **features_out(graph.features),
    }
    if graph.is_weighted:
        arrays["edge_weight"] = np.concatenate([part.data for part in edges])
    if graph.edge_types:
        arrays["edge_type"] = np.repeat(np.arange(len(types)), [part.nnz for part in edges])
        arrays["relation_directed"] = np.array([kind.directed for kind in types])
        arrays |= _names_out("relation_names", [kind.name for kind in types])
    if graph.kinds is not None:
        arrays["node_kind"] = graph.kinds.codes
        arrays["kind_described"] = np.array(graph.kinds.described)
        arrays |= _names_out("kind_names", graph.kinds.names)
    if graph.mixed is not None:
        found = graph.mixed.categories
        arrays["gaps"] = np.stack(sp.coo_array(graph.mixed.gaps).coords).astype(np.int64)
        arrays["category_start"] = np.array([one.start for one in found], dtype=np.int64)
        arrays["category_sizes"] = np.array([len(one.values) for one in found], dtype=np.int64)
        arrays |= _names_out("category_names", [one.name for one in found])
        arrays |= _names_out("category_values", [name for one in found for name in one.values])
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
    with about(path), warnings.catch_warnings(action="ignore", category=GraphNotice):
        beside = {key: parts.pop(key) for key in ("kinds", "mixed")}
        return replace(Graph.from_edges(**parts), **beside)


def graph_parts(path: Path, arrays: Arrays) -> dict[str, Any]:
    """The arguments of `Graph.from_edges`, and `kinds` and `mixed`."""
    edges = _integers(path, arrays, "edge_index", 2)
    if edges.shape[0] != 2:
        raise wrong(path, "'edge_index'", "have the shape [2, edges]", list(edges.shape))
    labels = _integers(path, arrays, "labels", 1) if "labels" in arrays else None
    if labels is not None and len(labels) and labels.min() < -1:
        raise wrong(path, "'labels'", "be -1 (unknown) or a class index", labels.min())
    no_loops = np.empty(0, dtype=np.int64)
    loops = _integers(path, arrays, "self_loops", 1) if "self_loops" in arrays else no_loops
    ids, features = names_in(path, arrays, "node_ids"), features_in(path, arrays)
    kinds, features = _kinds_in(path, arrays, features)
    sizes = [int(np.shape(x)[0]) for x in (labels, ids, features) if x is not None]
    if any(size != sizes[0] for size in sizes):
        raise wrong(path, "'labels', 'features' and 'node_ids'", "be equally long", sizes)
    smallest = min((int(x.min()) for x in (edges, loops) if np.size(x)), default=0)
    largest = max((int(x.max()) for x in (edges, loops) if np.size(x)), default=-1)
    n = sizes[0] if sizes else largest + 1
    if not sizes and n > MOST_UNNAMED + 10 * edges.size:  # an edge could claim any number of nodes
        hint = "Add 'labels' (-1 = unknown), one for each node."
        raise wrong(path, "A node in 'edge_index'", "be a row number", f"{largest:,}", hint)
    if smallest < 0 or largest >= n:  # nodes of other files come after these
        odd, must = smallest if smallest < 0 else largest, f"be from 0 to {n - 1:,}"
        raise wrong(path, "A node in 'edge_index' or 'self_loops'", must, f"{odd:,}")
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
        **_types_in(path, arrays, edges.shape[1]),
        "kinds": kinds,
        "mixed": None if features is None else _mixed_in(path, arrays, features.shape),
    }


def _types_in(path: Path, arrays: Arrays, count: int) -> dict[str, Any]:
    """`relation` and `directed` for `Graph.from_edges`."""
    if "edge_type" not in arrays:
        return {"relation": None, "directed": False}
    codes = _integers(path, arrays, "edge_type", 1)
    names = names_in(path, arrays, "relation_names")
    if names is None:
        names = _numbered(codes, "type")
    if len(codes) != count or (count and not 0 <= codes.min() <= codes.max() < len(names)):
        must = f"have an index into 'relation_names' for each of {count:,} edges"
        raise wrong(path, "'edge_type'", must, _sight(codes))
    one_way = _flags(path, arrays, "relation_directed", len(names), default=False)
    if list(names) == [UNNAMED]:
        return {"relation": None, "directed": bool(one_way[0])}
    used = np.isin(np.arange(len(names)), codes)
    return {
        "relation": names.astype(str).to_numpy(dtype=object)[codes],
        "directed": [str(name) for name in names[one_way & used]],
    }


def _mixed_in(path: Path, arrays: Arrays, shape: tuple[int, int]) -> Mixed | None:
    """Which cells and columns of the features stand for gaps and categories."""
    if "gaps" not in arrays:
        return None
    gaps = _integers(path, arrays, "gaps", 2)
    inside = len(gaps) == 2 and all(
        not row.size or 0 <= row.min() <= row.max() < size
        for row, size in zip(gaps, shape, strict=True)
    )
    if not inside:
        raise wrong(path, "'gaps'", f"be cells of the features {list(shape)}", _sight(gaps))
    start, sizes = (_integers(path, arrays, f"category_{key}", 1) for key in ("start", "sizes"))
    every = [names_in(path, arrays, f"category_{key}") for key in ("names", "values")]
    names, values = ([] if found is None else found.astype(str).tolist() for found in every)
    cut = len(names) == len(start) == len(sizes) and sizes.min(initial=1) >= 1
    if not cut or sizes.sum() != len(values):
        must = "cut 'category_values' into the values of each of 'category_names'"
        raise wrong(path, "'category_sizes'", must, _sight(sizes))
    ends = np.cumsum(sizes)
    found = tuple(
        Category(name, int(at), tuple(values[end - size : end]))
        for name, at, size, end in zip(names, start, sizes, ends, strict=True)
    )
    cells = sp.coo_array((np.ones(gaps.shape[1], dtype=bool), tuple(gaps)), shape=shape)
    mixed = Mixed(sp.csr_array(cells), found)
    with about(path):
        mixed.check(*shape)
    return mixed


def _kinds_in(path: Path, arrays: Arrays, X: Any) -> tuple[Kinds | None, Any]:
    """The kinds of nodes, and the features with a row for every node."""
    if "node_kind" not in arrays:
        return None, X
    codes = _integers(path, arrays, "node_kind", 1).astype(np.int64)
    names = names_in(path, arrays, "kind_names")
    if names is None:
        names = _numbered(codes, "kind")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(names):
        raise wrong(path, "'node_kind'", "be an index into 'kind_names'", _sight(codes))
    described = _flags(path, arrays, "kind_described", len(names), default=X is not None)
    first = np.flatnonzero(codes == 0)
    if X is not None and X.shape[0] == len(first) < len(codes):
        described = np.arange(len(names)) == 0
        rows = np.full(len(codes), len(first))
        rows[first] = np.arange(len(first))
        X = picked_rows([X, np.zeros((1, X.shape[1]), dtype=np.float32)], rows)
    return Kinds(codes, tuple(map(str, names)), tuple(described.tolist())), X


def _numbered(codes: np.ndarray, what: str) -> pd.Index:
    """Names for what has none; no more than there can be."""
    return pd.Index([f"{what} {i}" for i in range(min(int(codes.max(initial=-1)), MOST_TYPES) + 1)])


def _flags(path: Path, arrays: Arrays, key: str, count: int, *, default: bool) -> np.ndarray:
    flags = arrays.get(key, np.full(count, default))
    if flags.shape != (count,) or flags.dtype.kind not in "biu":
        raise wrong(path, f"'{key}'", f"hold {count:,} times true or false", _sight(flags))
    return flags.astype(bool)


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
            if len(shape) != 2 or len(indptr) != int(shape[0]) + 1:  # scipy believes the shape
                raise ValueError(f"shape {shape[:3].tolist()} and {len(indptr):,} row pointers")
            if (indptr[1:] < indptr[:-1]).any():  # nor does it look where the last is below 0
                raise ValueError("row pointers that fall")
            X = sp.csr_array((arrays["features_data"], indices, indptr), shape=tuple(shape))
            X.check_format(full_check=True)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            must = "be a well-formed CSR matrix"
            raise wrong(path, "The sparse features", must, first_line(error)) from None
    else:
        return None
    if not X.shape[1]:
        raise wrong(path, "Features", "have at least one column", "none")
    with about(path):
        check_features(X.shape[1])
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
        must = "be a list of integers" if ndim == 1 else "be a matrix of integers"
        raise wrong(path, f"'{key}'", must, _sight(array))
    if array.dtype == np.uint64:  # cast without a look, large ones would become negative
        if array.size and array.max() >= 2**63:
            raise wrong(path, f"'{key}'", f"hold numbers below {2**63:,}", f"{array.max():,}")
        array = array.astype(np.int64)
    return array


def _sight(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {list(array.shape)}"

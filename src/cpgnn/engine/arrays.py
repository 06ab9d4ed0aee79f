"""The checks and conversions that a `Graph` makes on the way in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.text import count
from cpgnn.errors import Message, advise, check_choice, must_be, notify, wrong_value

Matrix = Literal["none", "sym", "row"]
VANISHING = 2.0**-150
"""What is not larger is 0 in float32, in which weights are kept."""


def as_positions(what: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        got = f"{array.dtype} of shape {array.shape}"
        hint = "For named nodes use Graph.from_pandas or read_graph."
        raise must_be(what, "be a list of integer node positions", got, hint)
    if array.size and array.min() < 0:
        raise must_be(what, "hold positions of at least 0", int(array.min()))
    return array.astype(np.int64, copy=False)


def as_weights(weights: Any, edges: int) -> np.ndarray:
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(weights, dtype=object).ravel().tolist()
        text = next((weight for weight in given if isinstance(weight, str)), given[0])
        raise wrong_value("weights", "be numbers", repr(text)) from None
    if values.shape != (edges,):
        raise wrong_value("weights", f"have one entry for each of {edges} edges", values.shape)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise wrong_value("weights", "be finite and not negative", f"{values[row]} in row {row}")
    return values


def count_nodes(source: np.ndarray, target: np.ndarray, num_nodes: int | None, **rest: Any) -> int:
    """n as it was given, else that of the first of the `rest`, else what the edges need."""
    if source.shape != target.shape:
        raise wrong_value("target", f"be as long as 'source' ({len(source)})", len(target))
    largest = int(max(source.max(), target.max())) + 1 if len(source) else 0
    n, whence = largest, ""
    if num_nodes is not None:
        n = int(num_nodes)
    elif told := next((name for name, x in rest.items() if x is not None), ""):
        n = rest[told].shape[0] if hasattr(rest[told], "shape") else len(rest[told])
        whence = f", as {told!r} has"
    if largest > n:
        raise must_be("A node position", f"be below the number of nodes ({n}{whence})", largest - 1)
    return n


def simple_adjacency(
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    n: int,
    *,
    directed: bool = False,
) -> tuple[sp.csr_array, np.ndarray, list[str]]:
    """A without diagonal, the nodes with self-loops, and what was changed.

    Symmetric, or, if `directed`, with an entry (u, v) for every edge from u to v.
    """
    notices = []
    loop = source == target
    loops = np.unique(source[loop])
    keep = ~loop
    if loop.any():
        rows = count(int(loop.sum()), "self-loop row was", "self-loop rows were")
        notices.append(f"{rows} set aside.")
    if weights is not None:
        empty = keep & (weights <= VANISHING)
        if empty.any():
            rows = count(int(empty.sum()), "edge row of weight 0 was", "edge rows of weight 0 were")
            notices.append(f"{rows} dropped.")
            keep &= ~empty
    index = np.int32 if n < 2**31 else np.int64
    if not keep.all():
        source, target = source[keep].astype(index), target[keep].astype(index)
        weights = None if weights is None else weights[keep]
    if directed:
        first, second = source.astype(index, copy=False), target.astype(index, copy=False)
    else:  # one after the other: rows can be many
        first = np.minimum(source, target).astype(index, copy=False)
        second = np.maximum(source, target).astype(index, copy=False)
    given = len(first)
    values = np.ones(given, dtype=np.float32) if weights is None else weights
    A = sp.coo_array((values, (first, second)), shape=(n, n)).tocsr()  # repeated rows are summed
    del first, second, values
    if A.nnz < given:
        notices.append(repeated_rows(given - A.nnz, weighted=weights is not None))
        if weights is not None and not directed:
            notices += _both_ways(unequal_ways(source, target, weights, n))
    if weights is None:
        A.data[:] = 1
    elif A.nnz and A.data.max() > np.finfo(np.float32).max:
        raise must_be("The weights of an edge", "add up to at most 3.4e+38", A.data.max())
    A.data = A.data.astype(np.float32, copy=False)
    A = sp.csr_array(A) if directed else sp.csr_array(A + A.T)
    A.sort_indices()
    return A, loops, notices


def unequal_ways(source: np.ndarray, target: np.ndarray, weights: np.ndarray, n: int) -> int:
    """Pairs of nodes with edges both ways that weigh differently: they may have a direction."""
    F = sp.coo_array((weights, (source, target)), shape=(n, n)).tocsr()
    both = sp.triu((F != 0).multiply((F != 0).T), k=1)
    return int((abs(both.multiply(F - F.T)) > 1e-6 * both.multiply(F + F.T)).sum())


def _both_ways(pairs: int) -> list[str]:
    if not pairs:
        return []
    pair = count(pairs, "pair of nodes has", "pairs of nodes have")
    said = f"{pair} edges both ways with different weights, which were added up. "
    return [Message(said, advise("If edges have a direction, use {}.", directed=True))]


def repeated_rows(number: int, *, weighted: bool) -> str:
    """The notice for rows that join two nodes that an earlier row has joined."""
    if weighted:
        one, many = "edge row was", "edge rows were"
        earlier = "an earlier one" if number == 1 else "earlier ones"
        return f"{count(number, one, many)} added to the weight of {earlier}."
    one, many = "edge row repeated another and was", "edge rows repeated others and were"
    return f"{count(number, one, many)} collapsed."


def normalized(A: sp.csr_array, degrees: np.ndarray, kind: Matrix) -> sp.csr_array:
    if kind == "none":
        return A
    check_choice("normalization", kind, get_args(Matrix))
    power = -0.5 if kind == "sym" else -1.0
    with np.errstate(divide="ignore"):
        scale = np.where(degrees > 0, degrees**power, 0.0)
    values = A.data * np.repeat(scale, np.diff(A.indptr))
    if kind == "sym":
        values *= scale[A.indices]
    return sp.csr_array((values.astype(np.float32), A.indices, A.indptr), shape=A.shape)


def as_features(features: Any) -> np.ndarray | sp.csr_array | None:
    """X; None for none, and for no columns."""
    if features is None:
        return None
    if hasattr(features, "layout") and hasattr(features, "detach"):  # a tensor
        features = pyg_features(features)
    if sp.issparse(features):
        X = sp.csr_array(features, dtype=np.float32)
        X.sum_duplicates()
        if X.nnz < 2**31 and max(X.shape) < 2**31:
            X.indices = X.indices.astype(np.int32, copy=False)
            X.indptr = X.indptr.astype(np.int32, copy=False)
        return X if X.shape[1] else None
    try:
        X = np.ascontiguousarray(features, dtype=np.float32)
        return None if X.shape[1:] == (0,) else X
    except (TypeError, ValueError):
        got = type(features).__name__
        if isinstance(features, list) and len({np.shape(row) for row in features}) > 1:
            got = "rows of different lengths"
        must = "be numbers in n rows and F columns"
        hint = (
            "Tables with text, dates or gaps are read by cpgnn.read_graph(edges, labels, features)."
        )
        raise wrong_value("features", must, got, hint) from None


def as_ids(ids: Any, n: int) -> pd.Index:
    if ids is None:
        return pd.RangeIndex(n)
    if isinstance(ids, pd.MultiIndex):
        return ids.to_flat_index()
    return ids if isinstance(ids, pd.Index) else pd.Index(list(ids), tupleize_cols=False)


def as_labels(
    labels: Any, n: int, class_names: Sequence[Hashable] | None
) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Codes [n] and class names. With names, integers are codes; otherwise values are classes."""
    if labels is None:
        return np.full(n, -1, dtype=np.int64), tuple(class_names or ())
    values = _label_values(labels)
    if values.shape != (n,):
        raise wrong_value("labels", f"have one entry for each of {n} nodes", values.shape)
    integers = np.issubdtype(values.dtype, np.integer)
    if class_names is not None:
        names = tuple(class_names)
        if integers:
            return values.astype(np.int64), names
        codes = pd.Index(names, tupleize_cols=False).get_indexer(pd.Index(values))
        unknown = (codes < 0) & _known(values)
        if unknown.any():
            raise must_be("A label", f"be one of {list(names)}", repr(values[unknown].tolist()[0]))
        return codes.astype(np.int64), names
    if integers:
        if values.size and values.min() < -1:
            hint = "Give classes that are negative numbers as text."
            raise wrong_value("labels", "be at least -1 (unknown)", values.min(), hint)
        known = values >= 0
        names_array, codes = np.unique(values[known], return_inverse=True)
    else:
        known = _known(values)
        codes, names_array = pd.factorize(values[known], sort=True)
    full = np.full(n, -1, dtype=np.int64)
    full[known] = codes
    return full, tuple(pd.Index(names_array).tolist())  # moments stay moments


def _label_values(labels: Any) -> np.ndarray:
    if isinstance(labels, pd.Series):
        nullable = labels.hasnans and pd.api.types.is_extension_array_dtype(labels.dtype)
        return labels.to_numpy(dtype=object if nullable else None)  # else 4 would become 4.0
    try:
        values = np.asarray(labels)
    except ValueError:
        must = "be one class for each node: text or a number"
        raise wrong_value("labels", must, "sequences of different lengths") from None
    if values.dtype.kind == "U" and isinstance(labels, list | tuple):
        return np.array(labels, dtype=object)  # NumPy has made NaN and -1 into text
    return values


def _known(values: np.ndarray) -> np.ndarray:
    """Whether each label is one: not None, NaN, the number -1 or, as in files, blank text."""
    known: np.ndarray = ~pd.isna(values)
    if values.dtype.kind in "fO":
        known[known] = values[known] != -1
    if values.dtype.kind in "OU":
        codes, names = pd.factorize(values)
        blank = np.array([isinstance(name, str) and not name.strip() for name in names] + [False])
        if empty := int(blank[codes].sum()):
            notify(f"{count(empty, 'label is', 'labels are')} empty text, read as unknown.")
            known &= ~blank[codes]
    return known


def coded(words: np.ndarray) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """The place of each word in a sorted list of them, the list, and which are missing or blank."""
    values = pd.Series(words)
    text = values.astype(str).str.strip()
    codes, names = pd.factorize(text, sort=True)
    return codes, tuple(map(str, names)), np.flatnonzero(values.isna() | (text == ""))


def pyg_features(X: Any) -> Any:
    """A tensor, dense or sparse, as NumPy or scipy have it."""
    X = X.float()  # NumPy has no bfloat16
    if X.layout is not None and str(X.layout) != "torch.strided":
        csr = X.to_sparse_csr().cpu()
        parts = (csr.values(), csr.col_indices(), csr.crow_indices())
        return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(csr.shape))
    return X.numpy(force=True)


def as_array(names: Sequence[Hashable]) -> np.ndarray:
    """Names as an array: of strings or integers where they all are, else of objects."""
    kinds = {type(name) for name in names}
    if kinds in ({str}, {int}):
        return np.array(names)
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def is_symmetric(A: sp.coo_array) -> bool:
    """Whether A = Aᵀ, up to the rounding of products such as D^-½AD^-½."""
    gap = abs(A - A.T)
    return bool(gap.nnz == 0 or (gap - 1e-6 * (abs(A) + abs(A.T))).max() <= 0)


def same_class_share(
    A: sp.csr_array, labels: np.ndarray, *, by_weight: bool = True, loops: int = 0
) -> float:
    """Of the edges of A with two labelled ends, the share that joins nodes of one class.

    `loops` more count as edges that do. By weight, or every edge once; NaN without any edge.
    """
    there = labels >= 0  # no other row is needed
    A = A[there]
    source, target = np.repeat(labels[there], np.diff(A.indptr)), labels[A.indices]
    same, known = source == target, target >= 0
    counted = (same, known) if not by_weight else (A.data[same], A.data[known])
    alike, every = (2.0 * loops + float(part.sum(dtype=np.float64)) for part in counted)
    return alike / every if every else float("nan")


def dense(X: Any) -> np.ndarray:
    """X as NumPy has it, whether it is sparse or not."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def picked_rows(blocks: Sequence[Any], rows: np.ndarray) -> Any:
    """These rows of the blocks below each other, sparse if the first of them is."""
    if sp.issparse(blocks[0]):
        return sp.csr_array(sp.vstack([sp.csr_array(X) for X in blocks], format="csr")[rows])
    return np.vstack([dense(X) for X in blocks])[rows]


def num_stored(X: Any) -> int:
    """How many numbers X holds; 0 for None."""
    return 0 if X is None else int(X.nnz if sp.issparse(X) else X.size)


def pattern(A: sp.csr_array, dtype: Any = np.float32) -> sp.csr_array:
    """A with 1 for every entry."""
    return sp.csr_array((np.ones(A.nnz, dtype=dtype), A.indices, A.indptr), shape=A.shape)


def labels_of(labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The labels of these nodes, [n]; all others unknown."""
    known = np.full(len(labels), -1)
    known[nodes] = labels[nodes]
    return known


def class_indices(labels: Any, num_classes: int) -> np.ndarray:
    """Labels of nodes that all have one, as positions in a list of classes; else an error."""
    values = np.asarray(labels)
    whole = values.dtype.kind in "iu"
    if not whole or (values.size and not 0 <= values.min() <= values.max() < num_classes):
        got = f"{values.min()} to {values.max()}" if whole else f"{values.ravel()[:1].tolist()}"
        hint = "graph.labels has them; leave out nodes without a label (-1)."
        raise wrong_value("labels", f"be positions of classes, 0 to {num_classes - 1}", got, hint)
    return values


def class_index(names: Sequence[Hashable], positive: Any) -> int:
    """The index of the class that was named."""
    if positive not in names:
        known = ", ".join(map(str, names))
        raise wrong_value("positive", f"be one of the classes {known}", repr(positive))
    return names.index(positive)


def class_sizes(labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Labelled nodes of every class, [c]."""
    return np.bincount(labels[labels >= 0], minlength=num_classes)

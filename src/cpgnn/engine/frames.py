"""Tables of pandas on their way into a `Graph`: which column or index holds the node ids."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from cpgnn.errors import must_be, wrong_value

ID_NAMES = frozenset(("id", "ids", "node", "node_id", "nodeid", "node id", "vertex", "name", "key"))


def pandas_parts(
    edges: pd.DataFrame,
    labels: pd.DataFrame | pd.Series | None,
    features: pd.DataFrame | None,
    relation: str | None,
) -> dict[str, Any]:
    """What `Graph.from_edges` takes, from tables; see `Graph.from_pandas`."""
    types = None
    if relation is not None:
        if relation not in edges.columns[2:]:
            must = "name a column of the edges, after source and target"
            raise wrong_value("relation", must, repr(relation))
        edges, types = edges.drop(columns=relation), edges[relation].to_numpy()
    if edges.shape[1] not in (2, 3):
        raise wrong_value("edges", "have 2 or 3 columns: source, target[, weight]", edges.shape)
    given = label_series(labels)
    parts = {"'edges'": pd.concat([edges.iloc[:, 0], edges.iloc[:, 1]], ignore_index=True)}
    parts["'labels'"] = given.index.to_series()
    if features is not None:
        parts["'features'"] = keyed("'features'", features)[0].to_series()
    codes, index = joined_ids(parts)
    values = np.full(len(index), None, dtype=object)
    values[index.get_indexer(given.index)] = given.to_numpy()
    X, names = (None, None) if features is None else rows_by_node(features, index)
    return {
        "source": codes[: len(edges)],
        "target": codes[len(edges) : 2 * len(edges)],
        "weights": edges.iloc[:, 2].to_numpy() if edges.shape[1] == 3 else None,
        "num_nodes": len(index),
        "features": X,
        "feature_names": names,
        "labels": values,
        "node_ids": index,
        "relation": types,
    }


def keyed(what: str, table: pd.DataFrame) -> tuple[pd.Index, pd.DataFrame]:
    """The node ids of a table and its other columns.

    The ids are the first column if it is called `id` (or similar), else the index. Where both seem
    to hold ids, that is an error.
    """
    first = str(table.columns[0]).strip().lower() if table.shape[1] else ""
    if first not in ID_NAMES:
        return table.index, table
    if tells_ids(table.index):
        must = "have its node ids in the first column or in the index"
        got = f"a column {table.columns[0]!r} and an index of {table.index.dtype}"
        raise must_be(what, must, got, "Try .reset_index(drop=True), or .drop(columns=…).")
    return pd.Index(table.iloc[:, 0], tupleize_cols=False), table.iloc[:, 1:]


def rows_by_node(
    features: pd.DataFrame, node_ids: pd.Index
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Features in the order of the nodes, [n, F], and their names where these differ: rows by id,
    or by position where the index counts them and no node is called so."""
    ids, columns = keyed("'features'", features)
    n = len(node_ids)
    rows = ids.get_indexer(node_ids) if ids.is_unique else np.full(n, -1)
    if _counts(ids) and len(ids) == n and (rows < 0).all():
        rows = np.arange(n)
    if (rows < 0).any():
        got = f"none for {node_ids[rows < 0][0]}" if ids.is_unique else "an id twice"
        hint = "Try features.to_numpy() for one row for each node, in their order."
        raise wrong_value("features", f"have one row for each of the {n} nodes", got, hint)
    names = columns.columns.astype(str)
    return columns.to_numpy()[rows], tuple(names) if names.is_unique else None


def features_by_node(features: Any, node_ids: pd.Index) -> tuple[Any, tuple[str, ...] | None]:
    """Features and their names: of a table those by node id (`rows_by_node`), else as they are."""
    if isinstance(features, pd.DataFrame) and node_ids.is_unique:
        return rows_by_node(features, node_ids)
    return features, None


def labels_by_node(labels: Any, node_ids: pd.Index) -> Any:
    """Labels in the order of the nodes: of a Series those by node id (`by_node`), else as they
    are."""
    given = isinstance(labels, pd.Series) and node_ids.is_unique
    return by_node(labels, node_ids) if given else labels


def label_series(labels: pd.DataFrame | pd.Series | None) -> pd.Series:
    """Labels by node id, from a Series, or a table with one column of labels (see `keyed`)."""
    if labels is None:
        return pd.Series(dtype=object)
    if isinstance(labels, pd.DataFrame):
        ids, rest = keyed("'labels'", labels)
        if rest.shape[1] == 2 and not tells_ids(labels.index):  # id and label under other names
            ids, rest = pd.Index(labels.iloc[:, 0], tupleize_cols=False), labels.iloc[:, 1:]
        if rest.shape[1] != 1:
            must = "have the columns id, label; or one column and node ids in the index"
            raise wrong_value("labels", must, ", ".join(map(str, labels.columns)))
        labels = pd.Series(rest.iloc[:, 0].to_numpy(), index=ids)
    if not labels.index.is_unique:
        twice = labels.index[labels.index.duplicated()][0]
        raise wrong_value("labels", "name each node once", f"{twice} twice")
    return labels


def joined_ids(parts: dict[str, pd.Series]) -> tuple[np.ndarray, pd.Index]:
    """The position of every id, one table after another, and the distinct ids.

    Refuses ids that are numbers in one table and text in another, or differ by spaces only.
    """
    parts = {name: part for name, part in parts.items() if len(part)}
    every = pd.concat(parts.values(), ignore_index=True) if parts else pd.Series(dtype=object)
    codes, ids = pd.factorize(every, use_na_sentinel=True)
    if (codes < 0).any():
        raise must_be("A node id", "not be missing", "an empty id in edges, labels or features")
    kinds = {name: pd.api.types.infer_dtype(part, skipna=True) for name, part in parts.items()}
    numbers = [name for name, kind in kinds.items() if kind == "integer"]
    text = [name for name, kind in kinds.items() if kind == "string"]
    if numbers and text:
        got = f"numbers in {', '.join(numbers)} and text in {', '.join(text)}"
        hint = "Try .astype(str), or read the files with dtype=str."
        raise must_be("Node ids", "be all numbers or all text", got, hint)
    index = pd.Index(ids)
    if text:
        trimmed = index.astype(str).str.strip()
        twice = trimmed.duplicated()
        if twice.any():
            both = " and ".join(repr(i) for i in index[trimmed == trimmed[twice][0]][:2])
            hint = "Remove the spaces: .str.strip()."
            raise must_be("Node ids", "differ by more than surrounding spaces", both, hint)
    return codes, index


def by_node(labels: pd.Series, node_ids: pd.Index) -> Any:
    """Labels in the order of the nodes: by id where the index holds ids, else by position."""
    index, n = labels.index, len(node_ids)
    if index.equals(node_ids):
        return labels
    counted = _counts(index)
    found = node_ids.get_indexer(index) if index.is_unique else np.full(len(labels), -1)
    every = bool((found >= 0).all())
    if counted and not every:
        return labels  # 0, 1, 2, … that are no ids: positions
    hint = "Try y.to_numpy() for one label for each node, in their order, or an index of node ids."
    if counted and not np.array_equal(found, index):  # else both are the same
        must = "tell whether its index holds node ids or positions"
        raise must_be("The index of 'y'", must, f"0 … {len(labels) - 1}, which are both", hint)
    if not every:
        got = f"{index[found < 0][0]!r}, and no such node" if index.is_unique else "an id twice"
        raise must_be("The index of 'y'", "hold node ids, each once", got, hint)
    if len(labels) == n:
        return labels.iloc[np.argsort(found)]
    values = np.full(n, None, dtype=object)
    values[found] = labels.to_numpy(dtype=object)
    return values


def _counts(index: pd.Index) -> bool:
    """Whether an index is 0, 1, 2, … as pandas makes it."""
    return isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index)))


def tells_ids(index: pd.Index) -> bool:
    """Whether an index was made on purpose: it has a name, or is not of integers."""
    return index.name is not None or not pd.api.types.is_integer_dtype(index.dtype)


def similar_ids(node_ids: pd.Index, missing: Hashable) -> str:
    """A hint for an id that no node has: "Did you mean a1?"."""
    import difflib

    names = node_ids[:100_000].astype(str)
    alike = names[names.map(_folded) == _folded(missing)]
    close = list(alike[:3]) or difflib.get_close_matches(str(missing), list(names), 3)
    return f"Did you mean {', '.join(close)}?" if close else f"Try {names[0]!r}, for example."


def _folded(name: Hashable) -> str:
    """A name without what people mistype: case, blanks around it, leading zeros."""
    return str(name).strip().lower().lstrip("0")

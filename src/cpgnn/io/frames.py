"""Tables of pandas, read like files: columns by name, text, dates and gaps, an id in any column."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from cpgnn.engine.frames import keyed, label_series, tells_ids
from cpgnn.errors import wrong_value
from cpgnn.graph import Graph
from cpgnn.io.address import Address
from cpgnn.io.column_choice import Columns
from cpgnn.io.headers import ID, NODES, plain
from cpgnn.io.rows import as_text


@dataclass(frozen=True)
class Frame(Address):
    """A table in memory, under the name that messages call it by."""

    table: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(self.table.columns.astype(str))

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def at(self, i: int) -> pd.Series:
        return self.table.iloc[:, i]

    def arrow(self) -> pa.Table:
        """The table, with what is neither a number nor a category as text."""
        columns = [
            pa.chunked_array(pa.array(self._plain(i), from_pandas=True)) for i in range(self.width)
        ]
        return pa.table(columns, names=list(self.header))

    def _plain(self, i: int) -> pd.Series:
        column = self.at(i)
        if pd.api.types.is_float_dtype(column.dtype) and column.hasnans:
            whole = column.dropna()
            if (whole % 1 == 0).all() and (whole.abs() < 2**53).all():  # ids with a gap
                return column.astype("Int64")
        if column.dtype == object or pd.api.types.is_datetime64_any_dtype(column.dtype):
            return column.map(_text, na_action="ignore")
        return column


def frames(
    edges: pd.DataFrame, labels: Any, features: Any
) -> tuple[Frame, Frame | None, Frame | None]:
    """The tables with their ids in a column.

    An index with a name or of text holds the ids; so does one that merely counts, if no column is
    called like an id and the first one does not hold the ends of edges.
    """
    table, series = pd.DataFrame | None, pd.DataFrame | pd.Series | None
    for name, rows, kind in (("y", labels, series), ("features", features, table)):
        if not isinstance(rows, kind):
            must = "be a table with node ids, since the edges are one"
            raise wrong_value(name, must, type(rows).__name__)
    given = Frame("edges", table=edges)
    known = None if labels is None else Frame("y", table=_labels(labels))
    if features is None:
        return given, known, None
    ends = {*edges.to_numpy(dtype=object).ravel().tolist()}
    return given, known, Frame("features", table=_with_ids(features, ends))


def _labels(labels: pd.DataFrame | pd.Series) -> pd.DataFrame:
    if isinstance(labels, pd.DataFrame) and labels.shape[1] > 1 and not tells_ids(labels.index):
        made = labels.copy()
    else:
        given = label_series(labels)
        name = labels.columns[-1] if isinstance(labels, pd.DataFrame) else "label"
        made = pd.DataFrame({"id": given.index, name: given.to_numpy()})
    for i in range(made.shape[1]):  # -1 is no class in Python
        column = made.iloc[:, i]
        if i and pd.api.types.is_numeric_dtype(column.dtype) and column.dtype != bool:
            made.isetitem(i, column.astype(object).where(column != -1, None))
    return made


def _with_ids(features: pd.DataFrame, ends: set[Hashable]) -> pd.DataFrame:
    called = bool({plain(str(name)) for name in features.columns} & (ID | NODES))
    if not tells_ids(features.index):
        first = features.iloc[:, 0] if features.shape[1] else pd.Series(dtype=object)
        if called or (first.is_unique and first.isin(ends).mean() > 0.5):
            return features
    ids, rest = keyed("'features'", features)
    made = rest.reset_index(drop=True)
    made.insert(0, "id", ids, allow_duplicates=True)
    return made


def as_given(
    graph: Graph, rule: Columns, edges: Frame, labels: Frame | None, features: Frame | None
) -> Graph:
    """The graph with ids and classes that are not text as the tables have them: 7, not "7"."""
    columns = [edges.at(i) for i in rule.edges(edges, edges.header, edges.width)[:2]]
    classes = []
    if labels is not None:
        ids, label, *_ = rule.labels(labels, labels.header, labels.width)
        columns, classes = [*columns, labels.at(ids)], [labels.at(label)]
    if features is not None:
        ids = rule.features(features, features.header, features.width)[0]
        columns.append(features.at(ids))
    names = _original(classes, pd.Index(graph.class_names, dtype=object))
    return replace(
        graph, node_ids=_original(columns, graph.node_ids), class_names=tuple(names.tolist())
    )


def _original(columns: list[pd.Series], texts: pd.Index) -> pd.Index:
    """Names that were read as text, as these columns have them."""
    meant: dict[str, Any] = {}
    for column in columns:
        values = pd.Series(column.dropna().unique(), dtype=object)
        for text, value in zip(values.map(_text), values, strict=True):
            if type(meant.setdefault(text, value)) is not type(value):
                return texts  # 7 in one table, "7" in another
    found = [meant.get(text, text) for text in texts]
    return pd.Index(found, tupleize_cols=False)


def _text(value: object) -> str:
    return as_text(value.item() if isinstance(value, np.generic) else value)

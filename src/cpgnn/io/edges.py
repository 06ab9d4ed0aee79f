"""An edge list on its way to a `Graph`: node positions, ids, and what a graph file brings along."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.errors import InputError
from cpgnn.io.headers import ENDS, WEIGHT, is_word, misplaced, near_name, plain
from cpgnn.io.ids import check_ids, encode_pair
from cpgnn.io.origin import Origin
from cpgnn.io.places import wrong
from cpgnn.io.tables import TableFile, read_table


@dataclass(frozen=True)
class EdgeList:
    """Edges between node positions 0 … n-1."""

    path: Path
    ids: pa.Array
    """The distinct node ids as text, [n]."""
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None = None
    notices: tuple[str, ...] = ()
    origin: Origin | None = None
    """The table the edges came from, one row each; None for a graph file."""
    node_lines: Sequence[int] | None = None
    """The line of every node, where the file declares nodes."""
    index: pd.Index | None = None
    """The ids as a graph file stores them, where they are not text."""
    labels: np.ndarray | None = None
    class_names: tuple[Hashable, ...] = ()
    split: np.ndarray | None = None
    features: Any = None
    self_loops: np.ndarray | tuple[()] = ()

    def place_of(self, position: int) -> str:
        """Where a node is first named, for a message."""
        if self.node_lines is not None:
            return f"{self.path}, line {self.node_lines[position]}"
        if self.origin is None:
            return str(self.path)
        row = first_row(self.source, self.target, position)
        return f"{self.path}, {self.origin.place(row)}"


def first_row(source: np.ndarray, target: np.ndarray, position: int) -> int:
    rows = (source == position) | (target == position)
    return int(np.argmax(rows))


def read_edges(path: Path, header: bool | None = None) -> EdgeList:
    """Edges from a table: source, target[, weight]."""
    file = read_table(path, ids=(0, 1), numbers=True, header=header)
    origin, width = file.origin, file.table.num_columns
    if width not in (2, 3):
        raise origin.wrong_width("Edges", "have 2 or 3 columns: source, target[, weight]", width)
    notices = list(origin.notices)
    if names := origin.header:
        if misplaced(names, (ENDS, ENDS, WEIGHT)):
            hint = "Check that it is the edge file, and the order of its columns."
            raise origin.wrong_header("name source, target[, weight]", hint)
        if width == 3 and plain(names[2]) not in WEIGHT:
            notices.append(f"{path}: column {names[2]!r} is used as the edge weight.")
    if not file.table.num_rows:
        raise wrong(path, "Edges", "have at least one row", "none")
    source, target, ids = encode_pair(file.table.column(0), file.table.column(1))
    check_ids(origin, ids, lambda position: first_row(source, target, position))
    if origin.header is None:
        _check_spelling(origin, source, target, ids)
    weights = _weights(file) if width == 3 else None
    return EdgeList(path, ids, source, target, weights, tuple(notices), origin)


def _first_pair(source: np.ndarray, target: np.ndarray, ids: pa.Array) -> tuple[str, str] | None:
    """The two names of the first row, if no other row has either."""
    if len(source) < 2 or source[0] == target[0]:
        return None
    ends = (int(source[0]), int(target[0]))
    if any(int((source == end).sum() + (target == end).sum()) > 1 for end in ends):
        return None
    return ids[ends[0]].as_py(), ids[ends[1]].as_py()


def _check_spelling(origin: Origin, source: np.ndarray, target: np.ndarray, ids: pa.Array) -> None:
    """Refuse a first row that is a misspelt header: `sorce,target`."""
    pair = _first_pair(source, target, ids)
    meant = None if pair is None else [near_name(name) for name in pair]
    if pair is None or meant is None or None in meant:
        return
    guess = ", ".join(str(name) for name in meant)
    what, must = "The first row", "be an edge, or a header that names source, target[, weight]"
    hint = f"Did you mean {guess}?"
    raise origin.wrong(what, must, ", ".join(pair), hint, row=0)


FEW = 10
"""With fewer rows than this, a pair of nodes that occurs once is nothing unusual."""


def lonely_first_row(edges: EdgeList, others: Sequence[pa.Array]) -> tuple[str, str] | None:
    """A first row that may be a header: two words that neither the other rows nor `others` have."""
    if edges.origin is None or edges.origin.header or len(edges.source) < FEW:
        return None
    pair = _first_pair(edges.source, edges.target, edges.ids)
    if pair is None or not all(is_word(name) for name in pair):
        return None
    known = any(pc.any(pc.is_in(pa.array(pair), value_set=ids)).as_py() for ids in others)
    return None if known else pair


def _weights(file: TableFile) -> np.ndarray:
    column = file.table.column(2)
    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        bad = ~(np.isfinite(values) & (values >= 0) & (values <= np.finfo(np.float32).max))
        if not bad.any():
            return np.asarray(values)
        row = int(np.argmax(bad))
        got: object = "no number" if np.isnan(values[row]) else values[row]
        raise bad_weight(file.origin, got, row)
    from cpgnn.io.matrix import first_text

    row = first_text(column)
    raise bad_weight(file.origin, repr(column[row].as_py()), row)


def bad_weight(origin: Origin, got: object, row: int) -> InputError:
    hint = "Remove the row, or give it a weight of 0 or more."
    return origin.wrong("An edge weight", "be a finite number of at least 0", got, hint, row=row)

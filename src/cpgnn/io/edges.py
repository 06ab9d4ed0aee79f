"""An edge list on its way to a `Graph`: node positions, ids, and what a graph file brings along."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from cpgnn.errors import InputError
from cpgnn.io.headers import ENDS, WEIGHT, misplaced, plain
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
    weights = _weights(file) if width == 3 else None
    return EdgeList(path, ids, source, target, weights, tuple(notices), origin)


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

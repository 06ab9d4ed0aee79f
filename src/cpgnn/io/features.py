"""Features from a table (id and one column each) or an `.npz`, and how they fill the nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.errors import InputError
from cpgnn.io.headers import ID, LABEL, SPLIT, misplaced, plain
from cpgnn.io.ids import as_array, distinct
from cpgnn.io.origin import Origin
from cpgnn.io.places import count, shorten, wrong
from cpgnn.io.tables import known_cells, read_table

Impute = Literal["median"] | None

MAX_CATEGORIES = 1000
SPARSE_FROM = 64
"""From this many one-hot columns on the features are sparse."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class FeatureRows:
    """The rows of a feature file, in its order."""

    origin: Origin
    ids: pa.Array | None
    """None: the file names no nodes."""
    matrix: Any
    """[rows, F] dense or CSR float32; no missing values left."""
    medians: np.ndarray
    """What a node without a row gets, [F]."""
    notices: tuple[str, ...] = ()


def read_features(
    path: Path, *, impute: Impute, one_hot: bool, header: bool | None = None
) -> FeatureRows:
    """Features from a table: id, then one numeric column each (text with `one_hot`)."""
    file = read_table(path, ids=(0,), numbers=True, header=header)
    origin, table = file.origin, file.table
    if table.num_columns < 2:
        raise origin.wrong_width("Features", "have an id column and at least one more", 1)
    if origin.header and misplaced(origin.header, (ID,)):
        hint = "Check that it is the feature file, and that the ids come first."
        raise origin.wrong_header("name the id column first", hint)
    if not table.num_rows:
        raise wrong(path, "Features", "have at least one row", "none")
    ids = distinct(origin, table.column(0), "have features")
    notices = [
        f"{path}: column {name!r} is used as a feature."
        for name in (origin.header or ())[1:]
        if plain(name) in LABEL | SPLIT
    ]
    matrix, medians = build_matrix(origin, table, range(1, table.num_columns), impute, one_hot)
    return FeatureRows(origin, ids, matrix, medians, (*origin.notices, *notices))


def build_matrix(
    origin: Origin, table: pa.Table, columns: range, impute: Impute, one_hot: bool
) -> tuple[Any, np.ndarray]:
    """The columns as a float32 matrix without gaps, and the median of each."""
    text = [i for i in columns if not pa.types.is_floating(table.column(i).type)]
    if text and not one_hot:
        raise _text_column(origin, table.column(text[0]), text[0])
    numeric = [i for i in columns if i not in text]
    dense = np.empty((table.num_rows, len(numeric)), dtype=np.float32)
    medians = np.zeros(len(numeric), dtype=np.float32)
    for j, i in enumerate(numeric):
        with np.errstate(over="ignore"):
            dense[:, j] = table.column(i).to_numpy()
        medians[j] = _fill(origin, dense[:, j], i, impute)
    if not text:
        return dense, medians
    coded = [_one_hot(origin, table.column(i), i, impute) for i in text]
    hot = sp.csr_array(sp.hstack(coded, format="csr"))
    medians = np.concatenate([medians, np.zeros(hot.shape[1], dtype=np.float32)])
    if hot.shape[1] < SPARSE_FROM:
        return np.hstack([dense, hot.toarray()]), medians
    return sp.csr_array(sp.hstack([sp.csr_array(dense), hot], format="csr")), medians


def _fill(origin: Origin, values: np.ndarray, column: int, impute: Impute) -> np.float32:
    """Fill the gaps of one column in place and return its median."""
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        what = f"A feature (column {origin.column(column)})"
        raise origin.wrong(what, "be a finite 32-bit number", values[row], row=row)
    gaps = np.isnan(values)
    if not gaps.any():
        return np.float32(np.median(values)) if impute else np.float32(0)
    if impute is None:
        raise _gap(origin, column, int(np.argmax(gaps)))
    if gaps.all():
        what = f"Column {origin.column(column)}"
        raise origin.wrong(what, "have a value to take the median of", "none", "Remove the column.")
    median = np.float32(np.median(values[~gaps]))
    values[gaps] = median
    return median


def _gap(origin: Origin, column: int, row: int) -> InputError:
    return origin.wrong(
        f"A feature (column {origin.column(column)})",
        "be a number",
        "a missing value",
        "Fill it, or use impute='median' (--impute median).",
        row=row,
    )


def _one_hot(origin: Origin, column: Any, i: int, impute: Impute) -> sp.csr_array:
    """One column for each category, sorted; a missing cell, where allowed, has none."""
    values = as_array(known_cells(column))
    if impute is None and values.null_count:
        raise _gap(origin, i, pc.index(pc.is_null(values), True).as_py())
    categories = sorted(pc.unique(values).drop_null().to_pylist())
    if len(categories) > MAX_CATEGORIES:
        what = f"Text column {origin.column(i)}"
        must = f"have at most {MAX_CATEGORIES:,} different values for one-hot columns"
        raise origin.wrong(what, must, f"{len(categories):,}", "Remove or group it first.")
    codes = pc.index_in(values, value_set=pa.array(categories, pa.string()), skip_nulls=True)
    rows = np.flatnonzero(pc.is_valid(codes).to_numpy(zero_copy_only=False))
    where = (rows, codes.drop_null().to_numpy())
    ones = np.ones(len(rows), dtype=np.float32)
    return sp.csr_array((ones, where), shape=(len(values), len(categories)))


def first_text(column: Any) -> int:
    """The first row whose cell is neither a number nor missing."""
    cells = known_cells(column)
    odd = pc.invert(pc.match_substring_regex(cells, _NUMBER))
    row = int(pc.index(odd, True).as_py())
    return max(row, 0)


def _text_column(origin: Origin, column: Any, i: int) -> InputError:
    row = first_text(column)
    value = column[row].as_py()
    hint = "Remove the column, or use one_hot=True (--one-hot)."
    if value.replace(",", ".", 1) != value:
        hint = "Write decimals with a point; or remove the column, or use one_hot=True (--one-hot)."
    what = f"A feature (column {origin.column(i)})"
    return origin.wrong(what, "be a number", shorten(value), hint, row=row)


def spread(
    rows: FeatureRows, positions: np.ndarray, n: int, impute: Impute, place_of: Callable[[int], str]
) -> Any:
    """The matrix [n, F] with each row at its node's position.

    Nodes without a row get the medians, or are an error that says where the node is named.
    """
    matrix = rows.matrix
    if len(positions) == n and (positions == np.arange(n)).all():
        return matrix
    without = np.ones(n, dtype=bool)
    without[positions] = False
    number = int(without.sum())
    if number and impute is None:
        first = int(np.argmax(without))
        raise rows.origin.wrong(
            "Every node",
            "have features",
            f"none for {count(number, 'node')}, {place_of(first)} first",
            "Add the rows, or use impute='median' (--impute median).",
        )
    if not sp.issparse(matrix):
        full = np.empty((n, matrix.shape[1]), dtype=np.float32)
        full[positions] = matrix
        full[without] = rows.medians
        return full
    fill = sp.csr_array(rows.medians[None, :])
    stacked = sp.vstack([matrix, fill], format="csr")
    source = np.full(n, matrix.shape[0], dtype=np.int64)
    source[positions] = np.arange(len(positions))
    return sp.csr_array(stacked[source])

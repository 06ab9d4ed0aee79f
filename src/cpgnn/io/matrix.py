"""The columns of a feature table as one float32 matrix: categories found or known, gaps filled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.engine.text import listed
from cpgnn.errors import InputError, Message, advise
from cpgnn.io.columns import FeatureColumns, unique
from cpgnn.io.ids import as_array
from cpgnn.io.origin import Origin
from cpgnn.io.places import count, shorten
from cpgnn.io.tables import known_cells

Impute = Literal["median"] | None

MAX_CATEGORIES = 1000
SPARSE_FROM = 64
"""From this many one-hot columns on the features are sparse."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def build_matrix(
    origin: Origin, table: pa.Table, impute: Impute, one_hot: bool, like: FeatureColumns | None
) -> tuple[Any, FeatureColumns, list[str]]:
    """All columns but the first (the ids): the matrix, what its columns are, and what to say.

    With `like` they are those of an earlier file, by name, with its categories and its medians.
    """
    if like is None:
        places = list(range(1, table.num_columns))
        notices: list[str] = []
        columns = _found(origin, table, one_hot)
    else:
        places, notices = like.positions(origin, table.num_columns)
        columns = like
    numeric, text = [], []
    for place, categories in zip(places, columns.categories, strict=True):
        if categories is not None:
            text.append((place, categories))
        elif pa.types.is_floating(table.column(place).type):
            numeric.append(place)
        else:
            hint = "It was a number in every row when the model was fitted."
            raise _text_column(origin, table.column(place), place, hint)
    dense, medians, filled = _numbers(origin, table, numeric, impute, columns.medians)
    coded, unseen = [], []
    for place, categories in text:
        hot, gaps, notice = _one_hot(origin, table.column(place), place, categories, impute)
        coded.append(hot)
        filled[place] = gaps
        unseen += notice
    width = sum(hot.shape[1] for hot in coded)
    if impute:
        medians = np.concatenate([medians, np.zeros(width, dtype=np.float32)])
        columns = replace(columns, medians=tuple(medians.tolist()), impute=True)
    notices += [*_say_filled(origin, filled), *unseen]
    if not coded:
        return dense, columns, notices
    if width < SPARSE_FROM:
        return np.hstack([dense, *(hot.toarray() for hot in coded)]), columns, notices
    parts = [sp.csr_array(dense), *coded]
    return sp.csr_array(sp.hstack(parts, format="csr")), columns, notices


def _found(origin: Origin, table: pa.Table, one_hot: bool) -> FeatureColumns:
    """The columns of a first file: numbers where all cells are, else categories."""
    categories: list[tuple[str, ...] | None] = []
    for i in range(1, table.num_columns):
        column = table.column(i)
        if pa.types.is_floating(column.type):
            categories.append(None)
            continue
        if not one_hot:
            raise _text_column(
                origin, column, i, advise("Remove the column, or use {}.", one_hot=True)
            )
        values = sorted(pc.unique(as_array(known_cells(column))).drop_null().to_pylist())
        if len(values) > MAX_CATEGORIES:
            what = f"Text column {origin.column(i)}"
            must = f"have at most {MAX_CATEGORIES:,} different values for one-hot columns"
            raise origin.wrong(what, must, f"{len(values):,}", "Remove or group it first.")
        categories.append(tuple(values))
    return FeatureColumns(unique(origin.header[1:] if origin.header else None), tuple(categories))


def _numbers(
    origin: Origin,
    table: pa.Table,
    places: list[int],
    impute: Impute,
    known: tuple[float, ...] | None,
) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    """Numeric columns without gaps, the median of each, and how many gaps each had."""
    dense = np.empty((table.num_rows, len(places)), dtype=np.float32)
    medians = np.zeros(len(places), dtype=np.float32)
    filled = {}
    for j, place in enumerate(places):
        with np.errstate(over="ignore"):
            dense[:, j] = table.column(place).to_numpy()
        gaps = _gaps(origin, dense[:, j], place, impute)
        if known is not None:
            medians[j] = known[j]
        elif len(gaps) and gaps.all():
            what, hint = f"Column {origin.column(place)}", "Remove the column."
            raise origin.wrong(what, "have a value to take the median of", "none", hint)
        elif impute:
            medians[j] = np.median(dense[~gaps, j])
        dense[gaps, j] = medians[j]
        filled[place] = int(gaps.sum())
    return dense, medians, filled


def _gaps(origin: Origin, values: np.ndarray, column: int, impute: Impute) -> np.ndarray:
    """Where a column has no number; an error where that cannot be filled."""
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        what = f"A feature (column {origin.column(column)})"
        raise origin.wrong(what, "be a finite 32-bit number", values[row], row=row)
    gaps = np.isnan(values)
    if impute is None and gaps.any():
        raise _gap(origin, column, int(np.argmax(gaps)))
    return gaps


def _gap(origin: Origin, column: int, row: int) -> InputError:
    return origin.wrong(
        f"A feature (column {origin.column(column)})",
        "be a number",
        "a missing value",
        advise("Fill it, or use {}.", impute="median"),
        row=row,
    )


def _one_hot(
    origin: Origin, column: Any, i: int, categories: tuple[str, ...], impute: Impute
) -> tuple[sp.csr_array, int, list[str]]:
    """One column for each category; a missing cell, where allowed, and an unknown one have none."""
    values = as_array(known_cells(column))
    if impute is None and values.null_count:
        raise _gap(origin, i, pc.index(pc.is_null(values), True).as_py())
    codes = pc.index_in(values, value_set=pa.array(categories, pa.string()), skip_nulls=True)
    rows = np.flatnonzero(pc.is_valid(codes).to_numpy(zero_copy_only=False))
    where = (rows, codes.drop_null().to_numpy())
    ones = np.ones(len(rows), dtype=np.float32)
    hot = sp.csr_array((ones, where), shape=(len(values), len(categories)))
    notices = []
    unseen = len(values) - values.null_count - len(rows)
    if unseen:
        new = values.filter(pc.and_(pc.is_valid(values), pc.is_null(codes)))
        named = listed(sorted(pc.unique(new).to_pylist()))
        notices.append(
            f"{origin.path}: {count(unseen, 'cell')} of column {origin.column(i)} "
            f"{'holds' if unseen == 1 else 'hold'} a value that the model was not fitted with "
            f"({named}); taken as none of its categories."
        )
    return hot, values.null_count, notices


def _say_filled(origin: Origin, filled: dict[int, int]) -> list[str]:
    gaps = {place: number for place, number in filled.items() if number}
    if not gaps:
        return []
    total = sum(gaps.values())
    named = ", ".join(origin.column(place) for place in list(gaps)[:5])
    return [
        f"{origin.path}: {count(total, 'missing value')} in {count(len(gaps), 'column')} "
        f"({named}{', …' if len(gaps) > 5 else ''}) {'was' if total == 1 else 'were'} filled: "
        "medians for numbers, no category for text."
    ]


def first_text(column: Any) -> int:
    """The first row whose cell is neither a number nor missing."""
    cells = known_cells(column)
    odd = pc.invert(pc.match_substring_regex(cells, _NUMBER))
    row = int(pc.index(odd, True).as_py())
    return max(row, 0)


def _text_column(origin: Origin, column: Any, i: int, hint: str) -> InputError:
    row = first_text(column)
    value = column[row].as_py()
    if value.replace(",", ".", 1) != value:
        hint = Message("Write decimals with a point. ", hint)
    what = f"A feature (column {origin.column(i)})"
    return origin.wrong(what, "be a number", shorten(value), hint, row=row)

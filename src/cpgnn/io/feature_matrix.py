"""The columns of a feature table as one float32 matrix: categories found or known, gaps filled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.engine.text import count, listed, shorten
from cpgnn.errors import InputError, Message, advise
from cpgnn.io.edges import first_text
from cpgnn.io.feature_columns import FeatureColumns, unique
from cpgnn.io.tables import TableFile, as_array, known_cells

Impute = Literal["median"] | None

MAX_CATEGORIES = 1000
SPARSE_FROM = 64
"""From this many one-hot columns on the features are sparse."""


def build_matrix(
    file: TableFile, impute: Impute, one_hot: bool, like: FeatureColumns | None
) -> tuple[Any, FeatureColumns, list[str]]:
    """All columns but the first (the ids): the matrix, what its columns are, and what to say.

    With `like` they are those of an earlier file, by name, with its categories and its medians.
    """
    notices: list[str] = []
    if like is None:
        places, columns = list(range(1, file.table.num_columns)), _found(file, one_hot)
    else:
        (places, notices), columns = like.positions(file), like
    numeric, text = [], []
    for place, categories in zip(places, columns.categories, strict=True):
        if categories is not None:
            text.append((place, categories))
        elif pa.types.is_floating(file.table.column(place).type):
            numeric.append(place)
        else:
            hint = "It was a number in every row when the model was fitted."
            raise _not_a_number(file, place, hint)
    dense, medians, filled = _numbers(file, numeric, impute, columns.medians)
    coded, unseen = [], []
    for place, categories in text:
        hot, filled[place], notice = _one_hot(file, place, categories, impute)
        coded.append(hot)
        unseen += notice
    width = sum(hot.shape[1] for hot in coded)
    if impute:
        medians = np.concatenate([medians, np.zeros(width, dtype=np.float32)])
        columns = replace(columns, medians=tuple(medians.tolist()), impute=True)
    notices += [*_say_filled(file, filled), *unseen]
    if width < SPARSE_FROM:
        matrix: Any = np.hstack([dense, *(hot.toarray() for hot in coded)]) if coded else dense
    else:
        matrix = sp.csr_array(sp.hstack([sp.csr_array(dense), *coded], format="csr"))
    return matrix, columns, notices


def _found(file: TableFile, one_hot: bool) -> FeatureColumns:
    """The columns of a first file: numbers where all cells are, else categories."""
    categories: list[tuple[str, ...] | None] = []
    for i, column in enumerate(file.table.columns[1:], start=1):
        if pa.types.is_floating(column.type):
            categories.append(None)
            continue
        if not one_hot:
            raise _not_a_number(file, i, advise("Remove the column, or use {}.", one_hot=True))
        values = sorted(pc.unique(known_cells(column)).drop_null().to_pylist())
        if len(values) > MAX_CATEGORIES:
            must = f"have at most {MAX_CATEGORIES:,} different values for one-hot columns"
            got, hint = f"{len(values):,}", "Remove or group it first."
            raise file.wrong(f"Text column {file.column(i)}", must, got, hint)
        categories.append(tuple(values))
    return FeatureColumns(unique(file.header[1:] if file.header else None), tuple(categories))


def _numbers(
    file: TableFile, places: list[int], impute: Impute, known: tuple[float, ...] | None
) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    """Numeric columns without gaps, the median of each, and how many gaps each had."""
    dense = np.empty((file.table.num_rows, len(places)), dtype=np.float32)
    medians = np.zeros(len(places), dtype=np.float32)
    filled = {}
    for j, place in enumerate(places):
        values = dense[:, j]
        with np.errstate(over="ignore"):
            values[:] = file.table.column(place).to_numpy()
        if np.isinf(values).any():
            row, what = int(np.argmax(np.isinf(values))), _feature(file, place)
            raise file.wrong(what, "be a finite 32-bit number", values[row], row=row)
        gaps = np.isnan(values)
        if impute is None and gaps.any():
            raise _gap(file, place, int(np.argmax(gaps)))
        if known is not None:
            medians[j] = known[j]
        elif len(gaps) and gaps.all():
            what, hint = f"Column {file.column(place)}", "Remove the column."
            raise file.wrong(what, "have a value to take the median of", "none", hint)
        elif impute:
            medians[j] = np.median(values[~gaps])
        values[gaps] = medians[j]
        filled[place] = int(gaps.sum())
    return dense, medians, filled


def _one_hot(
    file: TableFile, i: int, categories: tuple[str, ...], impute: Impute
) -> tuple[sp.csr_array, int, list[str]]:
    """One column for each category; a missing cell, where allowed, and an unknown one have none."""
    values = as_array(known_cells(file.table.column(i)))
    if impute is None and values.null_count:
        raise _gap(file, i, pc.index(pc.is_null(values), True).as_py())
    codes = pc.index_in(values, value_set=pa.array(categories, pa.string()), skip_nulls=True)
    rows = np.flatnonzero(pc.is_valid(codes).to_numpy(zero_copy_only=False))
    ones, where = np.ones(len(rows), dtype=np.float32), (rows, codes.drop_null().to_numpy())
    hot = sp.csr_array((ones, where), shape=(len(values), len(categories)))
    notices = []
    unseen = len(values) - values.null_count - len(rows)
    if unseen:
        new = values.filter(pc.and_(pc.is_valid(values), pc.is_null(codes)))
        notices.append(
            f"{file.path}: {count(unseen, 'cell')} of column {file.column(i)} "
            f"{'holds' if unseen == 1 else 'hold'} a value that the model was not fitted with "
            f"({listed(sorted(pc.unique(new).to_pylist()))}); taken as none of its categories."
        )
    return hot, values.null_count, notices


def _say_filled(file: TableFile, filled: dict[int, int]) -> list[str]:
    gaps = {place: number for place, number in filled.items() if number}
    if not gaps:
        return []
    total = sum(gaps.values())
    named = ", ".join(file.column(place) for place in list(gaps)[:5])
    return [
        f"{file.path}: {count(total, 'missing value')} in {count(len(gaps), 'column')} "
        f"({named}{', …' if len(gaps) > 5 else ''}) {'was' if total == 1 else 'were'} filled: "
        "medians for numbers, no category for text."
    ]


def _feature(file: TableFile, i: int) -> str:
    return f"A feature (column {file.column(i)})"


def _gap(file: TableFile, i: int, row: int) -> InputError:
    hint = advise("Fill it, or use {}.", impute="median")
    return file.wrong(_feature(file, i), "be a number", "a missing value", hint, row=row)


def _not_a_number(file: TableFile, i: int, hint: str) -> InputError:
    row = first_text(file.table.column(i))
    value = file.table.column(i)[row].as_py()
    if "," in value:
        hint = Message("Write decimals with a point. ", hint)
    return file.wrong(_feature(file, i), "be a number", shorten(value), hint, row=row)

"""The columns of a feature table as one float32 matrix: categories found or known, gaps filled.

What was filled, and which columns are one category, is kept beside it (`Mixed`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.engine.mixed import Mixed
from cpgnn.engine.text import count, listed, shorten, some
from cpgnn.errors import InputError, advise
from cpgnn.io.by_content import counts_rows
from cpgnn.io.column_choice import Columns
from cpgnn.io.edges import first_text
from cpgnn.io.feature_columns import FeatureColumn, FeatureColumns, unique
from cpgnn.io.headers import is_number
from cpgnn.io.problems import MOST, Problems
from cpgnn.io.readings import find_reading, read_numbers, reading_notices
from cpgnn.io.tables import TableFile, as_array, known_cells

Impute = Literal["median"] | None

MAX_CATEGORIES = 1000
MOSTLY, FEW = 0.9, 20
"""Text with so many values for each row that has one is no category, if it has more than a few."""
MOST_TEXT = 1000
"""Columns that are not plain numbers: each is read in a dozen ways, in milliseconds."""
SPARSE_FROM = 64
"""From this many one-hot columns on the features are sparse."""


@dataclass(frozen=True)
class FeatureRule:
    """How columns become numbers; see `read_graph`."""

    impute: Impute = None
    one_hot: bool = False
    like: FeatureColumns | None = None


@dataclass(frozen=True)
class FeatureRows:
    """The rows of a feature file, in its order."""

    file: TableFile
    ids: pa.Array | None
    """None: the file names no nodes."""
    matrix: Any
    """[rows, F] dense or CSR float32; no missing values left."""
    columns: FeatureColumns
    """What the columns of the matrix are; a node without a row gets their medians."""
    notices: tuple[str, ...] = ()
    kinds: np.ndarray | None = None
    """What the node of each row is, by name; None where the file does not say."""
    gaps: dict[str, int] = field(default_factory=dict)
    """How many cells were filled, by column."""
    mixed: Mixed | None = None
    """Which cells and columns of the matrix stand for gaps and categories."""
    parts: tuple[FeatureRows, ...] = ()
    """The files, where it was joined from several."""


def build_matrix(file: TableFile, rule: FeatureRule, chosen: Columns) -> FeatureRows:
    """All columns but the first (the ids), which are left to others.

    Columns that are `like` those of an earlier file are found by name, and get its categories and
    medians. One that only counts the rows is not used, unless it was `chosen` by name.
    """
    notices: list[str] = []
    problems = Problems()
    if rule.like is None:
        places = list(range(1, file.table.num_columns))
        columns = _found(file, rule, chosen, notices, problems)
    else:
        (places, notices), columns = rule.like.positions(file), rule.like
    numeric: dict[int, np.ndarray] = {}
    for place, column in zip(places, columns, strict=True):
        with problems.noted():
            if column.reading is not None:
                numeric[place] = read_numbers(file, place, column.reading)
            elif column.is_numeric:
                plain = _plain_numbers(file.table.column(place))
                if plain is None:
                    hint = "It was a number in every row when the model was fitted."
                    raise _not_a_number(file, place, hint)
                numeric[place] = plain
    readings = {place: column.reading for place, column in zip(places, columns, strict=True)}
    notices += reading_notices(file, {i: reading for i, reading in readings.items() if reading})
    with problems.noted():
        dense, empty, medians = _numbers(file, numeric, rule.like)
    coded, unseen, without = [], [], {}
    for place, column in zip(places, columns, strict=True):
        if column.categories:  # none: as many values as rows when the model was fitted
            hot, without[place], notice = _one_hot(file, place, column.categories)
            coded.append(hot)
            unseen += notice
    problems.stop()
    width = sum(hot.shape[1] for hot in coded)
    if rule.like is None:
        columns = replace(columns.with_medians(medians), impute=bool(rule.impute))
    filled = dict(zip(numeric, empty.sum(axis=0).tolist(), strict=True)) | without
    notices += [*_say_filled(file, filled, seen=not rule.impute), *unseen]
    gaps = sp.csr_array(np.zeros_like(empty) if rule.impute else empty)
    gaps.resize((len(dense), dense.shape[1] + width))
    if width < SPARSE_FROM:
        matrix: Any = np.hstack([dense, *(hot.toarray() for hot in coded)]) if coded else dense
    else:
        matrix = sp.csr_array(sp.hstack([sp.csr_array(dense), *coded], format="csr"))
    if not matrix.shape[1]:
        must, got = "have a column of numbers or categories", listed((file.header or ())[1:])
        raise file.wrong("Features", must, got or "none")
    counts = {file.column(place): number for place, number in filled.items() if number}
    mixed = Mixed.of(gaps, columns.groups)
    return FeatureRows(file, None, matrix, columns, tuple(notices), gaps=counts, mixed=mixed)


def _found(
    file: TableFile, rule: FeatureRule, chosen: Columns, notices: list[str], problems: Problems
) -> FeatureColumns:
    """The columns of a first file: numbers where all cells can be read so, else categories.

    A column with a problem is left out, so that the others can be looked at.
    """
    text = sum(pa.types.is_string(column.type) for column in file.table.columns[1:])
    if text > MOST_TEXT:
        hint = "Check the delimiter and the decimal sign."
        must = f"have at most {MOST_TEXT:,} columns of text"
        raise file.wrong("Features", must, f"{text:,}", hint)
    names = unique(file.header[1:] if file.header else None)
    found: list[FeatureColumn] = []
    counted = not chosen.feature and file.table.num_columns > 2
    for i, column in enumerate(file.table.columns[1:], start=1):
        values: tuple[str, ...] | None = None
        reading, why = None, ""
        plain = _plain_numbers(column)
        if plain is None:
            values = ()
            with problems.noted():
                reading = find_reading(file, i, chosen.decimal)
                values = None if reading else _categories(file, i, rule.one_hot, notices)
        elif len(plain) and np.isnan(plain).all():
            why = "is empty"
        elif counted and counts_rows(column):
            why = "only counts the rows"
        if why:
            notices.append(f"{file.path}: column {file.column(i)} {why}, so it is not used.")
            values = ()
        found.append(FeatureColumn(names[i - 1] if names else None, values, reading))
    return FeatureColumns(tuple(found), one_hot=rule.one_hot)


def _categories(file: TableFile, i: int, one_hot: bool, notices: list[str]) -> tuple[str, ...]:
    """The values of a text column; none, with a notice, if every row has its own."""
    known = as_array(known_cells(file.table.column(i))).drop_null()
    values = sorted(pc.unique(known).to_pylist())
    numbers = sum(is_number(re.sub(r"[\s%€$£]", "", value)) for value in values)
    if not one_hot and 2 * numbers > len(values):  # a slip among numbers, not a category
        raise _not_a_number(file, i, advise("Correct it, or use {}.", one_hot=True))
    every = 1 < len(values) == len(known)
    if every or (not one_hot and FEW < len(values) >= MOSTLY * len(known)):
        rows = "every row has" if every else "nearly all rows have"
        notices.append(
            f"{file.path}: column {file.column(i)} is not used: {rows} a different "
            "value, which says nothing about other nodes."
        )
        return ()
    if len(values) <= MAX_CATEGORIES:
        return tuple(values)
    if not one_hot:
        counts = sorted(known.value_counts().to_pylist(), key=lambda v: (-v["counts"], v["values"]))
        notices.append(
            f"{file.path}: of the {len(values):,} different values of column {file.column(i)} the "
            f"{MAX_CATEGORIES:,} most frequent are used."
        )
        return tuple(sorted(value["values"] for value in counts[:MAX_CATEGORIES]))
    must = f"have at most {MAX_CATEGORIES:,} different values for one-hot columns"
    what, advice = f"Text column {file.column(i)}", "Remove it or group its values first."
    raise file.wrong(what, must, f"{len(values):,}", advice)


def _plain_numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """The column as numbers, NaN for spreadsheet errors; None if other text is among them."""
    if not pa.types.is_floating(column.type):
        try:
            column = pc.cast(known_cells(column), pa.float64())
        except pa.ArrowInvalid:
            return None
    return np.asarray(column.to_numpy())


def _numbers(
    file: TableFile, columns: dict[int, np.ndarray], like: FeatureColumns | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numeric columns with their gaps filled, where those were, and the median of each."""
    dense = np.empty((file.table.num_rows, len(columns)), dtype=np.float32)
    medians = np.zeros(len(columns), dtype=np.float32)
    empty = np.zeros(dense.shape, dtype=bool)
    problems, known = Problems(), None if like is None else like.medians
    for j, (place, numbers) in enumerate(columns.items()):
        values = dense[:, j]
        with np.errstate(over="ignore"):
            values[:] = numbers
        with problems.noted():
            _check_finite(file, place, values)
        gaps = np.isnan(values)
        with problems.noted():
            if known is not None:
                medians[j] = known[j]
            elif like is not None and gaps.any():
                raise _gap(file, place, gaps)
            elif not gaps.all():
                medians[j] = np.median(values[~gaps])
        values[gaps], empty[:, j] = medians[j], gaps
    problems.stop()
    return dense, empty, medians


def _check_finite(file: TableFile, i: int, values: np.ndarray) -> None:
    bad = np.flatnonzero(np.isinf(values))
    if len(bad):
        got = {row: values[row] for row in bad[:MOST].tolist()}
        must = "be a finite 32-bit number"
        raise file.wrong_rows(_feature(file, i), must, got, total=len(bad))


def _one_hot(
    file: TableFile, i: int, categories: tuple[str, ...]
) -> tuple[sp.csr_array, int, list[str]]:
    """One column for each category; a missing cell and an unknown one have none."""
    values = as_array(known_cells(file.table.column(i)))
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
            f"({listed(sorted(pc.unique(new).to_pylist()))}); treated as no category."
        )
    return hot, values.null_count, notices


def _say_filled(file: TableFile, filled: dict[int, int], *, seen: bool) -> list[str]:
    gaps = [file.column(place) for place, number in filled.items() if number]
    if not gaps:
        return []
    total = sum(filled.values())
    return [
        f"{file.path}: {count(total, 'missing value')} in {count(len(gaps), 'column')} "
        f"({some(gaps)}) {'was' if total == 1 else 'were'} filled: "
        f"medians for numbers, no category for text.{' Trees see the gaps.' if seen else ''}"
    ]


def _feature(file: TableFile, i: int) -> str:
    return f"A feature (column {file.column(i)})"


def _gap(file: TableFile, i: int, gaps: np.ndarray) -> InputError:
    """The missing cells of a column, which may be many: one error that counts them."""
    row, number = int(np.argmax(gaps)), int(gaps.sum())
    cell = file.table.column(i)[row].as_py()
    got = shorten(cell) if isinstance(cell, str) and cell.strip() else "a missing value"
    got += f", the first of {number:,} in this column" if number > 1 else ""
    hint = advise("Fill it, or use {}.", impute="median")
    error = file.wrong(_feature(file, i), "be a number", got, hint, row=row)
    error.affected = number
    return error


def _not_a_number(file: TableFile, i: int, hint: str) -> InputError:
    row = first_text(file.table.column(i))
    value = file.table.column(i)[row].as_py()
    return file.wrong(_feature(file, i), "be a number", shorten(value), hint, row=row)

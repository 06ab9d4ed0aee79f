"""Columns in another order than usual, recognised by what they hold and mentioned in a notice."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.io.by_content import LEAST_ROWS
from cpgnn.io.column_choice import Columns
from cpgnn.io.tables import TableFile


def moved(file: TableFile, roles: Sequence[str]) -> list[str]:
    """What to say where the columns do not stand in the order of these roles."""
    places = file.order[: len(roles)]
    if list(places) == sorted(places) and (len(roles) > 1 or not places or places[0] == 0):
        return []
    if len(roles) == 1:
        return [f"{file.path}: the ids are in column {file.column(0)}."]
    found = ", ".join(f"{role} is column {i + 1}" for role, i in zip(roles, places, strict=False))
    return [f"{file.path}: columns in another order: {found}."]


def weight_first(file: TableFile, columns: Columns) -> bool:
    """Whether three columns without known names are weight, source, target.

    The first holds numbers, no id of the second, and the third is no weight: text that shares ids
    with the second, or whole numbers where the first has fractions.
    """
    if file.table.num_columns != 3 or file.order != (0, 1, 2):
        return False
    if columns.source or columns.target or columns.weight:
        return False
    first, source, target = file.table.columns
    try:
        numbers = pc.cast(pc.utf8_trim_whitespace(first), pa.float64())
    except pa.ArrowInvalid:
        return False
    if not len(first) or _share(source, first):
        return False
    if pa.types.is_string(target.type):
        return _share(source, target)
    whole = pc.all(pc.equal(pc.floor(target), target)).as_py()
    broken = not pc.all(pc.equal(pc.floor(numbers), numbers)).as_py()
    return bool(
        whole
        and broken
        and _share(source, pc.cast(pc.cast(target, pa.int64(), safe=False), pa.string()))
    )


def label_first(file: TableFile, columns: Columns) -> bool:
    """Whether columns without known names are label, id: the first repeats, the second never."""
    rows = file.table.num_rows
    if file.order[:2] != (0, 1) or columns.id or columns.label or rows < LEAST_ROWS:
        return False
    first, second = (pc.count_distinct(file.table.column(i)).as_py() for i in (0, 1))
    return bool(second == rows and 2 * first <= rows)


def _share(column: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.is_in(column, value_set=pc.unique(other))).as_py())

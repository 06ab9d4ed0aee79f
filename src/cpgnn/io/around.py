"""What exports put around a table: lines of title above its header, blank rows and totals below."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.text import count, shorten
from cpgnn.io.headers import HeaderRule, plain
from cpgnn.io.words import WORDS

if TYPE_CHECKING:
    from cpgnn.io.tables import TableFile

MOST_TITLES, MOST_TOTALS = 30, 5
"""Rows above and below a table that are looked at."""
_TOTALS = frozenset(map(plain, WORDS["cells"]["totals"]))
_AFTER_WORD = re.compile(r"[\s:=\d.,']*$")


def titles(rows: Sequence[Sequence[str]], rule: HeaderRule) -> int:
    """How many of the first rows are not part of the table.

    They fill at most half as many cells as most rows do, from the left, and below them comes a
    header.
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = Counter(filled).most_common(1)[0][0] if filled else 0
    for i, number in enumerate(filled[:MOST_TITLES]):
        if 2 * number > usual:
            return i if i and rule.decide(rows[i], rows[i + 1 :])[0] else 0
        if number and not rows[i][0].strip():
            return 0
    return 0


def said_of_titles(lines: Sequence[str]) -> str:
    first = next((line.strip() for line in lines if line.strip()), "")
    return f"skipped {count(len(lines), 'line')} above the header ({shorten(first)})."


def is_total(cell: object) -> bool:
    """Whether a cell says that its row adds up others: `Total`, `Summe:`, `Count: 759`."""
    if not isinstance(cell, str) or len(cell) > 100:
        return False
    return plain(_AFTER_WORD.sub("", cell)) in _TOTALS


def but_totals(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Rows of text without totals among the last ones."""
    made = list(rows)
    while len(made) > 1 and is_total(next(filter(str.strip, made[-1]), "")):
        made.pop()
    return made


def blank_rows_at_the_end(table: pa.Table) -> int:
    """How many rows at the end have no cell with anything in it, as spreadsheets write them."""
    end = table.num_rows
    if end and table.num_columns and _filled(table.column(0).slice(end - 1))[0]:
        return 0  # nearly always, and without a look at thousands of columns
    while end:
        start = max(0, end - 10_000)
        block = [_filled(column.slice(start, end - start)) for column in table.columns]
        filled = np.flatnonzero(np.any(block, axis=0))
        if len(filled):
            return int(table.num_rows - start - filled[-1] - 1)
        end = start
    return 0


def _filled(column: pa.ChunkedArray) -> np.ndarray:
    some = pc.is_valid(column)
    if pa.types.is_string(column.type):
        some = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False)
    return np.asarray(some.to_numpy())


def totals_without_ids(table: pa.Table, ids: Sequence[int]) -> int:
    """How many rows at the end are totals that leave one of the columns of ids empty."""
    rows = 0
    while rows < min(MOST_TOTALS, table.num_rows):
        at = table.num_rows - rows - 1
        if all(_text(table, at, i) for i in ids):
            break
        cells = (_text(table, at, i) for i in range(table.num_columns))
        if not is_total(next(filter(None, cells), "")):
            break
        rows += 1
    return rows


def without_totals(file: TableFile, nodes: pa.Array | None) -> TableFile:
    """A table of nodes without totals at its end, which name no node of the edges."""
    table, rows = file.table, 0
    while nodes is not None and rows < min(MOST_TOTALS, table.num_rows):
        name = table.column(0)[table.num_rows - rows - 1].as_py()
        if not is_total(name) or pc.index(nodes, pa.scalar(name, nodes.type)).as_py() >= 0:
            break
        rows += 1
    if not rows:
        return file
    first = _text(table, table.num_rows - rows, 0)
    kept = table.slice(0, table.num_rows - rows)
    return replace(file, table=kept, told=(*file.told, said_of_totals(file.path, rows, first)))


def said_of_totals(path: object, rows: int, first: str) -> str:
    what, sum_up = ("row", "sums up") if rows == 1 else (f"{rows} rows", "sum up")
    return f"{path}: skipped the last {what} ({shorten(first)}), which {sum_up} the others."


def said_of_lines(path: object, below: Sequence[str]) -> str:
    what, are = ("line", "is") if len(below) == 1 else (f"{len(below)} lines", "are")
    return f"{path}: skipped the last {what} ({shorten(below[0])}), which {are} not in the table."


def _text(table: pa.Table, row: int, column: int) -> str:
    value = table.column(column)[row].as_py()
    return "" if value is None else str(value).strip()

"""Tables that are not text: sheets of workbooks and tables of databases, as rows of text cells.

Cells become what a CSV would have: `5`, `5.5`, `2024-12-31`, `true`, nothing. What reads CSV reads
them from there on, so that ids, dates and numbers in other formats are the same in both.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import pyarrow as pa

from cpgnn.engine.memory import memory_limit
from cpgnn.io.address import Address
from cpgnn.io.around import but_totals, said_of_titles, titles
from cpgnn.io.csv_dialect import SAMPLE_LINES
from cpgnn.io.databases import open_table
from cpgnn.io.files import wrong
from cpgnn.io.headers import HeaderRule, one_line
from cpgnn.io.workbooks import open_sheet

BATCH = 10_000
CELL = 16
"""Bytes that a cell takes besides its text."""


@dataclass(frozen=True)
class Rows:
    header: tuple[str, ...] | None
    table: pa.Table
    """All cells as text."""
    lines: Sequence[int] | None
    """The row of the sheet of each row, for blank ones are left out; None for databases."""
    notices: tuple[str, ...]


def read_rows(place: Address, rule: HeaderRule) -> Rows:
    """All of a sheet or table."""
    if not place.is_book:
        with open_table(place) as (found, stored, told):
            return Rows(found, _text(place, stored, len(found)), None, told)
    with open_sheet(place) as (numbered, told):
        filled = ((line, cells) for line, cells in _cells(numbered) if any(cells))
        first = next(filled, None)
        if first is None:
            raise wrong(place, "A sheet", "have at least one row", "none")
        sample = list(islice(filled, SAMPLE_LINES))
        above = titles([first[1], *(row for _, row in sample)], rule)
        if above:
            over = [" ".join(filter(None, row)) for _, row in (first, *sample[: above - 1])]
            told = (*told, f"{place}: {said_of_titles(over)}")
            first, *sample = sample[above - 1 :]
        start, cells = first
        below = [row for _, row in sample]
        width = max(len(row) for row in (cells, *below))
        named, announce = rule.decide(cells, but_totals(below))
        if named and announce:
            told = (*told, f"{place}: row {start} ({', '.join(cells)}) was read as a header.")
        body = [*([] if named else [first]), *sample]
        lines: list[int] = []

        def rows() -> Iterator[list[str]]:
            for line, row in chain(body, filled):
                lines.append(line)
                yield row

        table = _text(place, rows(), width)
        top = [*map(one_line, cells), *[""] * (width - len(cells))]
        return Rows(tuple(top) if named else None, table, lines, told)


def _cells(rows: Iterable[tuple[int, Sequence[object]]]) -> Iterator[tuple[int, list[str]]]:
    """Rows as text, empty cells at their ends left out."""
    for line, row in rows:
        cells = [as_text(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        yield line, cells


def _text(place: Address, rows: Iterable[Sequence[object]], width: int) -> pa.Table:
    """Rows as a table of text, a batch at a time, refused before it fills the memory."""
    names = [f"c{i}" for i in range(width)]
    schema = pa.schema([(name, pa.string()) for name in names])
    batches: list[pa.RecordBatch] = []
    source, size, limit = iter(rows), 0, memory_limit()
    line = 0
    while batch := list(islice(source, BATCH)):
        cells = [[as_text(cell) for cell in row] for row in batch]
        for row in cells:
            line += 1
            if len(row) > width:
                must, got = f"have at most {width} cells, like the first", f"{len(row)}"
                raise wrong(place, "A row", must, got, row=line)
            row += [""] * (width - len(row))
        size += sum(len(cell) + CELL for row in cells for cell in row)
        if size > limit:
            raise wrong(place, "The table", f"take at most {limit:,} bytes", "more")
        columns = [pa.array(column, pa.string()) for column in zip(*cells, strict=True)]
        batches.append(pa.record_batch(columns, schema=schema))
    return pa.Table.from_batches(batches, schema)


def as_text(value: object) -> str:
    """A cell as a CSV would have it."""
    if type(value) is str or type(value) is int:  # nearly always, and there are millions
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.datetime):
        midnight = not (value.hour or value.minute or value.second or value.microsecond)
        return value.date().isoformat() if midnight else value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return repr(value.total_seconds())
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value)

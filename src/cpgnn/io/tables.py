"""A table file (CSV, TSV, blanks, `.gz`, Parquet) as a pyarrow table, ids exactly as written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from cpgnn.engine.text import count, first_line, listed, shorten
from cpgnn.errors import InputError
from cpgnn.io.address import Address, Place, locate
from cpgnn.io.around import (
    blank_rows_at_the_end,
    said_of_lines,
    said_of_totals,
    totals_without_ids,
)
from cpgnn.io.column_choice import Columns
from cpgnn.io.csv_dialect import (
    LONGEST_CELL,
    Dialect,
    lines_below,
    not_utf8,
    rows_of,
    sniff,
    squeeze,
)
from cpgnn.io.files import NotUTF8Error, StrPath, all_bytes, arrow_source, opened, western, wrong
from cpgnn.io.frames import Frame
from cpgnn.io.headers import MISSING, SPREADSHEET_ERRORS, HeaderRule
from cpgnn.io.parquet import is_parquet, plain_types, read_parquet
from cpgnn.io.problems import MOST, RowsError
from cpgnn.io.rows import read_rows

TextColumns = Callable[[tuple[str, ...] | None], set[int]]
"""Given the header, the columns that are text whatever stands in them."""
Pick = Callable[[Place, tuple[str, ...] | None, int], list[int]]
"""Given the file, its header and its width, the columns to keep, in the order to keep them."""

BLOCK = 4 << 20
_LONG = ("A cell", f"have at most {LONGEST_CELL:,} bytes")
_CLOSE = "Close the quotation mark, or shorten the text."
_PLAIN = tuple(set(MISSING) - set(SPREADSHEET_ERRORS))  # errors stay text until they are counted
_MARKS = sorted({"NaN", "-NaN"}.union(*((m, m.upper(), m.capitalize()) for m in _PLAIN)))


@dataclass(frozen=True)
class TableFile:
    """A table and the file it came from, so that a message can name file, column and line.

    Rows count from 0 here, lines from 1 in messages.
    """

    path: Place
    table: pa.Table
    """Columns in the order of the file; their names are in `header`."""
    header: tuple[str, ...] | None = None
    """The column names, as written; None without a header."""
    dialect: Dialect | None = None
    """How a text table is written; None for other files."""
    lines: Sequence[int] | None = None
    """The line of every row, where it is known (GraphML). Parquet has neither."""
    whole_header: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    """Names of the columns that were not kept."""
    blank_rows: int = 0
    """Rows without any content at the end, which were not kept."""
    order: tuple[int, ...] = ()
    """Where the kept columns stand in the file."""
    told: tuple[str, ...] = ()
    """What else is to be said about it."""

    @property
    def notices(self) -> tuple[str, ...]:
        found = [*(self.dialect.notices if self.dialect else ()), *self.told]
        if self.unused:
            column = "column" if len(self.unused) == 1 else "columns"
            found.append(f"{self.path}: {column} {listed(self.unused, 12)} not used.")
        if self.blank_rows:
            found.append(f"{self.path}: skipped {count(self.blank_rows, 'blank row')} at the end.")
        return tuple(found)

    def picked(self, kept: Sequence[int]) -> TableFile:
        """Some of the columns of a whole table, in this order."""
        names, used = self.header or (), set(kept)
        return replace(
            self,
            table=self.table.select(kept),
            header=self.header and tuple(names[i] for i in kept),
            whole_header=tuple(names),
            unused=tuple(name for i, name in enumerate(names) if i not in used),
            order=tuple(kept),
        )

    def without(self, i: int, **changes: Any) -> TableFile:
        """The same without a column."""
        header = self.header and (*self.header[:i], *self.header[i + 1 :])
        return replace(self, table=self.table.remove_column(i), header=header, **changes)

    def moved(self, roles: Sequence[str]) -> list[str]:
        """What to say where the columns do not stand in the order of these roles."""
        places = self.order[: len(roles)]
        if list(places) == sorted(places) and (len(roles) > 1 or not places or places[0] == 0):
            return []
        if len(roles) == 1:
            return [f"{self.path}: the ids are in column {self.column(0)}."]
        found = ", ".join(
            f"{role} is column {i + 1}" for role, i in zip(roles, places, strict=False)
        )
        return [f"{self.path}: columns in another order: {found}."]

    def column(self, i: int) -> str:
        """`'age'`, or `3` without a header."""
        return shorten(self.header[i]) if self.header else str(i + 1)

    def place(self, row: int) -> str:
        """`line 7`, found by reading the file again up to there, or `row 7` of Parquet."""
        return self.places([row])[row]

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """The same for several rows."""
        lines = self._lines(rows).items()
        return {row: f"row {row + 1}" if line is None else f"line {line}" for row, line in lines}

    def wrong(
        self, what: str, must: str, got: object, hint: str = "", *, row: int | None = None
    ) -> InputError:
        """An `InputError` about this file, and about one row of it where that is known."""
        line = None if row is None else self._lines([row])[row]
        number = None if row is None else row + 1
        return wrong(self.path, what, must, got, hint, line=line, row=number)

    def wrong_rows(
        self,
        what: str,
        must: str,
        found: Mapping[int, object],
        hint: str = "",
        *,
        total: int | None = None,
    ) -> InputError:
        """The same about several rows: what each of them got, and how many there are in all."""
        lines = self._lines(sorted(found)[:MOST])
        errors = [
            wrong(self.path, what, must, found[row], hint, line=line, row=row + 1)
            for row, line in lines.items()
        ]
        return RowsError(errors, len(found) if total is None else total)

    def wrong_header(self, must: str, hint: str) -> InputError:
        got = ", ".join((self.header or ())[:8])
        line = self.dialect.skip_lines if self.dialect else None
        return wrong(self.path, "The header", must, got, hint, line=line)

    def wrong_width(self, what: str, must: str) -> InputError:
        width = self.table.num_columns
        names = f" ({', '.join(self.header[:8])})" if self.header else ""
        hint = "Check the delimiter." if width == 1 else "Remove the other columns."
        return wrong(self.path, what, must, f"{width}{names}", hint)

    def need_rows(self, what: str) -> None:
        if not self.table.num_rows:
            raise wrong(self.path, what, "have at least one row", "none")

    def _lines(self, rows: Sequence[int]) -> dict[int, int | None]:
        """The line of each of these rows; None where the file has no lines."""
        if self.lines is not None:
            return {row: self.lines[row] for row in rows}
        if self.dialect is None or isinstance(self.path, Address):
            return dict.fromkeys(rows)
        wanted = set(rows)
        with opened(self.path, self.dialect.encoding) as stream:
            upto = islice(rows_of(stream, self.dialect), max(rows) + 1)
            return {row: line for row, (line, _) in enumerate(upto) if row in wanted}


def read_table(
    path: StrPath,
    columns: Columns | None = None,
    *,
    pick: Pick | None = None,
    ids: Sequence[int] = (0,),
    numbers: bool = False,
    text: TextColumns | None = None,
    header: bool | None = None,
) -> TableFile:
    """Read a table; columns `ids` (by position) become strings exactly as written.

    `columns` says how tables are written, `pick` which columns are kept, and where; all other
    positions count from there on.

    With `numbers` each other column becomes float64 (null where a cell is missing) if all its
    cells are numbers or missing, and stays text otherwise; without, all columns are text.
    `text` names other columns that are text even so. Delimiter and header are found from the first
    lines (see `headers` for the rule) unless `header` or `columns` decides it. `path` is Parquet
    if it ends so or begins with Parquet's mark; or a workbook, or an `Address`.
    """
    path, columns = locate(path), columns or Columns()
    asked = Asked(
        ids=ids,
        numbers=numbers,
        header=columns.header if header is None else header,
        names=columns.names,
        headers=columns.headers,
        text=text,
        pick=pick,
    )
    if isinstance(path, Frame):
        return _typed(path, path.arrow(), path.header, asked)
    if isinstance(path, Address):
        return _read_rows(path, asked)
    if is_parquet(path):
        table = read_parquet(path)
        return _typed(path, table, tuple(table.column_names), asked)
    try:
        return _read_text(path, asked)
    except NotUTF8Error:
        encoding = columns.encoding or western(path)
        if encoding is None:
            raise
        return _read_text(path, asked, encoding)


@dataclass(frozen=True, kw_only=True)
class Asked(HeaderRule):
    """The arguments of `read_table`."""

    text: TextColumns | None
    pick: Pick | None

    def kept(self, path: Place, header: tuple[str, ...] | None, width: int) -> list[int]:
        return self.pick(path, header, width) if self.pick else list(range(width))

    def as_text(self, header: tuple[str, ...] | None, kept: Sequence[int]) -> set[int]:
        """Which of the kept columns are text whatever stands in them, counted among themselves."""
        called = header and tuple(header[i] for i in kept)
        return {*self.ids, *(self.text(called) if self.text else ())}

    def numeric(self, header: tuple[str, ...] | None, kept: Sequence[int]) -> set[int]:
        """Which of the kept columns may be numbers, counted in the file."""
        text = self.as_text(header, kept)
        return {i for place, i in enumerate(kept) if self.numbers and place not in text}


def _typed(path: Place, table: pa.Table, header: tuple[str, ...], asked: Asked) -> TableFile:
    """A table whose columns are numbers, text and so on, not all text."""
    kept = asked.kept(path, header, len(header))
    file, as_text = TableFile(path, table, header).picked(kept), asked.as_text(header, kept)
    plain = plain_types(path, file.table, ids=asked.ids, numbers=asked.numbers, as_text=as_text)
    return replace(file, table=plain)


def _read_rows(place: Address, asked: Asked) -> TableFile:
    found = read_rows(place, asked)
    kept = asked.kept(place, found.header, found.table.num_columns)
    table = with_numbers(found.table, asked.numeric(found.header, kept))
    file = TableFile(place, table, found.header, lines=found.lines, told=found.notices)
    return _finished(file, kept, asked)


def _read_text(path: Path, asked: Asked, encoding: str | None = None) -> TableFile:
    with opened(path, encoding) as stream:
        dialect = sniff(path, stream, asked)
    kept = asked.kept(path, dialect.header, dialect.columns)
    every, numeric = set(range(dialect.columns)), asked.numeric(dialect.header, kept)
    told: tuple[str, ...] = ()
    try:
        table = _parse(path, dialect, every - numeric)
    except pa.ArrowInvalid:  # text among the numbers, or a fault in the file
        table, told = _as_text(path, dialect, every)
        table = with_numbers(table, numeric)
    return _finished(TableFile(path, table, dialect.header, dialect, told=told), kept, asked)


def _as_text(path: Path, dialect: Dialect, every: set[int]) -> tuple[pa.Table, tuple[str, ...]]:
    """All columns as text, but for lines of other kinds below; and what to say of these."""
    try:
        return _parse(path, dialect, every), ()
    except pa.ArrowException as error:
        below, fault = lines_below(path, dialect), error
    try:
        if below:
            return _parse(path, dialect, every, ragged="skip"), (said_of_lines(path, below),)
    except pa.ArrowException as error:
        fault = error
    raise _fault(path, dialect, fault) from None


def with_numbers(table: pa.Table, columns: Iterable[int]) -> pa.Table:
    """A table of text with those of these columns as float64 that hold numbers only."""
    cells = table.columns  # set one by one, thousands of columns would take minutes
    for i in columns:
        with suppress(pa.ArrowInvalid):
            cells[i] = pc.cast(known_cells(cells[i], _PLAIN), pa.float64())
    return pa.table(cells, names=table.column_names)


def _finished(file: TableFile, kept: Sequence[int], asked: Asked) -> TableFile:
    """The kept columns without blank rows and totals at the end."""
    blank = blank_rows_at_the_end(file.table)
    table, told = file.table.slice(0, file.table.num_rows - blank), file.told
    if totals := totals_without_ids(table, [kept[i] for i in asked.ids if i < len(kept)]):
        first = [str(column[-totals].as_py() or "") for column in table.columns]
        told = (*told, said_of_totals(file.path, totals, " ".join(filter(None, first))))
        table = table.slice(0, table.num_rows - totals)
    file = replace(file, table=table, blank_rows=blank, told=told).picked(kept)
    _check_cells(file)
    return file


def _check_cells(file: TableFile) -> None:
    """No cell is longer than any name or value, as after a quotation mark that is not closed."""
    for column in file.table.columns:
        if not pa.types.is_string(column.type) or not column.nbytes > LONGEST_CELL:
            continue
        size = pc.binary_length(column)
        row = pc.index(pc.greater(size, LONGEST_CELL), True).as_py()
        if row >= 0:
            raise file.wrong(*_LONG, f"{size[row].as_py():,}", _CLOSE, row=row)


def _parse(path: Path, dialect: Dialect, text: set[int], ragged: str = "error") -> pa.Table:
    """Columns `text` as text, the others as numbers; `ragged` rows are an "error", or "skip"ped."""
    names = [f"c{i}" for i in range(dialect.columns)]
    types = {name: pa.string() if i in text else pa.float64() for i, name in enumerate(names)}
    with opened(path, dialect.encoding) as stream:
        if dialect.delimiter == " ":
            source = pa.BufferReader(squeeze(all_bytes(path, stream, dialect.skip_bytes)))
        else:
            source = arrow_source(path, stream, dialect.skip_bytes)
        read = pacsv.ReadOptions(
            column_names=names,
            block_size=max(BLOCK, 8 * dialect.longest),
            # threads gain nothing on one block, and may outlive a process that ends at once
            use_threads=path.stat().st_size > BLOCK,
        )
        parse = pacsv.ParseOptions(
            delimiter=dialect.delimiter,
            newlines_in_values=dialect.quoted,
            invalid_row_handler=lambda _: ragged,
        )
        convert = pacsv.ConvertOptions(
            column_types=types, null_values=_MARKS, strings_can_be_null=False
        )
        try:
            table = pacsv.read_csv(source, read, parse, convert)
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                raise
            table = pa.table({name: pa.array([], kind) for name, kind in types.items()})
    if not dialect.spaced:
        return table
    columns = table.columns
    for i in text - {0}:
        columns[i] = pc.utf8_ltrim(columns[i], " ")
    return pa.table(columns, names=names)


def _fault(path: Path, dialect: Dialect, error: pa.ArrowException) -> InputError:
    """What is wrong with a file that pyarrow cannot read, found line by line."""
    ragged: list[InputError] = []
    total = 0
    with opened(path, dialect.encoding) as stream:
        for line, row in rows_of(stream, dialect):
            text = dialect.delimiter.join(row)
            raw = text.encode("utf-8", "surrogateescape")
            if raw != text.encode("utf-8", "replace"):
                return not_utf8(path, raw, line)
            if not row:
                return wrong(path, *_LONG, "more", _CLOSE, line=line)
            if len(row) != dialect.columns:
                must = f"have {dialect.columns} cells, like the others"
                hint = "Put quotes around cells that contain the delimiter."
                got = f"{len(row)} ({text[:60]!r})"
                total += 1
                if len(ragged) < MOST:
                    ragged.append(wrong(path, "A row", must, got, hint, line=line))
    if ragged:
        return RowsError(ragged, total)
    return wrong(path, "A table", "be readable as CSV", first_line(error))


def known_cells(column: pa.ChunkedArray, missing: Sequence[str] = MISSING) -> pa.ChunkedArray:
    """Trimmed text; null where the cell is empty or a mark of a missing value."""
    trimmed = pc.utf8_trim_whitespace(column)
    unknown = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(missing))
    return pc.if_else(unknown, pa.scalar(None, pa.string()), trimmed)


def as_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole

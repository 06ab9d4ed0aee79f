"""A table file (CSV, TSV, blanks, `.gz`, Parquet) as a pyarrow table, ids exactly as written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from cpgnn.io.dialect import Dialect, not_utf8, rows_of, sniff, squeeze
from cpgnn.io.headers import MISSING
from cpgnn.io.origin import Origin
from cpgnn.io.parquet import is_parquet, read_parquet
from cpgnn.io.places import StrPath, first_line, native, opened, unpacked, wrong

BLOCK = 4 << 20
_MARKS = sorted({"NaN", "-NaN"}.union(*((m, m.upper(), m.capitalize()) for m in MISSING)))


@dataclass(frozen=True)
class TableFile:
    """A table and where it came from."""

    origin: Origin
    table: pa.Table
    """Columns in the order of the file; their names are in `origin.header`."""


def read_table(
    path: StrPath,
    *,
    ids: Sequence[int] = (0,),
    numbers: bool = False,
    header: bool | None = None,
    text: Callable[[tuple[str, ...] | None], set[int]] | None = None,
) -> TableFile:
    """Read a table; columns `ids` (by position) become strings exactly as written.

    With `numbers` each other column becomes float64 (null where a cell is missing) if all its
    cells are numbers or missing, and stays text otherwise; without, all columns are text.
    `text` is asked, given the header, which other columns are text even so.
    Delimiter and header are found from the first lines (see `headers` for the rule); `header`
    decides it. `path` is Parquet if it ends so or begins with Parquet's mark.
    """
    path = Path(path)
    if is_parquet(path):
        table = read_parquet(path, ids=ids, numbers=numbers, text=text)
        return TableFile(Origin(path, tuple(table.column_names)), table)
    with opened(path) as stream:
        dialect = sniff(
            path, stream, ids=ids, header=header, number_names=numbers and tuple(ids) == (0,)
        )
    as_text = {*ids, *(text(dialect.header) if text else ())}
    table = None
    with suppress(pa.ArrowInvalid):
        table = _parse(path, dialect, as_text if numbers else set(range(dialect.columns)))
    if table is None:  # text among the numbers, or a fault in the file
        table = _parse_text(path, dialect)
        if numbers:
            table = _numbers_where_possible(table, as_text)
    return TableFile(Origin(path, dialect.header, dialect), table)


def _parse(path: Path, dialect: Dialect, text: set[int]) -> pa.Table:
    names = [f"c{i}" for i in range(dialect.columns)]
    types = {name: pa.string() if i in text else pa.float64() for i, name in enumerate(names)}
    with opened(path) as stream:
        if dialect.delimiter == " ":
            source = pa.BufferReader(squeeze(unpacked(path, stream, dialect.skip_bytes)))
        else:
            source = native(path, stream, dialect.skip_bytes)
        try:
            table = pacsv.read_csv(
                source,
                read_options=pacsv.ReadOptions(
                    column_names=names,
                    block_size=max(BLOCK, 8 * dialect.longest),
                    # threads gain nothing on one block, and may outlive a process that ends at once
                    use_threads=path.stat().st_size > BLOCK,
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=dialect.delimiter, newlines_in_values=dialect.quoted
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=types, null_values=_MARKS, strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                raise
            table = pa.table({name: pa.array([], kind) for name, kind in types.items()})
    if dialect.spaced:
        for i in range(1, dialect.columns):
            if i in text:
                trimmed = pc.utf8_ltrim(table.column(i), " ")
                table = table.set_column(i, names[i], trimmed)
    return table


def _parse_text(path: Path, dialect: Dialect) -> pa.Table:
    """All columns as text; what cannot be read so is a fault, found line by line."""
    try:
        return _parse(path, dialect, set(range(dialect.columns)))
    except pa.ArrowException as error:
        with opened(path) as stream:
            for line, row in rows_of(stream, dialect):
                text = dialect.delimiter.join(row)
                if not _is_utf8(text):
                    raise not_utf8(path, text.encode("utf-8", "surrogateescape"), line) from None
                if len(row) != dialect.columns:
                    must = f"have {dialect.columns} cells, as the others"
                    hint = "Put quotes around cells that contain the delimiter."
                    got = f"{len(row)} ({text[:60]!r})"
                    raise wrong(path, "A row", must, got, hint, line=line) from None
        raise wrong(path, "A table", "be readable as CSV", first_line(error)) from None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _numbers_where_possible(table: pa.Table, text: set[int]) -> pa.Table:
    for i in range(table.num_columns):
        if i not in text:
            with suppress(pa.ArrowInvalid):
                numbers = pc.cast(known_cells(table.column(i)), pa.float64())
                table = table.set_column(i, table.column_names[i], numbers)
    return table


def known_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Trimmed text; null where the cell is empty or a mark of a missing value."""
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)

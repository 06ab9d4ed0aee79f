"""Parquet tables, with ids and labels as the text that a CSV would have had."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from cpgnn.engine.memory import memory_limit, too_large
from cpgnn.engine.text import first_line
from cpgnn.io.address import Place
from cpgnn.io.files import about, arrow_source, opened, wrong

SMALL = 1 << 26
"""Bytes of a file whose text is looked at before it is unpacked; that takes a second at most."""


def is_parquet(path: Path) -> bool:
    """By its ending, or by the bytes that it begins with."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    with opened(path) as stream:
        return stream.read(4) == b"PAR1"


def read_parquet(path: Path) -> pa.Table:
    """The table; a column that pandas adds for an unnamed index is left out.

    A few kilobytes can stand for 10⁹ rows, or for a long text in each of many rows. So the rows are
    counted before any is read, and text is unpacked from its dictionary only if it then fits.
    """
    with opened(path) as stream:
        try:
            source = arrow_source(path, stream)
            file = pq.ParquetFile(source)
            _check_size(path, file.metadata.num_rows * max(1, file.metadata.num_columns) * 8)
            text = [field.name for field in file.schema_arrow if _is_text(field.type)]
            packed = text if source.size() < SMALL else None
            # pq.read_table would take 14 GB for 60,000 columns of one row
            table = pq.ParquetFile(source, read_dictionary=packed).read()
            table.validate(full=True)
            _check_size(path, sum(map(_unpacked, table.columns)))
            names = table.column_names
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, UnicodeError) as error:
            hint = "Write or download it again."
            reason = first_line(error).rpartition("'<Buffer>': ")[2]
            raise wrong(path, "A Parquet file", "be whole", f"'{reason}'", hint) from None
    kept = [i for i, name in enumerate(names) if not name.startswith("__index_level_")]
    if not kept:
        raise wrong(path, "A table", "have at least one column", "none")
    return table.select(kept).replace_schema_metadata(None)


def _check_size(path: Path, needed: int) -> None:
    limit = memory_limit()
    if needed > limit:
        with about(path):
            raise too_large("The table", needed, limit, "Use a part of it, or more memory.")


def _unpacked(column: pa.ChunkedArray) -> int:
    """Bytes of a column once its text stands in every row."""
    if not kinds.is_dictionary(column.type):
        return int(column.nbytes)
    size = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(pc.cast(chunk.dictionary, pa.large_string()))
        size += 4 * len(chunk) + (pc.sum(lengths.take(chunk.indices)).as_py() or 0)
    return size


def _is_text(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def plain_types(
    path: Place, table: pa.Table, *, ids: Sequence[int], numbers: bool, as_text: Collection[int]
) -> pa.Table:
    """Columns `ids` as text; the others as numbers where they are, or all as text."""
    columns = table.columns
    for i, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        if kinds.is_dictionary(field.type):
            column = pc.cast(column, field.type.value_type)
        if i in ids:
            column = _as_ids(path, field.name, column)
        elif numbers and i not in as_text and _is_number(column.type):
            column = pc.cast(column, pa.float64(), safe=False)
        else:
            column = _as_text(path, field.name, column)
        columns[i] = column
    return pa.table(columns, names=table.column_names)


def _as_ids(path: Place, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if not (_is_text(kind) or "view" in str(kind) or kinds.is_integer(kind) or kinds.is_null(kind)):
        hint = "Convert the column to integers or text first."
        raise wrong(path, f"Ids (column {name!r})", "be text or integers", str(kind), hint)
    return pc.fill_null(pc.cast(column, pa.string()), "")


def _as_text(path: Place, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if kinds.is_floating(column.type):  # integers with gaps, as pandas writes them
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        if pc.all(pc.equal(pc.floor(column), column)).as_py() is not False:
            column = pc.cast(column, pa.int64(), safe=False)
    try:
        return pc.fill_null(pc.cast(column, pa.string()), "")
    except pa.ArrowException:
        raise wrong(path, f"Column {name!r}", "be text or numbers", str(column.type)) from None


def _is_number(kind: pa.DataType) -> bool:
    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
    return any(test(kind) for test in tests)

"""Parquet tables, with ids and labels as the text that a CSV would have had."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cpgnn.io.places import first_line, native, opened, wrong

_SUFFIXES = (".parquet", ".pq")


def is_parquet(path: Path) -> bool:
    """By its ending, or by the mark that it begins with."""
    if path.suffix.lower() in _SUFFIXES:
        return True
    with opened(path) as stream:
        return stream.read(4) == b"PAR1"


def read_parquet(
    path: Path,
    *,
    ids: Sequence[int],
    numbers: bool,
    text: Callable[[tuple[str, ...] | None], set[int]] | None = None,
) -> pa.Table:
    """The table, columns `ids` as text; the others as numbers where they are, or all as text.

    A column that pandas adds for an unnamed index is left out.
    """
    with opened(path) as stream:
        try:
            table = pq.read_table(native(path, stream))
            table.validate(full=True)
            names = table.column_names
        except (pa.ArrowException, OSError, UnicodeError) as error:
            hint = "Write or download it again."
            reason = first_line(error).rpartition("'<Buffer>': ")[2]
            raise wrong(path, "A Parquet file", "be whole", f"'{reason}'", hint) from None
    table = table.select(
        [i for i, name in enumerate(names) if not re.match("__index_level_", name)]
    ).replace_schema_metadata(None)
    as_text = text(tuple(table.column_names)) if text else ()
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_dictionary(field.type):
            column = pc.cast(column, field.type.value_type)
        if i in ids:
            column = _as_ids(path, field.name, column)
        elif not numbers or i in as_text or not _is_number(column.type):
            column = _as_text(path, field.name, column)
        else:
            column = pc.cast(column, pa.float64(), safe=False)
        table = table.set_column(i, field.name, column)
    return table


def _as_ids(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_integer(kind) or _is_text(kind) or pa.types.is_null(kind):
        return pc.fill_null(pc.cast(column, pa.string()), "")
    hint = "Convert the column to integers or text first."
    raise wrong(path, f"Ids (column {name!r})", "be text or integers", str(kind), hint)


def _as_text(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):  # integers with gaps, as pandas writes them
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        whole = pc.equal(pc.floor(column), column)
        if pc.all(whole).as_py() is not False:
            column = pc.cast(column, pa.int64(), safe=False)
    try:
        return pc.fill_null(pc.cast(column, pa.string()), "")
    except pa.ArrowException:
        raise wrong(path, f"Column {name!r}", "be text or numbers", str(column.type)) from None


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or "view" in str(kind)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )

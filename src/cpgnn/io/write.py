"""Tables out: CSV or Parquet by the ending, atomically, the same table always the same bytes."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from cpgnn.engine.text import first_line
from cpgnn.errors import must_be
from cpgnn.io.atomic import atomic_write
from cpgnn.io.files import StrPath
from cpgnn.io.presence import TABLES, check_ending

FORMULA = r"^([=+\-@\t\r])"


def write_table(
    path: StrPath, table: pa.Table | pd.DataFrame, *, spreadsheet_safe: bool = False
) -> None:
    """Write `table` to a `.csv` or `.parquet` file; a frame's index is left out.

    CSV: UTF-8, comma, a header, lines that end in a line feed, numbers in the shortest form that
    reads back the same, missing values empty. Text is quoted only if some cell needs it. With
    `spreadsheet_safe`, text in it that a spreadsheet would take for a formula gets a ' in front.
    """
    path = check_ending(path, *TABLES)
    table = _as_table(table)
    with atomic_write(path) as file:
        if path.suffix.lower() == ".parquet":
            pq.write_table(table, file, compression="zstd")
        else:
            _write_csv(table, file, safe=spreadsheet_safe)


def _as_table(table: Any) -> pa.Table:
    if isinstance(table, pd.DataFrame):
        try:
            table = pa.Table.from_pandas(table, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            must = "have one type in each column"
            raise must_be("A table", must, first_line(error)) from None
    if not isinstance(table, pa.Table):
        must = "be a pyarrow Table or a pandas DataFrame"
        raise must_be("A table", must, type(table).__name__)
    return table.replace_schema_metadata(None)


def _write_csv(table: pa.Table, file: Any, *, safe: bool) -> None:
    columns, names = table.columns, table.column_names
    for i, column in enumerate(columns):
        if pa.types.is_dictionary(column.type):
            columns[i] = column = pc.cast(column, column.type.value_type)
        if safe and _is_text(column):
            columns[i] = pc.replace_substring_regex(column, FORMULA, r"'\1")
    table = pa.table(columns, names=[re.sub(FORMULA, r"'\1", n) if safe else n for n in names])
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(table.column_names)
    file.write(head.getvalue().encode())
    text = [column for column in table.columns if _is_text(column)]
    special = (pc.any(pc.match_substring_regex(column, r'[",\r\n]')).as_py() for column in text)
    style = "needed" if any(special) else "none"
    options = pacsv.WriteOptions(include_header=False, quoting_style=style)
    try:
        pacsv.write_csv(table, file, options)
    except pa.ArrowException as error:
        raise must_be("A CSV column", "be text or numbers", first_line(error)) from None


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))

"""Tables of databases: SQLite files (without any extra), DuckDB files, and any SQLAlchemy URL.

Only `SELECT * FROM` one table or view, whose name is compared with the list of them; databases are
opened read-only, and what a file's views could reach outside of it is shut. SQLite counts what a
view computes; DuckDB does not, so of a DuckDB file only what it stores is read.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cpgnn.engine.text import did_you_mean, first_line, listed, shorten
from cpgnn.errors import InputError
from cpgnn.io.address import DUCKDB, Address
from cpgnn.io.files import failed, opened, text_path, wrong

Opened = tuple[tuple[str, ...], Iterator[Sequence[object]], tuple[str, ...]]
"""Names of columns, rows, and what to say."""
LONGEST = 1 << 18
"""Bytes of a cell of SQLite: a view may compute 2,000 of them for one row."""
BATCH = 10_000
STEPS, STEPS_PER_BYTE, TICK = 2_000_000, 20, 10_000
"""Instructions of SQLite that reading may take; a table takes fewer than ten for each byte."""
VECTOR, LARGEST = 2048, 1 << 28
"""Rows that DuckDB unpacks at once, and bytes that they may take."""
SMALL, RATIO, CELL = 1 << 26, 100, 16
"""A table that is larger must not be so many times as large as its file."""
ENDLESS = "A view can run forever: store it as a table."


@contextmanager
def open_table(place: Address) -> Iterator[Opened]:
    file = place.file
    if file is None:
        with _sqlalchemy(place) as found:
            yield found
        return
    with opened(file) as stream:
        is_duckdb = stream.read(12)[8:] == DUCKDB
    with (_duckdb if is_duckdb else _sqlite)(place, file) as found:
        yield found


def choose(
    place: Address, kind: str, names: Sequence[str], *, first: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The table or sheet that the address names; without a name the only one, or the `first`."""
    wanted = place.options.get(kind)
    if wanted is not None and wanted in names:
        return wanted, ()
    if wanted is None and names and (first or len(names) == 1):
        others = f" ({listed(names[1:])} not read)" if names[1:] else ""
        return names[0], (f"{place}: {kind} {names[0]!r} is read{others}.",) if others else ()
    hint = did_you_mean(wanted or "", names) or f"Add ?{kind}=… to the address."
    got = "none" if wanted is None else repr(wanted)
    raise wrong(place, f"The {kind}", f"be one of {listed(names, 12) or 'none'}", got, hint)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def _sqlite(place: Address, file: Path) -> Iterator[Opened]:
    uri = f"file:{quote(os.path.realpath(os.fsencode(file)))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            for setting in ("query_only = 1", "trusted_schema = 0"):
                connection.execute(f"PRAGMA {setting}")
            steps = iter(range((STEPS + STEPS_PER_BYTE * file.stat().st_size) // TICK))
            connection.set_progress_handler(lambda: next(steps, None) is None, TICK)
            kinds = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            listing = f"SELECT name FROM sqlite_master WHERE {kinds} ORDER BY name"
            names = [name for (name,) in connection.execute(listing)]
            name, told = choose(place, "table", names)
            cursor = connection.execute(f"SELECT * FROM {_quoted(name)}")
            yield tuple(column[0] for column in cursor.description), iter(cursor), told
    except (sqlite3.Error, UnicodeError) as error:
        hint = ENDLESS if str(error) == "interrupted" else ""
        got = f"'{first_line(error)}'"
        raise wrong(place, "A database", "be readable by SQLite", got, hint) from None


@contextmanager
def _duckdb(place: Address, file: Path) -> Iterator[Opened]:
    try:
        import duckdb
    except ImportError:
        raise failed(place, "This file needs DuckDB", "Run: pip install 'cpgnn[sql]'") from None
    try:
        with closing(duckdb.connect(text_path(file), read_only=True)) as connection:
            for setting in (
                "temp_directory = ''",
                "memory_limit = '1GB'",
                "threads = 1",
                "enable_external_access = false",
                "lock_configuration = true",
            ):
                connection.execute(f"SET {setting}")
            here = "database_name = current_database() AND schema_name = current_schema()"
            listing = f"SELECT table_name, sql FROM duckdb_tables() WHERE {here} ORDER BY 1"
            made = dict(connection.execute(listing).fetchall())
            if not made:
                hint = "Views are not read: store one with CREATE TABLE … AS FROM the view."
                raise wrong(place, "A DuckDB file", "have a table", "none", hint)
            name, told = choose(place, "table", list(made))
            if "GENERATED ALWAYS AS" in made[name]:
                hint = f"Store it: CREATE TABLE stored AS FROM {_quoted(name)}."
                raise wrong(place, f"Table {shorten(name)}", "compute no column", "one", hint)
            batch = _rows_at_once(place, file, connection, name)
            cursor = connection.execute(f"SELECT * FROM {_quoted(name)}")
            columns = tuple(column[0] for column in cursor.description)
            parts = iter(lambda: cursor.fetchmany(batch), [])
            yield columns, (row for part in parts for row in part), told
    except duckdb.Error as error:
        got = f"'{first_line(error)}'"
        raise wrong(place, "A database", "be readable by DuckDB", got) from None


def _rows_at_once(place: Address, file: Path, connection: Any, name: str) -> int:
    """How many rows of a table may be fetched together; raises if it would not fit into memory."""
    table = _quoted(name)
    described = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
    kinds = {column[0]: str(column[1]) for column in described}
    for column, kind in kinds.items():
        if re.match(r"STRUCT|MAP|UNION|VARIANT", kind) or kind.endswith("]"):
            must, hint = "be text, a number or a date", "Leave the column out of the table."
            raise wrong(place, f"Column {shorten(column)}", must, f"{shorten(kind)}", hint)
    (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    stored = connection.execute(
        f"SELECT column_name, stats FROM pragma_storage_info({_text(name)})"
    )
    lengths = {column: len(kind) for column, kind in kinds.items()}  # an enum's lists its values
    for column, stats in stored.fetchall():
        length = re.search(r"max.string.length\D+(\d+)", str(stats), re.IGNORECASE)
        lengths[column] = max(lengths[column], int(length[1]) if length else 0)
    longest = sum(lengths.values())
    if min(rows, VECTOR) * longest > LARGEST:
        must, got = f"hold at most {LARGEST // VECTOR:,} bytes in a row", f"up to {longest:,}"
        raise wrong(place, f"Table {shorten(name)}", must, got, "Shorten or drop its texts.")
    needed, limit = rows * (CELL * len(kinds) + longest), max(SMALL, RATIO * file.stat().st_size)
    if needed > limit:
        must = f"take at most {limit:,} bytes, {RATIO} times its file"
        raise wrong(place, f"Table {shorten(name)}", must, f"up to {needed:,}")
    return max(1, min(BATCH, LARGEST // 4 // max(1, longest)))


@contextmanager
def _sqlalchemy(place: Address) -> Iterator[Opened]:
    try:
        import sqlalchemy as sql
    except ImportError:
        hint = "Run: pip install 'cpgnn[sql]'"
        raise failed(place, "Databases on servers need SQLAlchemy", hint) from None
    schema = place.options.get("schema")
    try:
        engine = sql.create_engine(place.location)
        with closing(engine.connect()) as connection:
            connection = connection.execution_options(stream_results=True, max_row_buffer=BATCH)
            inspector = sql.inspect(connection)
            names = [*inspector.get_table_names(schema), *inspector.get_view_names(schema)]
            name, told = choose(place, "table", sorted(names))
            table = sql.table(name, schema=schema)
            result = connection.execute(sql.select(sql.text("*")).select_from(table))
            yield tuple(result.keys()), (tuple(row) for row in result), told
    except InputError:
        raise
    except ModuleNotFoundError as error:
        hint = f"It can usually be installed with: pip install {error.name}"
        raise failed(place, f"This database needs the driver {error.name!r}", hint) from None
    except (sql.exc.SQLAlchemyError, ImportError, ValueError) as error:
        got = f"'{first_line(error)}'"
        password = sql_password(place.location)
        got = got.replace(password, "***") if password else got
        raise wrong(place, "A database", "be readable", got, "Check the address.") from None


def sql_password(url: str) -> str:
    """The password in an address, never to be shown."""
    before, at, _ = url.partition("://")[2].rpartition("@")
    return before.partition(":")[2] if at else ""

"""Tables of databases: SQLite files (without any extra), DuckDB files, and any SQLAlchemy URL.

Only `SELECT * FROM` one table or view, whose name is compared with the list of them; databases are
opened read-only, and what a file's views could reach outside of it is shut.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cpgnn.engine.text import did_you_mean, first_line, listed
from cpgnn.errors import InputError
from cpgnn.io.address import DUCKDB, Address
from cpgnn.io.files import failed, opened, wrong

Opened = tuple[tuple[str, ...], Iterator[Sequence[object]], tuple[str, ...]]
"""Names of columns, rows, and what to say."""
LONGEST = 1 << 26
"""Bytes of a cell of SQLite."""
BATCH = 10_000
STEPS, STEPS_PER_BYTE, TICK = 2_000_000, 100, 10_000
"""Instructions of SQLite that reading may take; a table takes fewer than ten for each byte."""
SECONDS, SECONDS_PER_BYTE = 8.0, 1e-6
"""How long a view of DuckDB may take."""
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


@contextmanager
def _sqlite(place: Address, file: Path) -> Iterator[Opened]:
    uri = f"file:{quote(str(file.resolve()))}?mode=ro"
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
        with closing(duckdb.connect(str(file), read_only=True)) as connection:
            for setting in (
                "temp_directory = ''",
                "memory_limit = '1GB'",
                "enable_external_access = false",
                "lock_configuration = true",
            ):
                connection.execute(f"SET {setting}")
            listing = (
                "SELECT table_name, table_type FROM information_schema.tables WHERE "
                "table_catalog = current_database() AND table_schema = current_schema() "
                "ORDER BY table_name"
            )
            kinds = dict(connection.execute(listing).fetchall())
            name, told = choose(place, "table", list(kinds))
            seconds = SECONDS + SECONDS_PER_BYTE * file.stat().st_size
            with _interrupted(connection, seconds if kinds[name] == "VIEW" else 1e6):
                cursor = connection.execute(f"SELECT * FROM {_quoted(name)}")
                columns = tuple(column[0] for column in cursor.description)
                parts = iter(lambda: cursor.fetchmany(BATCH), [])
                yield columns, (row for part in parts for row in part), told
    except duckdb.Error as error:
        hint = ENDLESS if isinstance(error, duckdb.InterruptException) else ""
        got = f"'{first_line(error)}'"
        raise wrong(place, "A database", "be readable by DuckDB", got, hint) from None


@contextmanager
def _interrupted(connection: Any, seconds: float) -> Iterator[None]:
    """Inside, a query that does not answer in so long is given up."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


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
    except (sql.exc.SQLAlchemyError, ImportError, ValueError) as error:
        got = f"'{first_line(error)}'"
        password = sql_password(place.location)
        got = got.replace(password, "***") if password else got
        raise wrong(place, "A database", "be readable", got, "Check the address.") from None


def sql_password(url: str) -> str:
    """The password in an address, never to be shown."""
    before, at, _ = url.partition("://")[2].rpartition("@")
    return before.partition(":")[2] if at else ""

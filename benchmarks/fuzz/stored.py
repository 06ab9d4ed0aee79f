"""Workbooks and databases that are almost right: changed by what writes them, or byte by byte."""

from __future__ import annotations

import io
import random
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
from mutation import mutate_bytes

TABLES = ("edges", "labels", "features")
NAMES = ("a", "x", "", "type", "kind", "split", "\x1b", "weight", "1", "label", "id")
CELLS: tuple[Any, ...] = (
    *(0, -1, 2**62, 1e308, float("inf"), -1e308, None, "", "x", "\x1b", "a" * 5000, "\x00", "a\nb"),
    *(" a", "é", "e\u0301", b"\xff\xfe", b"abc", "=1+1", "1e999", "9" * 400, 0.1, "2020-01-01"),
)
NUMBERED = (
    "WITH RECURSIVE r(a, b) AS (SELECT 1, 2 UNION ALL SELECT a + 1, b FROM r) SELECT * FROM r"
)
VIEWS = (
    *("SELECT 1 AS a, 2 AS b", NUMBERED, f"{NUMBERED} LIMIT 5000", "SELECT * FROM sqlite_master"),
    *("SELECT randomblob(100000000) AS a, zeroblob(500000000) AS b", "SELECT 1 AS a, 2 AS a"),
    "SELECT " + ", ".join(f"hex(zeroblob(30000000)) AS c{i}" for i in range(300)),
    "SELECT 'q' AS a, 'r' AS b UNION ALL SELECT hex(zeroblob(100000)), 'x'",
    "SELECT load_extension('x') AS a, readfile('/etc/passwd') AS b",
    "SELECT printf('%500000000d', 1) AS a, group_concat(hex(zeroblob(90000))) AS b FROM edges_",
)
COLUMNS = (
    *("1e308 AS z, 'nan'::DOUBLE AS y, 'inf'::DOUBLE AS x", "'\x1b[2J' AS z, TIME '10:00' AS y"),
    *("INTERVAL 3 DAYS AS z", "(2::HUGEINT ** 126)::HUGEINT AS z", "12.5::DECIMAL(38, 10) AS z"),
    *(
        "'abc'::BLOB AS z, '101'::BIT AS y",
        "true AS z, uuid() AS y",
        "[1, 2] AS z",
        "{'a': 1} AS z",
    ),
    *("'294247-01-10'::TIMESTAMP AS z, '-infinity'::DATE AS y", "'a'::ENUM('a', 'b') AS type"),
    *("TIMESTAMPTZ '2020-01-01 00:00:00+05' AS z", "'290000-01-01 (BC)'::DATE AS z"),
)
STORED = (
    *(
        "SELECT i AS a, i + 1 AS b FROM range(200000) r(i)",
        "SELECT i AS a, 7 AS b FROM range(0) r(i)",
    ),
    *("SELECT repeat('x', 100000) AS a, 'b' AS b", "SELECT repeat('x', 3000000) AS a, 'b' AS b"),
    *("SELECT repeat('x', 9000) || i AS a, 'b' AS b FROM range(3000) r(i)", "SELECT 1 AS a"),
    *("SELECT NULL AS a, NULL AS b", "SELECT 'a' AS \"\x1b\", 'b' AS b", "SELECT 1 AS a, 2 AS b"),
    "SELECT repeat('x', 1000) AS a, 'b' AS b FROM range(20000)",
)
TAGS = (
    *("", "<v>1e999</v>", "<c r='ZZZZ999' t='n'><v>5</v></c>", "<c r='A99999999'><v>1</v></c>"),
    *(
        "<c t='s'><v>99999</v></c>",
        "<c t='d'><v>x</v></c>",
        "<c t='e'><v>#N/A</v></c>",
        "<f>A1</f>",
    ),
    *("<row r='1048577'/>", "<row r='99999999999'><c r='A1'><v>1</v></c></row>", "<!DOCTYPE x>"),
)
WORDS = (
    *(
        "",
        "-1",
        "1",
        "0",
        "9" * 14,
        "s",
        "n",
        "b",
        "d",
        "e",
        "inlineStr",
        "str",
        "A1",
        "ZZZ1",
        "&#0;",
    ),
    *("A1048577", "1e999", "9" * 400, "x" * 40_000, "-1e-99999999999", "_x001b_", "&lt;b&gt;"),
    *("2958466", "nan", "TRUE", "#DIV/0!", "&#xD800;", "../../../etc/passwd", "rId1", "rId99"),
)


def workbook(tables: dict[str, pd.DataFrame]) -> bytes:
    made = io.BytesIO()
    with pd.ExcelWriter(made) as writer:
        for name, table in tables.items():
            table.to_excel(writer, sheet_name=name, index=False)
    return made.getvalue()


def sqlite_file(tables: dict[str, pd.DataFrame]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.db")
        with closing(sqlite3.connect(path)) as connection:
            for name, table in tables.items():
                table.to_sql(name, connection, index=False)
        return path.read_bytes()


def duckdb_file(tables: dict[str, pd.DataFrame]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.duckdb")
        with closing(duckdb.connect(str(path))) as connection:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        return path.read_bytes()


def mutate_workbook(rng: random.Random, data: bytes) -> bytes:
    """Tags, attributes and texts of its XML; parts gone or in place of others."""
    if rng.random() < 0.15:
        return mutate_bytes(rng, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(parts))
    except Exception:  # an earlier mutation broke the archive
        return mutate_bytes(rng, data)
    match rng.randrange(8):
        case 0:
            del parts[name]
        case 1:
            parts[rng.choice(list(parts))] = parts[name]
        case 2:
            parts[name] = mutate_bytes(rng, parts[name])
        case 3 | 4:
            parts[name] = _other(rng, parts[name], r"(<[^>]+>)", TAGS)
        case 5 | 6:
            parts[name] = _other(rng, parts[name], r'"([^"]*)"', WORDS)
        case _:
            parts[name] = _other(rng, parts[name], r">([^<]+)<", WORDS)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return made.getvalue()


def _other(rng: random.Random, part: bytes, pattern: str, words: tuple[str, ...]) -> bytes:
    text = part.decode("utf-8", "replace")
    found = list(re.finditer(pattern, text))
    if not found:
        return part
    one = rng.choice(found)
    many = one[1] * rng.choice((2, 3, 3000)) if len(one[1]) < 300 else ""
    new = rng.choice((*words, many))
    return (text[: one.start(1)] + new + text[one.end(1) :]).encode()


def mutate_sqlite(rng: random.Random, data: bytes) -> bytes:
    """Other cells, rows, columns, or a view in place of a table."""
    return _changed(rng, data, "x.db", sqlite3.connect, _statements, sqlite3.Error)


def mutate_duckdb(rng: random.Random, data: bytes) -> bytes:
    """Columns of other types, or another table of the name."""

    def statements(rng: random.Random, _: Any) -> list[tuple[str, tuple[Any, ...]]]:
        table = rng.choice(TABLES)
        query = f"SELECT *, {rng.choice(COLUMNS)} FROM {table}"
        query = rng.choice((query, rng.choice(STORED), f"FROM {table} UNION ALL FROM {table}"))
        return [(f"CREATE OR REPLACE TABLE {table} AS {query}", ())]

    return _changed(rng, data, "x.duckdb", duckdb.connect, statements, duckdb.Error)


def _changed(
    rng: random.Random,
    data: bytes,
    name: str,
    connect: Callable[..., Any],
    statements: Callable[..., list[tuple[str, tuple[Any, ...]]]],
    error: type[Exception],
) -> bytes:
    if rng.random() < 0.4:
        return mutate_bytes(rng, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        with suppress(error, UnicodeError), closing(connect(str(path))) as connection:
            for statement, cells in statements(rng, connection):
                connection.execute(statement, cells)
            connection.commit()
        return path.read_bytes() if path.exists() else data


def _statements(rng: random.Random, connection: Any) -> list[tuple[str, tuple[Any, ...]]]:
    table = rng.choice(TABLES)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    column, new = rng.choice(columns or ["a"]), rng.choice(NAMES)
    match rng.randrange(8):
        case 0 | 1:
            where = f"WHERE rowid = {rng.randrange(1, 6)}"
            return [(f'UPDATE {table} SET "{column}" = ? {where}', (rng.choice(CELLS),))]
        case 2:
            return [(f'UPDATE {table} SET "{column}" = ?', (rng.choice(CELLS),))]
        case 3:
            return [(f"INSERT INTO {table} SELECT * FROM {table}", ())]
        case 4:
            return [(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO "{new}"', ())]
        case 5:
            return [(f'ALTER TABLE {table} ADD COLUMN "{new}" DEFAULT 1e999', ())]
        case 6:
            moved = f"ALTER TABLE {table} RENAME TO {table}_"
            return [(moved, ()), (f"CREATE VIEW {table} AS {rng.choice(VIEWS)}", ())]
        case _:
            made = rng.choice(("a", "a, b AS (printf('%500000000d', a))", "a BLOB, b BLOB, c"))
            return [(f"DROP TABLE {table}", ()), (f"CREATE TABLE {table} ({made})", ())]

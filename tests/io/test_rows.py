"""Workbooks and databases are read as the CSV with the same cells."""

from __future__ import annotations

import datetime
import os
import resource
import sqlite3
import sys
import time
import zipfile
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from cpgnn.errors import InputError
from cpgnn.io import databases, read_graph, rows, workbooks
from cpgnn.io.address import Address, locate
from cpgnn.io.headers import HeaderRule

duckdb = pytest.importorskip("duckdb")
openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("sqlalchemy")

EDGES = pd.DataFrame(
    {"source": ["007", "b", "c"], "target": ["b", "c", "007"], "weight": [1, 2.5, 3]}
)
LABELS = pd.DataFrame({"id": ["007", "b", "c"], "label": ["x", "y", None]})
FEATURES = pd.DataFrame(
    {
        "id": ["007", "b", "c"],
        "age": [31, 42, 53],
        "since": pd.to_datetime(["2024-02-29", "2024-03-01", "2023-01-31"]),
        "paid": ["1.234,50 €", "2,00 €", "10,10 €"],
        "active": [True, False, True],
        "colour": ["red", "blue", "red"],
    }
)
TABLES = {"edges": EDGES, "labels": LABELS, "features": FEATURES}


def as_csv(folder):
    for name, table in TABLES.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in TABLES}


def as_book(folder):
    with pd.ExcelWriter(folder / "book.xlsx") as book:
        for name, table in TABLES.items():
            table.to_excel(book, sheet_name=name, index=False)
    return {name: f"{folder}/book.xlsx?sheet={name}" for name in TABLES}


def as_sqlite(folder):
    with closing(sqlite3.connect(folder / "data.db")) as connection:
        for name, table in TABLES.items():
            table.to_sql(name, connection, index=False)
    return {name: f"sqlite:///{folder}/data.db?table={name}" for name in TABLES}


def as_sqlite_file(folder):
    as_sqlite(folder)
    return {name: f"{folder}/data.db?table={name}" for name in TABLES}


def as_duckdb(folder):
    with closing(duckdb.connect(str(folder / "data.duckdb"))) as connection:
        for name, table in TABLES.items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return {name: f"duckdb:///{folder}/data.duckdb?table={name}" for name in TABLES}


def as_url(folder):
    """Through SQLAlchemy, which has SQLite under another name too."""
    as_sqlite(folder)
    return {name: f"sqlite+pysqlite:///{folder}/data.db?table={name}" for name in TABLES}


@pytest.mark.parametrize("made", [as_book, as_sqlite, as_sqlite_file, as_duckdb, as_url])
def test_as_the_csv_with_the_same_cells(tmp_path, made):
    wanted, found = (read_graph(**files(tmp_path)) for files in (as_csv, made))
    assert list(found.graph.node_ids) == list(wanted.graph.node_ids) == ["007", "b", "c"]
    assert found.graph.feature_names == wanted.graph.feature_names
    np.testing.assert_array_equal(found.graph.features, wanted.graph.features)
    np.testing.assert_array_equal(found.graph.labels, wanted.graph.labels)
    np.testing.assert_array_equal(found.graph.adjacency.toarray(), wanted.graph.adjacency.toarray())
    assert any("read as numbers (decimal comma)" in notice for notice in found.graph.notices)


def test_errors_name_the_row_of_the_sheet(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in ([], [], ["source", "target", "weight"], ["a", "b", 1], ["b", "c", -1], [], []):
        sheet.append(row)
    sheet.cell(row=9, column=1, value=" ")
    book.save(tmp_path / "e.xlsx")
    with pytest.raises(InputError, match=r"e\.xlsx, line 5: An edge weight .* Got -1") as caught:
        read_graph(tmp_path / "e.xlsx")
    assert caught.value.line == 5
    sheet["C5"] = 2
    book.create_sheet("notes")
    book.save(tmp_path / "e.xlsx")
    graph = read_graph(tmp_path / "e.xlsx").graph
    assert graph.num_edges == 2
    assert "sheet 'Sheet' is read ('notes' not read)" in graph.notices[0]


def test_dressed_cells_of_a_sheet(tmp_path):
    """Cells as they are stored: numbers, dates, truth, errors, nothing."""
    stored = [
        (5, "5"),
        (5.0, "5"),
        (5.25, "5.25"),
        (True, "true"),
        (datetime.datetime(2024, 2, 29), "2024-02-29"),
        (datetime.datetime(2024, 2, 29, 13, 5), "2024-02-29 13:05:00"),
        (datetime.time(14, 35), "14:35:00"),
        ("007", "007"),
        ("#N/A", "#N/A"),
        (None, ""),
        (b"\x01\xff", "01ff"),
    ]
    assert [rows.as_text(value) for value, _ in stored] == [text for _, text in stored]


def database(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def test_which_table(tmp_path):
    only = database(tmp_path / "one.db", "CREATE TABLE e (s, t)", "INSERT INTO e VALUES ('a', 'b')")
    assert read_graph(only).graph.num_edges == 1
    two = database(tmp_path / "two.db", "CREATE TABLE e (s, t)", "CREATE TABLE f (s, t)")
    with pytest.raises(InputError, match=r"table must be one of 'e', 'f'. Got none. Add \?table=…"):
        read_graph(two)
    with pytest.raises(InputError, match=r"one of 'e', 'f'. Got 'E; DROP TABLE e'"):
        read_graph(f"{two}?table=E; DROP TABLE e")
    odd = database(tmp_path / "odd.db", 'CREATE TABLE "a ""b""; --" (s, t)',
                   "INSERT INTO \"a \"\"b\"\"; --\" VALUES ('x', 'y')")  # fmt: skip
    assert read_graph(f'{odd}?table=a%20"b"%3B%20--').graph.num_edges == 1


def test_nothing_is_written(tmp_path):
    path = database(tmp_path / "one.db", "CREATE TABLE e (s, t)", "INSERT INTO e VALUES (1, 2)")
    before = path.read_bytes(), sorted(tmp_path.iterdir())
    read_graph(path)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


STORED = {
    "a view": ("CREATE VIEW e AS SELECT 1 AS s, 2 AS t", "must have a table. Got none. Views are"),
    "a view outside": ("CREATE VIEW e AS SELECT * FROM '{secret}'", "must have a table"),
    "a column that is computed": (
        "CREATE TABLE e (s INT, t VARCHAR GENERATED ALWAYS AS (repeat('x', s)))",
        "Table 'e' must compute no column",
    ),
    "a list": ("CREATE TABLE e AS SELECT [1, 2] AS s, 3 AS t", "Column 's' must be text, a number"),
    "a struct": ("CREATE TABLE e AS SELECT 3 AS s, {{'a': 1}} AS t", "Column 't' must be text"),
    "a long cell": (
        "CREATE TABLE e AS SELECT repeat('x', 5000000) AS s, 'b' AS t",
        "must hold at most 2,048 bytes in a row. Got up to 5,000,0",
    ),
    "many long cells": (
        "CREATE TABLE e AS SELECT repeat('x', 1000) AS s, 'b' AS t FROM range(2000)",
        "must take at most .* bytes, 2 times its file. Got up to 2,0",
    ),
    "many rows": (
        "CREATE TABLE e AS SELECT 1 AS s, 2 AS t FROM range(50000)",
        "must take at most .* bytes, 2 times its file. Got up to 2,",
    ),
}


@pytest.mark.parametrize("case", STORED)
def test_only_what_duckdb_stores_is_read_and_only_if_it_fits(tmp_path, monkeypatch, case):
    for name, smaller in (("LARGEST", 1 << 22), ("SMALL", 1 << 18), ("RATIO", 2)):
        monkeypatch.setattr(databases, name, smaller)
    made, words = STORED[case]
    (tmp_path / "secret.csv").write_text("a,b\n")
    with closing(duckdb.connect(str(tmp_path / "d.duckdb"))) as connection:
        connection.execute(made.format(secret=tmp_path / "secret.csv"))
    with pytest.raises(InputError, match=words) as caught:
        read_graph(tmp_path / "d.duckdb")
    assert str(caught.value).startswith(str(tmp_path / "d.duckdb"))


def test_plain_types_of_duckdb(tmp_path):
    made = "SELECT 'p'::ENUM('p', 'q') AS s, range::HUGEINT AS t, 2.5::DECIMAL(10, 2) AS weight"
    with closing(duckdb.connect(str(tmp_path / "d.duckdb"))) as connection:
        connection.execute(f"CREATE TABLE e AS {made} FROM range(3)")
    graph = read_graph(tmp_path / "d.duckdb").graph
    assert list(graph.node_ids) == ["p", "0", "1", "2"]
    assert graph.adjacency.toarray()[0].tolist() == [0, 2.5, 2.5, 2.5]


COUNTED = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, x FROM c"


@pytest.mark.parametrize("view", [COUNTED, f"{COUNTED} WHERE x < 0"])
def test_a_view_without_end(tmp_path, monkeypatch, view):
    monkeypatch.setattr(databases, "STEPS", 100_000)
    database(tmp_path / "s.db", f"CREATE VIEW e (s, t) AS {view}")
    with pytest.raises(InputError, match=r"s\.db: .* A view can run forever"):
        read_graph(tmp_path / "s.db")


def test_a_view_without_end_in_a_larger_file(tmp_path):
    database(tmp_path / "s.db", f"CREATE VIEW e (s, t) AS {COUNTED}")
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute("CREATE TABLE big AS SELECT zeroblob(400000) AS b")
        connection.commit()
    start = time.process_time()
    with pytest.raises(InputError, match="A view can run forever"):
        read_graph(f"sqlite:///{tmp_path}/s.db?table=e")
    assert time.process_time() - start < 10


def test_a_view_of_many_long_cells(tmp_path):
    """3 MB by themselves, and as many as a table may have: not one of them is computed."""
    cells = ", ".join(f"hex(zeroblob(1500000)) AS c{i}" for i in range(2000))
    database(tmp_path / "s.db", f"CREATE VIEW e AS SELECT {cells}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="too big"):
        read_graph(tmp_path / "s.db")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 19  # kB


def test_a_row_with_a_number_beyond_excel(tmp_path, monkeypatch):
    """Up to which openpyxl would hand out blank rows, for hours."""
    monkeypatch.setattr(workbooks, "MOST_ROWS", 1000)
    book = openpyxl.Workbook()
    for row in ("source", "target"), ("a", "b"), ("b", "c"):
        book.active.append(row)
    book.save(tmp_path / "good.xlsx")
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good:
        parts = {name: good.read(name) for name in good.namelist()}
    for number in (b"1000", b"999999999", b"9" * 400):
        with zipfile.ZipFile(tmp_path / "e.xlsx", "w") as bad:
            for name, part in parts.items():
                changed = part.replace(b'r="3"', b'r="' + number + b'"') if name == sheet else part
                bad.writestr(name, changed)
        if number == b"1000":  # the last that there can be: nothing is kept of those between
            rule = HeaderRule(ids=(0, 1), numbers=True, header=True, names=())
            found = rows.read_rows(locate(tmp_path / "e.xlsx"), rule)
            assert (found.table.num_rows, found.lines) == (2, [2, 1000])
            continue
        with pytest.raises(InputError, match=r"e\.xlsx: A sheet must have at most 1,000 rows"):
            read_graph(tmp_path / "e.xlsx")


def test_an_address_with_a_driver_makes_no_file(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_graph(f"sqlite+pysqlite:///{tmp_path}/new.db?table=e")
    assert not [*tmp_path.iterdir()]


BAD = {
    "no book": ("b.xlsx", b"no zip", "must be a whole '.xlsx' file"),
    "old book": ("b.xls", b"\xd0\xcf\x11\xe0", "must be '.xlsx'. Got '.xls'"),
    "no database": ("d.db?table=e", b"SQLite format 3\x00 but no more", "readable by SQLite"),
    "no duck": ("d.duckdb", b"12345678DUCK but no more", "readable by DuckDB"),
    "missing": ("none.db?table=e", None, "No such file"),
    "missing book": ("none.xlsx", None, "No such file"),
    "unknown server": ("nosuch://user:secret@host/x?table=e", None, "must be readable"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_places(tmp_path, monkeypatch, case):
    name, content, words = BAD[case]
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name.partition("?")[0]).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_graph(name)
    assert "secret" not in str(caught.value)


def test_large_tables_are_refused_before_they_are_built(tmp_path, monkeypatch):
    files = as_sqlite(tmp_path)
    monkeypatch.setattr(rows, "memory_limit", lambda: 100)
    with pytest.raises(InputError, match=r"must take at most 100 bytes. Got more"):
        read_graph(files["edges"])
    as_book(tmp_path)
    monkeypatch.setattr(workbooks, "memory_limit", lambda: 8000)
    monkeypatch.setattr("openpyxl.load_workbook", None)  # never reached
    with pytest.raises(InputError, match=r"must unpack to at most 1,000 bytes. Got"):
        read_graph(tmp_path / "book.xlsx")


def test_a_book_with_a_document_type_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", '<!DOCTYPE x [<!ENTITY e "boom">]><workbook/>')
    with pytest.raises(InputError, match="must have no document type"):
        read_graph(tmp_path / "b.xlsx")


def test_a_small_book_does_not_unpack_to_a_large_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (workbooks.SMALL + 1))
    with pytest.raises(InputError, match="must unpack to at most"):
        read_graph(tmp_path / "b.xlsx")


def test_a_book_whose_packing_is_broken(tmp_path):
    as_book(tmp_path)
    path = tmp_path / "book.xlsx"
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("xl/workbook.xml").header_offset + 60
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"book\.xlsx: A workbook must be"):
        read_graph(path)


def test_a_database_whose_driver_is_not_there(tmp_path):
    pytest.importorskip("sqlalchemy")
    with pytest.raises(
        InputError, match=r"the driver '\w+'\. It can usually be installed with: pip install"
    ):
        read_graph("oracle://me:secret@localhost/bank?table=payments")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 there")
@pytest.mark.parametrize("name", ["edges.csv", "edges.parquet", "book.xlsx", "data.db"])
def test_a_path_that_is_not_utf8(tmp_path, name):
    for make in (as_csv, as_book, as_sqlite):
        make(tmp_path)
    EDGES.to_parquet(tmp_path / "edges.parquet")
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff" + name.encode())
    os.rename(tmp_path / name, odd)
    table = {"book.xlsx": "?sheet=edges", "data.db": "?table=edges"}.get(name, "")
    assert list(read_graph(odd + table).graph.node_ids) == ["007", "b", "c"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 there")
def test_duckdb_takes_no_path_that_is_not_utf8(tmp_path):
    as_duckdb(tmp_path)
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.duckdb")
    os.rename(tmp_path / "data.duckdb", odd)
    with pytest.raises(InputError, match="The path must be UTF-8") as caught:
        read_graph(f"{odd}?table=edges")
    assert str(caught.value).isprintable()


def test_the_name_of_a_sheet_is_shown_as_it_was_typed():
    for name in ("Käufe 2024", "50 %", "A&B", "a+b", "x=y"):
        place = Address("book.xlsx", {"sheet": name})
        assert locate(str(place)) == place
    assert str(locate("b.xlsx?sheet=Käufe 2024")) == "b.xlsx?sheet=Käufe 2024"
    assert str(locate("b.xlsx?sheet=A%26B")) == "b.xlsx?sheet=A%26B"

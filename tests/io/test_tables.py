"""Tables: delimiters, headers, ids as written, numbers and text."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpgnn.io.tables import TableFile, read_table


def rows(file: TableFile) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in file.table.columns), strict=True))


def edges(path, **options) -> TableFile:
    return read_table(path, ids=(0, 1), numbers=True, **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "a,b\nc,d\n"),
        ("e.csv", "a,b\r\nc,d"),
        ("e.csv", "a,b\rc,d\r"),
        ("e.csv", "\n\na,b\n\nc,d\n\n"),
        ("e.csv", "\ufeffa,b\nc,d\n"),
        ("e.csv", "a, b\nc, d\n"),
        ("e.csv", '"a","b"\nc,"d"\n'),
        ("e.csv", "a;b\nc;d\n"),
        ("e.tsv", "a\tb\nc\td\n"),
        ("e.txt", "a b\nc d\n"),
        ("e.txt", "  a   b\nc \t d  \n \n"),
        ("e.txt", '"a"  b\n c   "d"\n'),
        ("e.csv.gz", "a,b\nc,d\n"),
        ("e.tsv.gz", "a\tb\nc\td\n"),
        ("e.txt", "# a comment\n# Nodes: 4\na b\nc d\n"),
        ("e.txt", "%%KONECT\n% sym\na b\nc d\n"),
        ("e.txt", "#Nodes 4 Edges 2\na b\nc d\n"),
        ("e.csv", "source,target\na,b\nc,d\n"),
        ("e.csv.gz", "\ufeffSource,Target\r\na,b\r\nc,d\r\n"),
        ("e.txt", "# SNAP\n# FromNodeId ToNodeId\na b\nc d\n"),
    ],
)
def test_every_way_to_write_two_edges(put, name, content):
    assert rows(edges(put(name, content))) == [("a", "b"), ("c", "d")]


def test_ids_are_exactly_as_written(put):
    path = put("e.csv", "007,7\nNA,null\n1.0,1e5\n nan ,é\n'x','\"'\n,TRUE\n")
    ids = [("007", "7"), ("NA", "null"), ("1.0", "1e5"), (" nan ", "é"), ("'x'", "'\"'")]
    assert rows(edges(path, header=False)) == [*ids, ("", "TRUE")]


def test_quotes_keep_delimiters_and_blanks(put):
    assert rows(edges(put("e.csv", '"a,b",c\n"d ""e""",f\n'))) == [("a,b", "c"), ('d "e"', "f")]
    assert rows(edges(put("e.txt", '"a  b"   c\nd e\n'))) == [("a  b", "c"), ("d", "e")]


def test_blanks_inside_cells_are_no_delimiter(put):
    content = "New York,Los Angeles\nNew Jersey,San Diego\n"
    assert rows(edges(put("e.csv", content)))[0] == ("New York", "Los Angeles")


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("source,target\nalice,bob\n", True),
        ("SRC,Dst,w\nalice,bob,2\n", True),
        ("From Node-ID,To Node-ID\nalice,bob\n", True),
        ("people,things\n1,2\n3,4\n", True),  # numbers below, none above
        ("alice,bob,strength\nalice,bob,2\n", True),
        ("alice,bob\ncarol,dan\n", False),  # could be either: data
        ("alice,bob\nsource,target\n", False),
        ("u,v\nv,w\nw,u\n", False),  # a triangle of letters
        ("from,to\nto,and\nfrom,the\n", False),  # a graph of words
        ("alice,7\n8,9\n10,11\n", False),  # ids of both kinds
        ("source,target,0.5\na,b,1\n", False),
        ("1,2\n3,4\n", False),
        ("source,alice\nbob,carol\n", False),
        ("#a,#b\n#b,#c\n", False),  # hashtags are no comments
    ],
)
def test_the_header_rule_for_edges(put, content, header):
    file = edges(put("e.csv", content))
    assert (file.header is not None) is header
    assert file.table.num_rows == content.count("\n") - header


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("id,age\na,1\n", True),
        ("id,2023,2024\na,1,2\n", True),
        (",x,y\na,1,2\n", True),  # pandas writes an index so
        ("a,NA\nb,1\n", False),
        ("a,1\nb,2\n", False),
        ("5,old\n6,1\n7,2\n", False),
    ],
)
def test_the_header_rule_for_features(put, content, header):
    file = read_table(put("f.csv", content), numbers=True)
    assert (file.header is not None) is header


def test_the_caller_decides_about_the_header(put):
    path = put("e.csv", "alice,bob\ncarol,dan\n")
    assert rows(edges(path, header=True)) == [("carol", "dan")]
    assert edges(path, header=True).header == ("alice", "bob")
    path = put("e.csv", "source,target\na,b\n")
    assert rows(edges(path, header=False))[0] == ("source", "target")


def test_doubtful_headers_and_comments_are_announced(put):
    notices = edges(put("e.csv", "# x\nu,v\na,b\n")).notices
    assert "1 comment line" in notices[0]
    assert "line 2 (u, v) was read as a header" in notices[1]
    assert edges(put("e.csv", "source,target\na,b\n")).notices == ()


def test_numbers_missing_cells_and_text(put):
    path = put("f.csv", "id,x,y,z\na,1,NA,u\nb, +2.5 ,,v\nc,1e3,nan,3\n")
    file = read_table(path, numbers=True)
    assert rows(file) == [("a", 1, None, "u"), ("b", 2.5, None, "v"), ("c", 1000, None, "3")]


def test_lines_are_counted_as_an_editor_does(put):
    path = put("e.csv", '# one\n\nsource,target\na,b\n\n"c\nc",d\ne,f\n')
    file = edges(path)
    assert [file.place(row) for row in range(3)] == ["line 4", "line 6", "line 8"]


def test_parquet_ids_labels_and_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "id": pa.array([7, 2**40], pa.int64()),
            "word": pa.array(["a", None]).dictionary_encode(),
            "x": pa.array([1, None], pa.int32()),
            "flag": [True, False],
            "__index_level_0__": [0, 1],
        }
    )
    pq.write_table(table, path)
    expected = [("7", "a", 1.0, 1.0), (str(2**40), "", None, 0.0)]
    assert rows(read_table(path, numbers=True)) == expected
    assert rows(read_table(path)) == [("7", "a", "1", "true"), (str(2**40), "", "", "false")]
    other = path.rename(tmp_path / "t.dat")
    assert rows(read_table(other, numbers=True)) == expected


def test_long_and_wide_tables(put):
    wide = "id," + ",".join(f"f{i}" for i in range(3000)) + "\n"
    wide += "".join(f"n{i}," + ",".join(["0.25"] * 3000) + "\n" for i in range(20))
    assert read_table(put("w.csv", wide), numbers=True).table.shape == (20, 3001)
    long = "".join(f"n{i}   m{i}\n" for i in range(400_000))  # more than one block
    table = edges(put("l.txt", long)).table
    assert table.shape == (400_000, 2)
    assert table.column(1)[-1].as_py() == "m399999"


def test_a_process_that_ends_right_after_reading_ends_well(tmp_path):
    """pyarrow's threads must not be inside a Python stream when the interpreter goes."""
    path = tmp_path / "edges.csv"
    path.write_text("source,target,time,amount\nx,y,3,4\n")
    code = (
        "import sys, torch, cpgnn.io\n"
        "try: cpgnn.io.read_graph(sys.argv[1])\n"
        "except ValueError: pass"
    )
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True)
        assert done.returncode == 0, done.stderr

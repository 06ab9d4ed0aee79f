"""Sizes are known before memory is taken: by files that claim much, and by ones that hold much."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cpgnn.engine import memory
from cpgnn.errors import InputError
from cpgnn.io import read_graph


def sparse(columns):
    def write(folder):
        np.savez(
            folder / "g.npz",
            edge_index=np.array([[0], [1]]),
            features_data=np.ones(2),
            features_indices=np.array([0, 1]),
            features_indptr=np.array([0, 1, 2]),
            features_shape=np.array([2, columns]),
        )
        return folder / "g.npz"

    return write


def lying(**parts):
    def write(folder):
        arrays = {"data": np.ones(2), "indices": np.arange(2), "indptr": np.arange(3)}
        arrays |= {"shape": np.array([2, 2]), **parts}
        features = {f"features_{part}": array for part, array in arrays.items()}
        np.savez(folder / "g.npz", edge_index=np.array([[0], [1]]), **features)
        return folder / "g.npz"

    return write


def rows(folder):
    """2·10⁷ rows in a few kilobytes."""
    zeros = np.zeros(10_000_000, np.int64)
    table = pa.table({"source": zeros, "target": zeros})
    with pq.ParquetWriter(folder / "e.parquet", table.schema) as file:
        for _ in range(2):
            file.write_table(table, row_group_size=10_000_000)
    assert (folder / "e.parquet").stat().st_size < 200_000
    return folder / "e.parquet"


def long_text(folder):
    """A text of 100 kB in each of a million rows: 11 kB."""
    text = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"source": text, "target": text}), folder / "e.parquet")
    return folder / "e.parquet"


def graphml(nodes, keys, default="0"):
    """Keys with a default: a cell for every node, without a word about it."""

    def write(folder):
        kind = "for='node' attr.type='double'"
        named = (f"<key id='k{i}' {kind} attr.name='f{i}'>" for i in range(keys))
        given = "".join(f"{key}<default>{default}</default></key>" for key in named)
        every = "".join(f"<node id='{i}'/>" for i in range(nodes))
        text = f"<graphml>{given}<graph>{every}</graph></graphml>"
        (folder / "g.graphml").write_text(text)
        return folder / "g.graphml"

    return write


def long_tag(folder):
    """A tag of 4 MB: every part read of it used to be read from its beginning."""
    given = " ".join(f"a{i}='1'" for i in range(300_000))
    (folder / "g.graphml").write_text(f"<graphml><graph><edge {given}/></graph></graphml>")
    return folder / "g.graphml"


def packed(folder):
    """80 MB of lines in 80 kB."""
    (folder / "e.csv.gz").write_bytes(gzip.compress(b"a,b\n" * (1 << 17), 9) * 160)
    return folder / "e.csv.gz"


def text(content):
    def write(folder):
        (folder / "e.csv").write_bytes(content)
        return folder / "e.csv"

    return write


CASES = {
    "10⁹ columns": (sparse(10**9), "Training on 1,000,000,000 features must fit into"),
    "3·10⁷ columns": (sparse(3 * 10**7), "Training on 30,000,000 features must fit into"),
    "2⁶² columns": (sparse(2**62), "features must fit into|well-formed CSR"),
    "10⁹ rows": (lying(shape=np.array([10**9, 2])), "well-formed CSR"),
    "2⁶² rows": (lying(shape=np.array([2**62, 2])), "well-formed CSR"),
    "rows below 0": (lying(shape=np.array([-1, 2])), "well-formed CSR"),
    "three sides": (lying(shape=np.array([2, 2, 2])), "well-formed CSR"),
    "far pointers": (lying(indptr=np.array([0, 2**62, 2])), "well-formed CSR"),
    "no columns": (lying(shape=np.array([2, 0])), "well-formed CSR|at least one"),
    "many rows of Parquet": (rows, "The table must fit into .* Got 0.3 GB"),
    "long text in Parquet": (long_text, "The table must fit into .* Got 200.0 GB"),
    "keys of GraphML": (graphml(20_000, 2_000), "every node and edge must fit"),
    "a long default of GraphML": (graphml(20_000, 1, "7" * 99_999), "every node and edge must fit"),
    "a long tag of GraphML": (long_tag, "<edge> must have 'source'"),
    "many lines in gzip": (packed, "must unpack to at most 67,108,864 bytes"),
    "one long line": (text(b"a," * 5_000_000), "A line must have at most 4,194,304 bytes"),
    "many columns": (text(b"a," * 150_000 + b"b\n"), "must have at most 50,000 columns"),
    "an open quotation mark": (
        text(b"a,b\n" * 500 + b'a,"' + b"x,y\n" * 100_000),
        "A cell must have at most 131,072 bytes",
    ),
    "a number without an end": (text(b"b\tc\t" + b"9" * 204_000 + b"'"), "at most 131,072 bytes"),
    "many blank rows": (text(b"a,b\n" + b",\n" * 300_000 + b"a,\x01\n"), "no control|binary"),
    "NUL far down": (text(b"a,b\n" * 400_000 + b"a,c\x00d\n"), "line 400001.* no control char"),
}


@pytest.fixture(autouse=True)
def _a_machine_of_half_a_gigabyte(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 17}
    monkeypatch.setattr(memory.os, "sysconf", sizes.get)


@pytest.mark.parametrize("case", CASES)
def test_refused_by_name(tmp_path, case):
    write, words = CASES[case]
    path = write(tmp_path)
    start = time.process_time()
    with pytest.raises(InputError, match=words) as caught:
        read_graph(path)
    assert str(path) in str(caught.value)
    assert time.process_time() - start < 5


def test_long_cells_are_no_numbers_and_cost_little(tmp_path):
    """Patterns that try every place where a number could end take the square of its length."""
    (tmp_path / "e.csv").write_text("a,b\nb,c\nc,d\n")
    longs = [f"{digit * 100_000}x," for digit in ("9", "1,", "1 ")]
    rows = "".join(f'{node},"{cell}"\n' for node, cell in zip("abcd", [*longs, "1"], strict=True))
    (tmp_path / "f.csv").write_text(f"id,f\n{rows}")
    start = time.process_time()
    with pytest.raises(InputError, match=r"f\.csv"):
        read_graph(tmp_path / "e.csv", None, tmp_path / "f.csv")
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "line", ["\t" * 1_000_000, ";" * 1_000_000, "\t " * 500_000, " " * 1_000_000]
)
def test_a_line_of_blanks_and_delimiters_costs_little(tmp_path, line):
    """A pattern read a line of tabs anew from each of them: minutes for a megabyte."""
    (tmp_path / "e.csv").write_text(f'a,b\n{line}x"\nb,c\n')
    start = time.process_time()
    with pytest.raises(InputError, match=r"e\.csv"):
        read_graph(tmp_path / "e.csv")
    assert time.process_time() - start < 5


def test_a_line_of_cells_that_are_nearly_numbers_costs_little(tmp_path):
    """A pattern that could split digits anywhere took the square of their number for each cell."""
    row = "\t".join([f"{'9' * 900}x"] * 3000)
    (tmp_path / "e.csv").write_text(f"{row}\n{row}\n")
    start = time.process_time()
    with pytest.raises(InputError, match=r"e\.csv"):
        read_graph(tmp_path / "e.csv")
    assert time.process_time() - start < 5


@pytest.mark.parametrize("cell", ["labM-ebe1.1e400", "1.1 x", "3/x5", "12:x1"])
def test_hundreds_of_columns_that_are_nearly_dates(tmp_path, cell):
    """Each was tried in a hundred formats: half a minute for 1,000 columns."""
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    rows = "".join(f"{node}{f',{cell}{node}' * 300}\n" for node in "abc")
    (tmp_path / "f.csv").write_text(rows)
    start = time.process_time()
    with pytest.raises(InputError, match="Features must have a column of numbers or categories"):
        read_graph(tmp_path / "e.csv", None, tmp_path / "f.csv", one_hot=True)
    assert time.process_time() - start < 8


def test_features_that_are_no_numbers(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n")
    (tmp_path / "f.csv").write_text("".join(f"{node}{',x' * 3000}\n" for node in "ab"))
    with pytest.raises(InputError, match=r"at most 1,000 columns of text\. Got 3,000"):
        read_graph(tmp_path / "e.csv", None, tmp_path / "f.csv", one_hot=True)


def test_classes_that_are_ids(tmp_path):
    names = "".join(f"n{i},n{i}\n" for i in range(100_000))
    (tmp_path / "e.csv").write_text("a,b\n" + names)
    (tmp_path / "l.csv").write_text("id,label\n" + names)
    with pytest.raises(InputError, match=r"l\.csv: Training with 100,000 classes must fit into"):
        read_graph(tmp_path / "e.csv", tmp_path / "l.csv")


def test_the_limit_is_that_of_the_process(monkeypatch, tmp_path):
    assert memory.memory_limit() == 1 << 28
    (tmp_path / "max").write_text("1000000\n")
    monkeypatch.setattr(memory, "CGROUP", tmp_path / "max")
    assert memory.memory_limit() == 500_000
    (tmp_path / "max").write_text("max\n")
    monkeypatch.setattr(memory, "address_space", lambda: 3 << 20)
    assert memory.memory_limit() == 3 << 19


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_features_in_place_of_edges(tmp_path, ending):
    """Every two of 2,000 columns share values as ends of edges do; trying them took a minute."""
    names = [f"f{i}" for i in range(2000)]
    table = pa.table({name: np.array([0, 7, 3, 7, 0]) for name in names})
    path = tmp_path / f"features.{ending}"
    (pq.write_table if ending == "parquet" else pacsv.write_csv)(table, path)
    before = time.process_time()
    with pytest.raises(InputError, match=r"Edges must have 2 or 3 columns.* Got 2000"):
        read_graph(path)
    assert time.process_time() - before < 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such measure")
def test_many_columns_of_parquet_in_one_thread(tmp_path):
    """pyarrow's read_table took 1.8 GB for 20,000 columns of one row, and the square of more."""
    wide = {"id": ["a"], **{f"f{i}": [1.0] for i in range(20_000)}}
    pq.write_table(pa.table(wide), tmp_path / "f.parquet")
    code = "import pathlib; from cpgnn.io.parquet import read_parquet\n"
    code += "print(read_parquet(pathlib.Path('f.parquet')).num_columns)\n"
    # Not getrusage: what it says of a child is never below what its parent holds.
    code += "print(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, cwd=tmp_path, env=one, capture_output=True, check=True).stdout
    columns, peak = map(int, said.split())
    assert columns == 20_001
    assert peak < 1_000_000


@pytest.mark.parametrize("role", ["edges", "labels", "features"])
def test_parquet_without_a_column(tmp_path, role):
    files = {name: tmp_path / f"{name}.parquet" for name in ("edges", "labels", "features")}
    pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"]}), files["edges"])
    for name in ("labels", "features"):
        pq.write_table(pa.table({"id": ["a", "b"], "label": ["x", "y"]}), files[name])
    pq.write_table(pa.table({}), files[role])
    with pytest.raises(
        InputError, match=rf"{role}\.parquet: A table must have at least one column"
    ):
        read_graph(**files, one_hot=True)

"""Tables out: the format by the ending, the same bytes every time, readable again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_table, write_table


def test_csv_is_plain_where_it_can_be(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["007", "é", ""],
            "n": [1, 2, 3],
            "p_a,b": np.array([0.1, 1 / 3, 1], dtype=np.float32),
            "x": [0.1, np.nan, 1e-300],
            "kind": pd.Categorical(["u", "v", "u"]),
        },
        index=[5, 6, 7],
    )
    write_table(tmp_path / "t.csv", frame)
    expected = 'id,n,"p_a,b",x,kind\n007,1,0.1,0.1,u\né,2,0.33333334,,v\n,3,1,1e-300,u\n'
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == expected


def test_csv_is_quoted_where_it_must_be(tmp_path):
    table = pa.table({"id": ['say "hi"', "a,b", "c"], "n": [1, 2, None]})
    write_table(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_text() == 'id,n\n"say ""hi""",1\n"a,b",2\n"c",\n'
    back = read_table(tmp_path / "t.csv", header=True).table
    assert back.column(0).to_pylist() == table.column("id").to_pylist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_same_table_gives_the_same_bytes(tmp_path, ending):
    frame = pd.DataFrame({"id": [f"n{i}" for i in range(999)], "p": np.linspace(0, 1, 999)})
    write_table(tmp_path / f"a.{ending}", frame)
    write_table(tmp_path / f"b.{ending}", pa.Table.from_pandas(frame))
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_parquet_keeps_types(tmp_path):
    table = pa.table({"id": ["007"], "p": pa.array([0.5], pa.float32())})
    write_table(tmp_path / "t.parquet", table)
    assert pa.parquet.read_table(tmp_path / "t.parquet").schema == table.schema


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        ("t.xlsx", pa.table({"a": [1]}), "must be '.csv' or '.parquet'. Got '.xlsx'"),
        ("t", pa.table({"a": [1]}), "must be '.csv' or '.parquet'. Got 't'"),
        ("t.csv", [1, 2], "must be a pyarrow Table or a pandas DataFrame. Got list"),
        ("t.csv", pd.DataFrame({"a": [1, "x"]}), "must have one type in each column"),
        ("t.csv", pa.table({"a": [[1]]}), "must be text or numbers"),
        ("no/t.csv", pa.table({"a": [1]}), "Cannot write here"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, table, words):
    with pytest.raises(InputError, match=words):
        write_table(tmp_path / name, table)
    assert list(tmp_path.iterdir()) == []

"""Node ids from a table: the column that is called so, or the first."""

from __future__ import annotations

import pandas as pd
import pytest

from cpgnn.errors import InputError
from cpgnn.io.ids import read_node_ids

CASES = {
    "one column": ("007\n042\n", ["007", "042"]),
    "a header": ("id\n007\n042\n", ["007", "042"]),
    "another first column": ("rank,id,p_x\n1,007,0.5\n2,042,0.25\n", ["007", "042"]),
    "one node": ("007\n", ["007"]),
}


@pytest.mark.parametrize("case", CASES)
def test_reads(case, tmp_path):
    content, ids = CASES[case]
    (tmp_path / "nodes.csv").write_text(content)
    assert read_node_ids(tmp_path / "nodes.csv") == ids


def test_reads_parquet(tmp_path):
    pd.DataFrame({"id": ["007", "042"]}).to_parquet(tmp_path / "nodes.parquet")
    assert read_node_ids(tmp_path / "nodes.parquet") == ["007", "042"]


def test_empty_and_missing(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=r"empty\.csv"):
        read_node_ids(tmp_path / "empty.csv")
    (tmp_path / "header.csv").write_text("id\n")
    with pytest.raises(InputError, match=r"header\.csv"):
        read_node_ids(tmp_path / "header.csv")
    with pytest.raises(InputError, match=r"nowhere\.csv: No such file"):
        read_node_ids(tmp_path / "nowhere.csv")

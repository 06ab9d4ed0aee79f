"""All problems of all files in one error: the widest first, at most twenty lines, then a count."""

from __future__ import annotations

import re

import pytest

from cpgnn.errors import InputError
from cpgnn.io import FeatureColumns, read_graph

EDGES = "a,b\nb,c\nc,a\n"


def lines_of(error: InputError) -> list[str]:
    first, *lines = str(error).split("\n- ")
    assert first == f"There are {announced(error):,} problems."
    return lines


def announced(error: InputError) -> int:
    return int(re.match(r"There are ([\d,]+) problems", str(error))[1].replace(",", ""))


def test_all_files_at_once(put):
    edges = put("e.csv", "source,target,weight\na,b,1\nb,c,-1\n,c,2\nc,a,inf\n")
    labels = put("l.csv", "id,label,split\na,x,train\nb,y,dev\na,y,test\n")
    features = put("f.csv", "id,f,g,h\na,1,inf,1\nb,2,1,2\nc,-inf,3,red\nb,1,1,3\n")
    with pytest.raises(InputError) as caught:
        read_graph(edges, labels, features)
    told = lines_of(caught.value)
    found = {(re.search(r"(\w)\.csv, line (\d+)", line).groups()) for line in told}
    assert found == {(name, n) for name, lines in
                     {"e": "345", "l": "34", "f": "245"}.items() for n in lines}  # fmt: skip
    assert len(told) == 3 + 2 + 4
    assert "weight" in told[0]  # in two rows
    assert len(caught.value.problems) == 2 + 2 + 4


def test_missing_cells_are_counted_by_column(put):
    edges = put("e.csv", EDGES)
    features = put("f.csv", "id,f,g\na,1,\nb,2,\nc,,3\n")
    with pytest.raises(InputError) as caught:
        read_graph(edges, features=features, like=FeatureColumns.numeric(("f", "g"), 2))
    assert [re.sub(r".*(line \d).*Got (.*?)\. .*", r"\1: \2", line)
            for line in lines_of(caught.value)] == [
        "line 2: a missing value, the first of 2 in this column",
        "line 4: a missing value",
    ]  # fmt: skip


def test_whole_files_come_first(put, tmp_path):
    edges = put("e.csv", "a,b,1\nb,c,-1\nc,a,-1\n")
    with pytest.raises(InputError) as caught:
        read_graph(edges, tmp_path / "no.csv", put("f.csv", ""))
    told = lines_of(caught.value)
    assert "no.csv: No such file" in told[0]
    assert "f.csv: A table must have at least one row" in told[1]
    assert [line.split(":")[0].rpartition(" ")[2] for line in told[2:]] == ["2", "3"]


def test_twenty_and_a_count(put):
    bad = "".join(f"n{i},n{i + 1},-1\n" for i in range(5000))
    edges = put("e.csv", "source,target,weight\n" + bad + "n0,n9,1\n")
    labels = put("l.csv", "id,label,split\nn1,x,maybe\nn2,y,test\n")
    with pytest.raises(InputError) as caught:
        read_graph(edges, labels)
    told = lines_of(caught.value)
    assert announced(caught.value) == 5001
    assert len(told) == 21
    assert told[-1] == "and 4,981 more."
    assert [f"line {n}:" in line for n, line in enumerate(told[:19], start=2)] == [True] * 19
    assert "l.csv, line 2: A split" in told[19]  # not hidden by the thousands


def test_ragged_rows_are_told_together(put):
    with pytest.raises(InputError) as caught:
        read_graph(put("e.csv", "a,b\nb\nb,c\nb,c,d\n"))
    assert [line.split(": ")[0][-6:] for line in lines_of(caught.value)] == ["line 2", "line 4"]


def test_blank_ids_are_not_also_repeats(put):
    labels = put("l.csv", "id,label\na,x\n,y\n,y\n")
    with pytest.raises(InputError) as caught:
        read_graph(put("e.csv", EDGES), labels)
    assert all("must not be empty" in line for line in lines_of(caught.value))
    assert announced(caught.value) == 2


def test_one_problem_is_told_as_it_is(put):
    with pytest.raises(InputError, match=r"e\.csv, line 2: An edge weight must") as caught:
        read_graph(put("e.csv", "a,b,1\nb,c,-1\n"))
    assert caught.value.line == 2
    assert not caught.value.problems


def test_files_that_do_not_match_are_told_together(put):
    with pytest.raises(InputError) as caught:
        read_graph(put("e.csv", EDGES), put("l.csv", "A,x\nB,y\n"), put("f.csv", "x,1\ny,1\n"))
    assert ["l.csv" in line for line in lines_of(caught.value)] == [False, True]


def test_enough_is_enough(put):
    """Every column has a problem, and each would be looked up in the file."""
    cells = ",".join(["1e99"] * 5000)
    with pytest.raises(InputError, match=r"^There are at least 200 problems\.") as caught:
        read_graph(put("e.csv", "a,b\n"), None, put("f.csv", f"a,{cells}\nb,{cells}\n"))
    assert str(caught.value).count("\n") == 21

"""Bad types, directions, kinds and times on the command line: one message, nothing written."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Accounts that pay accounts and use devices; dates; half of the accounts labelled."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    accounts, n = [f"a{i}" for i in range(40)], 40
    pays = [(accounts[i], accounts[(i + j) % n], "pays") for i in range(n) for j in (1, 2)]
    uses = [(account, f"d{rng.integers(12)}", "uses") for account in accounts]
    edges = pd.DataFrame(pays + uses, columns=["source", "target", "type"])
    edges["date"] = [f"2024-01-{1 + i % 28:02d}" for i in range(len(edges))]
    edges.to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"id": accounts, "label": np.where(np.arange(n) % 2, "x", "y")})
    labels[:20].to_csv("labels.csv", index=False)
    return tmp_path


def typed(edges: pd.DataFrame) -> None:
    edges.assign(type=edges["type"].where(edges.index % 2 == 0)).to_csv("edges.csv", index=False)


def dated(change):
    def write(edges: pd.DataFrame) -> None:
        edges.assign(date=change(edges["date"])).to_csv("edges.csv", index=False)

    return write


def both_ways(edges: pd.DataFrame) -> None:
    back = edges.rename(columns={"source": "target", "target": "source"}).assign(weight=3)
    both = pd.concat([edges.assign(weight=2), back.iloc[:5]])
    both[["source", "target", "weight"]].to_csv("edges.csv", index=False)


def kinds(**rows: str):
    """Labels with a column of kinds: device d1 as given, accounts are accounts."""

    def write(_: pd.DataFrame) -> None:
        labels = pd.read_csv("labels.csv").assign(kind="account")
        pd.concat([labels, pd.DataFrame([{"id": "d1", **rows}])]).to_csv("labels.csv", index=False)
        ids = [f"a{i}" for i in range(40)] + ["d1"]
        table = pd.DataFrame({"id": ids, "kind": "account", "age": np.arange(41)})
        table.to_csv("features.csv", index=False)

    return write


def label_times(values):
    def write(_: pd.DataFrame) -> None:
        pd.read_csv("labels.csv").assign(date=values).to_csv("labels.csv", index=False)

    return write


def as_is(_: pd.DataFrame) -> None:
    pass


TIME = "--split-time date"
BAD = {
    "unknown type column": (
        as_is,
        "--relation-column channel",
        r"'--relation-column' must name a column of edges\.csv.*'channel'",
    ),
    "unknown type": (
        as_is,
        "--directed-types sends",
        r"'--directed-types' must name types of edges: pays, uses\. Got 'sends'",
    ),
    "types half empty": (
        typed,
        "",
        r"edges\.csv, line 3: .*Got 60 empty cells in 120 rows.*--relation-column ''",
    ),
    "types all empty": (
        lambda edges: edges.assign(type="").to_csv("edges.csv", index=False),
        "",
        r"edges\.csv, line 2: .*Got 120 empty cells in 120 rows.*--relation-column ''",
    ),
    "directed types without types": (
        lambda edges: edges[["source", "target"]].to_csv("edges.csv", index=False),
        "--directed-types pays",
        r"'--directed-types' must name types of edges: edges\. Got 'pays'",
    ),
    "both ways": (
        both_ways,
        "",
        r"Edges in both directions must.*weights in 5 pairs\. Use --directed, or --undirected",
    ),
    "labels on two kinds": (
        kinds(label="x", kind="device"),
        "",
        r"labels\.csv: .*one kind.*20 on account, 1 on device.*--kind-column ''",
    ),
    "kinds that contradict": (
        kinds(kind="device"),
        "--features features.csv --kind-column kind",
        r"labels\.csv, line 22: The kind of 'd1' must be 'account'.*'device'",
    ),
    "unknown kind column": (
        as_is,
        "--kind-column species",
        r"'--kind-column' must name a column of the labels or features\. Got 'species'",
    ),
    "unknown time column": (
        as_is,
        "--split-time when",
        r"'--split-time' must name a column of the edges or of the labels\. Got 'when'",
    ),
    "a time that is none": (
        dated(lambda d: d.where(d.index != 7, "soon")),
        TIME,
        r"edges\.csv, line 9.*'date'.*'soon'",
    ),
    "no times": (
        dated(lambda d: "soon"),
        TIME,
        r"edges\.csv, line 2: Column 'date' must hold dates or times\. Got '?soon",
    ),
    "times with gaps": (
        dated(lambda d: d.where(d.index % 2 == 0)),
        TIME,
        r"Column 'date' must hold a time in every row\. Got 60 empty",
    ),
    "one time only": (
        dated(lambda d: "2024-01-01"),
        TIME,
        r"'date' must have nodes of several times to split\. Got only 2024-01-01",
    ),
    "edges after all labels": (
        label_times([f"2023-01-{1 + i:02d}" for i in range(20)]),
        TIME,
        r"Edges to learn from must come before 2023-01-\d\d\. Got none; the first came 2024-01-01",
    ),
    "dates and numbers": (
        label_times(range(20)),
        TIME,
        r"labels\.csv.*'date' must hold dates in both files.*Got numbers",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("command", ["fit", "check"])
def test_bad_relations(cpgnn, folder, command, case):
    spoil, options, message = BAD[case]
    spoil(pd.read_csv("edges.csv"))
    before = sorted(path.name for path in folder.iterdir())
    out = ["--out", "run"] if command == "fit" else []
    if command == "check" and case in ("one time only", "edges after all labels"):
        pytest.skip("check reads times; it does not split by them")
    done = cpgnn(command, "edges.csv", "--labels", "labels.csv", *options.split(), *out)
    assert done.code == 2, done
    assert re.search(message, done.err, re.DOTALL), done.err
    assert "Traceback" not in done.err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("ways", ["--directed", "--undirected"])
@pytest.mark.parametrize("command", ["stats", "check"])
def test_edges_both_ways_once_they_are_explained(cpgnn, folder, command, ways):
    """Nothing advises to say what was said."""
    both_ways(pd.read_csv("edges.csv"))
    done = cpgnn(command, "edges.csv", "--labels", "labels.csv", ways)
    assert done.code < 2, done.err
    assert "--directed" not in done.err + done.out


def test_a_handful_of_labels_is_enough_for_trees(cpgnn, folder):
    pd.read_csv("labels.csv")[:6].to_csv("labels.csv", index=False)
    done = cpgnn("fit", "edges.csv", "--labels", "labels.csv", "--fast", "--out", "run")
    assert done.code == 0, done.err

"""Classes and ids that a table, a spreadsheet or a program could take for something else."""

from __future__ import annotations

import csv
import json

import pandas as pd

FIT = ("fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
FAST = ("--prior", "mlp", "--layers", "1", "--epochs", "10")


def rename(folder, classes, node):
    """Other names for the two classes, and for the node 000."""
    for name in ("edges", "labels", "features"):
        table = pd.read_csv(folder / f"{name}.csv", dtype=str).replace({"000": node, **classes})
        table.to_csv(folder / f"{name}.csv", index=False)


def cells(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_formulas_are_text_where_that_was_asked_for(cpgnn, files):
    rename(files, {"buyer": "class", "seller": "=1+1"}, "@sum")
    done = cpgnn(*FIT, *FAST, "--out", "run", "--spreadsheet-safe")
    assert done.code == 0, done.err
    assert cells("run/compatibility.csv")[0] == ["class", "'=1+1", "class"]
    for name in ("predictions", "review", "edge_frequency", "edge_frequency_intervals"):
        for row in cells(f"run/{name}.csv"):
            assert not any(cell.startswith(("=", "@", "+")) for cell in row), name
    plain = pd.read_parquet("run/predictions.parquet")  # for programs: as they are
    assert "@sum" in set(plain["id"])
    assert set(plain["class"]) <= {"class", "=1+1"}
    assert cpgnn("predict", "run", "--out", "p.csv", "--spreadsheet-safe").code == 0
    assert "'@sum" in [row[0] for row in cells("p.csv")]
    assert cpgnn("predict", "run", "--out", "q.csv").code == 0
    assert "@sum" in [row[0] for row in cells("q.csv")]
    assert [len(row) for row in cells("p.csv")] == [len(row) for row in cells("q.csv")]
    done = cpgnn("explain", "run", "@sum", "--format", "json")
    strict = json.loads(done.out, parse_constant=lambda word: 1 / 0)
    assert strict["classes"] == ["=1+1", "class"]
    assert cpgnn("export", "run", "--to", "graphml", "--out", "g.graphml").code == 0


def test_a_run_whose_names_would_rewrite_the_terminal_is_refused(cpgnn, files):
    assert cpgnn(*FIT, *FAST, "--out", "run").code == 0
    (files / "run/manifest.json").unlink()
    path = files / "run/model/model.json"
    path.write_text(path.read_text().replace('"buyer"', '"\\u001b[2J"'))
    done = cpgnn("explain", "run", "000")
    assert done.code == 2
    assert "\x1b" not in done.out + done.err

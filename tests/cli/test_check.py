"""`cpgnn check` over files: exit codes, words and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def test_clean_files(cpgnn, files):
    command = ("check", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    done = cpgnn(*command, "--no-compare")
    assert done.code == 0, done.out + done.err
    assert "0 problems, 0 risks" in done.out
    assert "Clean" in done.out


def test_long_ids_are_shown_short(cpgnn, files):
    edges = pd.read_csv("edges.csv", dtype=str).replace({"000": "n" * 100_000})
    pd.concat([edges, edges]).to_csv("edges.csv", index=False)
    done = cpgnn("check", "edges.csv", "--labels", "labels.csv", "--no-compare")
    assert "nnn" in done.out
    assert len(done.out) + len(done.err) < 5000


def test_findings_and_their_exit_code(cpgnn, files):
    edges = pd.read_csv("edges.csv", dtype=str)
    pd.concat([edges, edges[:3]]).to_csv("edges.csv", index=False)
    labels = pd.read_csv("labels.csv", dtype=str)
    labels.loc[:10, "label"] = "?"
    labels.to_csv("labels.csv", index=False)
    command = ("check", "edges.csv", "--labels", "labels.csv", "--no-compare")
    done = cpgnn(*command)
    assert done.code == 1
    assert "Note: The same edge is listed more than once" in done.out
    assert "3 rows join the same two nodes" in done.out
    assert 'use --unlabelled "?"' in done.out
    assert "Not clean" in done.out

    done = cpgnn(*command, "--format", "json")
    assert done.code == 1
    report = json.loads(done.out)
    codes = {finding["code"]: finding for finding in report["findings"]}
    assert codes["repeated-edges"]["count"] == 3
    assert codes["placeholder-class"]["nodes"][0] == "000"
    assert report["not_compared"] == "it was turned off"

    done = cpgnn(*command, "--format", "json", "--unlabelled", "?")
    assert "placeholder-class" not in done.out


def test_the_comparison_is_printed(cpgnn, files, monkeypatch):
    monkeypatch.setattr("cpgnn.check.compare.REPEATS", 1)
    pd.DataFrame({"id": [f"{i:03d}" for i in range(80)], "label": ["buyer", "seller"] * 40}).to_csv(
        "labels.csv", index=False
    )
    done = cpgnn("check", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    assert done.code == 0, done.out
    assert "accuracy without the graph (the same model without edges)" in done.out
    assert "95 % interval" in done.out
    assert "p = " in done.out
    files = ("edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    done = cpgnn("check", *files, "--positive", "buyer")
    assert "average precision of 'buyer' by chance" in done.out
    assert "points of average precision" in done.out
    done = cpgnn("check", *files, "--positive", "nobody")
    assert done.code == 2
    assert "--positive" in done.err


def test_unreadable(cpgnn, files):
    assert cpgnn("check", "nothing.csv").code == 2
    done = cpgnn("check", "edges.csv", "--format", "xml")
    assert done.code == 2
    assert "'--format'" in done.err
    assert "'text', 'json'" in done.err


def test_without_labels(cpgnn, files):
    done = cpgnn("check", "edges.csv")
    assert done.code == 1
    assert "There are not two classes to tell apart" in done.out


def test_the_report_says_that_labelled_nodes_are_not_like_the_others(cpgnn, files):
    rng = np.random.default_rng(0)
    features = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "size"])
    features["size"] += 3.0 * (np.arange(80) < 40)
    features.insert(0, "id", [f"{i:03d}" for i in range(80)])
    features.to_csv("features.csv", index=False)
    labels = pd.DataFrame({"id": features["id"][:40], "label": ["buyer", "seller"] * 20})
    labels.to_csv("labels.csv", index=False)
    command = ("edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    said = "The labelled nodes are not like the others"
    assert f"Risk: {said}" in cpgnn("check", *command, "--no-compare").out
    quick = ("--prior", "mlp", "--layers", "1", "--epochs", "5")
    done = cpgnn("fit", *command, "--out", "run", *quick)
    assert done.code == 0, done.err
    assert said in Path("run/report.html").read_text(encoding="utf-8")


def test_missing_features_are_reported_not_refused(cpgnn, files):
    table = pd.read_csv("features.csv", dtype=str)
    table.loc[3:5, "x1"] = ""
    table.loc[7, "x4"] = "n/a"
    table[:-2].to_csv("features.csv", index=False)
    command = ("check", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    done = cpgnn(*command, "--no-compare")
    assert done.code == 0, done.err
    assert "Note: Some features are missing" in done.out
    assert "4 cells are empty, in the columns 'x1' (3), 'x4' (1); 2 nodes have no row" in done.out


def test_homophily_by_edges_and_by_weight(cpgnn, files):
    """a-b and b-c are within a class and weigh 6 of 8; c-d is not: 2/3 by edges, 3/4 by weight."""
    (files / "e.csv").write_text("source,target,weight\na,b,3\nb,c,3\nc,d,2\n")
    (files / "l.csv").write_text("id,label\na,x\nb,x\nc,x\nd,y\n")
    done = cpgnn("check", "e.csv", "--labels", "l.csv", "--no-compare")
    (row,) = (line for line in done.out.splitlines() if "homophily ratio h" in line)
    assert row.split()[-2:] == ["0.667", "0.750"]
    assert "by edges" in done.out
    assert "by weight" in done.out
    done = cpgnn("check", "e.csv", "--labels", "l.csv", "--no-compare", "--format", "json")
    made = json.loads(done.out)
    assert made["homophily"]["edge_homophily"] == pytest.approx(2 / 3)
    assert made["homophily_by_weight"]["edge_homophily"] == pytest.approx(3 / 4)
    assert made["homophily"]["node_homophily"] == pytest.approx((1 + 1 + 1 / 2 + 0) / 4)
    assert made["homophily_by_weight"]["node_homophily"] == pytest.approx((1 + 1 + 3 / 5 + 0) / 4)


def test_few_labels_are_counted_as_the_user_counts_them(cpgnn, files):
    pd.read_csv("labels.csv", dtype=str)[:10].to_csv("labels.csv", index=False)
    done = cpgnn("check", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    words = (
        "it needs at least 30 labelled nodes besides those kept for the test; there are 8 (10 in "
        "all, 2 of them kept for the test)."
    )
    assert words in " ".join(done.out.split())

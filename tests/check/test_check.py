"""`check` as a whole: clean graphs, the order of findings, the dictionary, files and scale."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest

from cpgnn import Graph, read_graph
from cpgnn.check import CheckReport, Finding, Homophily, check, check_loaded
from cpgnn.check.finding import SEVERITIES, worst_first
from toys import planted


def test_a_clean_graph():
    report = check(planted(n=200, degree=6), compare=False)
    assert report.clean
    assert all(finding.severity == "note" for finding in report.findings)
    assert report.not_compared == "it was turned off"
    assert report.independence.speaks
    assert report.to_dict()["independence"]["p_edge"] == report.independence.p_edge


def test_worst_first():
    findings = [Finding(kind, kind, "", "", "", n) for kind in SEVERITIES[::-1] for n in (1, 9)]
    order = [(f.severity, f.count) for f in worst_first(findings)]
    assert order == [(kind, n) for kind in SEVERITIES for n in (9, 1)]


def test_only_problems_and_risks_count():
    def report(*kinds):
        findings = tuple(Finding(kind, "code", "", "", "") for kind in kinds)
        return CheckReport(1, 0, 0, 0, 0, 0, findings, Homophily(*4 * [np.nan]), None, None)

    assert report().clean
    assert report("note").clean
    assert not report("note", "risk").clean
    assert not report("problem").clean


def test_the_dictionary_is_json_with_every_field():
    graph = planted(n=60, num_features=None).with_labels(np.full(60, "only"))
    report = check(graph, compare=True)
    made = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(made) == {
        "clean", "graph", "findings", "homophily", "homophily_by_weight", "independence",
        "comparison", "not_compared", "relations",
    }  # fmt: skip
    assert made["clean"] is False
    assert made["graph"]["nodes"] == 60
    assert made["comparison"] is None
    assert made["independence"] is None
    assert "at least" in made["not_compared"]
    assert made["homophily"]["adjusted_homophily"] is None
    (finding,) = [f for f in made["findings"] if f["code"] == "no-classes"]
    assert set(finding) == {"severity", "code", "title", "detail", "advice", "count", "nodes"}
    assert finding["count"] == 60
    assert len(finding["nodes"]) == 5


def test_without_nodes_or_labels():
    assert not check(Graph.from_edges([], [], num_nodes=3)).clean
    assert not check(Graph.from_edges(np.empty(0, int), np.empty(0, int), num_nodes=0)).clean


def test_files_with_a_split_column(tmp_path):
    graph = planted(n=120, num_features=None)
    A = np.argwhere(np.triu(graph.adjacency.toarray()))
    pd.DataFrame(A).to_csv(tmp_path / "edges.csv", header=["source", "target"], index=False)
    part = np.where(graph.labels == 0, "test", "train")
    rows = pd.DataFrame({"id": range(120), "label": graph.labels, "split": part})
    rows.to_csv(tmp_path / "labels.csv", index=False)
    loaded = read_graph(tmp_path / "edges.csv", tmp_path / "labels.csv", keep_rows=True)
    assert loaded.rows.shape == (2, graph.num_edges)
    codes = [finding.code for finding in check_loaded(loaded, compare=False).findings]
    assert {"classes-not-in-train", "classes-not-in-test"} <= set(codes)
    assert read_graph(tmp_path / "edges.csv").rows is None


@pytest.mark.slow
def test_a_million_nodes_and_ten_million_edges_in_a_minute():
    rng = np.random.default_rng(0)
    n, m = 1_000_000, 10_000_000
    rows = rng.integers(0, n, (2, m))
    with pytest.warns():
        graph = Graph.from_edges(
            *rows,
            num_nodes=n,
            labels=rng.integers(0, 5, n),
            features=rng.normal(size=(n, 8)).astype(np.float32),
            node_ids=np.arange(n).astype(str).astype(object),
        )
    start = time.process_time()
    report = check(graph, rows=rows, compare=False)
    assert time.process_time() - start < 60
    assert report.clean
    assert "repeated-edges" in {f.code for f in report.findings}

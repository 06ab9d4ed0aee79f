"""Accounts that are joined by the devices they share, and by nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.mark.parametrize("weighted", [False, True])
def test_who_shares_a_device_is_not_called_an_edge(cpgnn, tmp_path, monkeypatch, weighted):
    """Terminal, report, explanation and comparison say what the table counts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    uses = [(f"a{i}", f"d{2 * rng.integers(8) + y[i]}") for i in range(80) for _ in range(2)]
    edges = pd.DataFrame(uses, columns=["source", "target"]).drop_duplicates()
    if weighted:
        edges["weight"] = rng.uniform(1, 5, len(edges))
    edges.to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"id": [f"a{i}" for i in range(80)], "label": np.array(["x", "y"])[y]})
    labels[:60].to_csv("labels.csv", index=False)
    stats = cpgnn("stats", "edges.csv", "--labels", "labels.csv").out
    assert "none: no edge joins two labelled nodes" in stats
    assert "–" not in stats  # no row or matrix of edges that nobody has
    assert "H: edges (shared), in percent" in stats
    done = cpgnn("fit", "edges.csv", "--labels", "labels.csv", "--fast", "--out", "run")
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "Where the shared-node links of a class (row) lead (column), in percent" in said
    assert "A shared-node link joins two nodes that share a node of another kind" in said
    page = (tmp_path / "run/report.html").read_text()
    assert "of the shared-node links of “x” lead to “x” itself" in page
    for text in (said, page, cpgnn("diff", "run", "run").out):
        assert "here the edge" not in text
        assert "the edges of “" not in text
    why = " ".join(cpgnn("explain", "run", "a70").out.split())
    assert "two hops away" not in why
    assert "The nodes that share others with it speak" in why

"""Spark's statistics are those of one machine."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.check import check_loaded
from cpgnn.check.facts import Stats
from cpgnn.io import LoadedGraph
from cpgnn.spark import check, stats
from spark_files import random_files

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("text", "weighted", "hub"), [(False, True, 0), (True, False, 1200)])
def test_statistics_are_those_of_one_machine(spark, tmp_path, text, weighted, hub):
    files = random_files(tmp_path, 5, text=text, weighted=weighted, hub=hub)
    found, wanted = stats(files.given(spark)), Stats.of(files.graph)
    for name in ("nodes", "edges", "weighted", "self_loops", "features", "class_names"):
        assert getattr(found, name) == getattr(wanted, name), name
    for name in ("degrees", "class_sizes", "class_edges", "class_edge_numbers", "class_loops"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-6)
    assert found.isolated == wanted.isolated
    np.testing.assert_allclose(found.homophily_ratio(), wanted.homophily_ratio(), atol=1e-5)
    by_edges = [each.homophily_ratio(by_weight=False) for each in (found, wanted)]
    np.testing.assert_allclose(*by_edges, atol=1e-9)
    H = wanted.compatibility_matrix()
    np.testing.assert_allclose(found.compatibility_matrix(), H, atol=1e-5)


def test_findings_are_those_of_one_machine(spark, tmp_path):
    """Of a graph that the field covers, and of one that reaches beyond it."""
    files = random_files(tmp_path, 5, text=True)
    found = check(files.given(spark), compare=False)
    wanted = check_loaded(LoadedGraph(files.graph, files.split), compare=False)
    assert (found.nodes, found.edges) == (wanted.nodes, wanted.edges)
    assert (found.labelled, found.classes) == (wanted.labelled, wanted.classes)
    assert found.homophily.edge_homophily == pytest.approx(wanted.homophily.edge_homophily)
    told = {finding.code: finding.count for finding in found.findings}
    known = {finding.code: finding.count for finding in wanted.findings}
    assert told == known
    assert {"classes-not-in-train", "isolated-nodes"} <= set(told)
    (tmp_path / "path").mkdir()
    path = random_files(tmp_path / "path", 5, few=True)
    report = check(path.given(spark), compare=False)
    assert (report.nodes, report.edges, report.labelled) == (60, 30, 3)
    assert "isolated-nodes" in {finding.code for finding in report.findings}

"""Findings from counts are those of `cpgnn check`, which sees the graph."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyspark")

from cpgnn import Graph
from cpgnn.check import check
from cpgnn.check.facts import Stats
from cpgnn.spark.findings import findings
from spark_files import random_files


def alike(graph):
    found = {f.code: (f.severity, f.count) for f in findings(Stats.of(graph))}
    wanted = {f.code: (f.severity, f.count) for f in check(graph, compare=False).findings}
    codes = {"self-loops", "isolated-nodes", "hubs", "no-classes", "rare-classes"}
    wanted = {code: what for code, what in wanted.items() if code in codes | {"unlabelled-nodes"}}
    assert found == wanted
    return set(found)


def test_findings_are_those_of_check(tmp_path):
    codes = alike(random_files(tmp_path, 1, hub=1200).graph)
    assert codes == {"self-loops", "isolated-nodes", "hubs", "rare-classes", "unlabelled-nodes"}


def test_one_class_is_none():
    edges = np.array([0, 1]), np.array([1, 2])
    assert alike(Graph.from_edges(*edges, labels=["a", "a", None])) == {"no-classes"}

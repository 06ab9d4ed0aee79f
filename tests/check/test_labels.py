"""Classes that a split leaves out."""

from __future__ import annotations

import numpy as np

from cpgnn import Graph, Split
from cpgnn.check.labels import left_out


def test_classes_that_the_split_leaves_out():
    y, names = np.repeat([0, 1], 20), ["c0", "c1"]
    graph = Graph.from_edges([0], [1], num_nodes=40, labels=y, class_names=names)
    fine = Split(np.arange(5, 25), [25], np.arange(0, 40, 30))
    assert not [*left_out(graph, fine)]
    lacking = Split(np.arange(20), [25], np.arange(30, 40))
    found = {finding.code: finding for finding in left_out(graph, lacking)}
    assert found["classes-not-in-train"].severity == "problem"
    assert found["classes-not-in-test"].severity == "risk"
    assert "'c1'" in found["classes-not-in-train"].detail
    assert "'c0'" in found["classes-not-in-test"].detail

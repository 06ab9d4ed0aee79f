"""Findings from counts alone: degrees, self-loops, labels."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import Graph
from cpgnn.check.counted import counted
from cpgnn.check.facts import Stats


def found_in(graph):
    found = {finding.code: finding for finding in counted(Stats.of(graph), graph)}
    nameless = counted(Stats.of(graph))
    assert [(f.severity, f.code, f.detail, f.count) for f in nameless] == [
        (f.severity, f.code, f.detail, f.count) for f in found.values()
    ]
    return found


def labelled(*counts, unknown=0, empty=()):
    y = np.repeat(np.append(np.arange(len(counts)), -1), [*counts, unknown])
    names = [f"c{i}" for i in range(len(counts))] + list(empty)
    n = len(y)
    path = np.arange(n - 1), np.arange(1, n)
    return Graph.from_edges(*path, num_nodes=n, labels=y, class_names=names)


def test_enough_of_every_class_is_fine():
    assert not found_in(labelled(10, 12))


@pytest.mark.parametrize("graph", [labelled(0, unknown=4), labelled(5), labelled(5, 0)])
def test_without_two_classes_there_is_nothing_to_learn(graph):
    (found,) = found_in(graph).values()
    assert (found.code, found.severity) == ("no-classes", "problem")


def test_rare_classes():
    found = found_in(labelled(20, 9, 2))
    assert set(found) == {"rare-classes"}
    assert (found["rare-classes"].severity, found["rare-classes"].count) == ("risk", 2)
    assert "'c2' (2), 'c1' (9)" in found["rare-classes"].detail
    single = found_in(labelled(20, 1))["rare-classes"]
    assert (single.severity, single.nodes) == ("risk", ("20",))
    assert "trained on, not tested" in single.detail


def test_classes_without_labels():
    found = found_in(labelled(20, 20, empty=["ghost"]))
    assert set(found) == {"empty-classes"}
    assert "'ghost'" in found["empty-classes"].detail


def test_unlabelled_nodes_are_only_a_note():
    (found,) = found_in(labelled(20, 20, unknown=7)).values()
    assert (found.code, found.severity, found.count) == ("unlabelled-nodes", "note", 7)


def test_self_loops():
    with pytest.warns(match="self-loop"):
        graph = Graph.from_edges([0, 1, 2], [1, 1, 2], node_ids=list("abc"))
    found = found_in(graph)["self-loops"]
    assert (found.count, found.nodes, found.severity) == (2, ("b", "c"), "note")
    assert "self-loops" not in found_in(Graph.from_edges([0], [1]))


def test_isolated_nodes_matter_more_without_features():
    graph = Graph.from_edges([0], [1], num_nodes=3, node_ids=list("abc"))
    found = found_in(graph)["isolated-nodes"]
    assert (found.count, found.nodes, found.severity) == (1, ("c",), "risk")
    found = found_in(graph.with_features(np.eye(3)))["isolated-nodes"]
    assert found.severity == "note"
    assert "isolated-nodes" not in found_in(Graph.from_edges([0], [1]))


def test_hubs():
    center = np.zeros(150, dtype=int)
    star = Graph.from_edges(center, np.arange(1, 151))
    found = found_in(star)["hubs"]
    assert (found.count, found.nodes) == (1, ("0",))
    assert found.severity == "note"
    assert found.detail.startswith("1 node has at least 100 neighbours")
    assert "and holds 50 % of all edge ends" in found.detail
    assert "hubs" not in found_in(Graph.from_edges(center[:50], np.arange(1, 51)))


def test_kinds_that_are_not_predicted_are_not_counted_as_unlabelled():
    graph = labelled(5, 5, unknown=4).with_kinds(["account"] * 11 + ["device"] * 3)
    found = {finding.code: finding for finding in counted(Stats.of(graph), graph)}
    assert found["unlabelled-nodes"].detail.startswith("1 of 11 nodes.")
    assert found["unlabelled-nodes"].nodes == ("10",)

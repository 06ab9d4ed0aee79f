"""Findings about labels: too few, or none where a split needs them."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import Graph, Split
from cpgnn.check.labels import label_counts


def labelled(*counts, unknown=0, empty=()):
    y = np.repeat(np.append(np.arange(len(counts)), -1), [*counts, unknown])
    names = [f"c{i}" for i in range(len(counts))] + list(empty)
    return Graph.from_edges([0], [1], num_nodes=len(y), labels=y, class_names=names)


def codes(findings):
    return {finding.code: finding for finding in findings}


def test_enough_of_every_class_is_fine():
    assert not label_counts(labelled(10, 12))


@pytest.mark.parametrize("graph", [labelled(0, unknown=4), labelled(5), labelled(5, 0)])
def test_without_two_classes_there_is_nothing_to_learn(graph):
    (found,) = label_counts(graph)
    assert (found.code, found.severity) == ("no-classes", "problem")


def test_rare_classes():
    found = codes(label_counts(labelled(20, 9, 2)))
    assert set(found) == {"rare-classes"}
    assert (found["rare-classes"].severity, found["rare-classes"].count) == ("risk", 2)
    assert "'c2' (2), 'c1' (9)" in found["rare-classes"].detail
    single = codes(label_counts(labelled(20, 1)))["rare-classes"]
    assert (single.severity, single.nodes) == ("problem", ("20",))


def test_classes_without_labels():
    found = codes(label_counts(labelled(20, 20, empty=["ghost"])))
    assert set(found) == {"empty-classes"}
    assert "'ghost'" in found["empty-classes"].detail


def test_unlabelled_nodes_are_only_a_note():
    (found,) = label_counts(labelled(20, 20, unknown=7))
    assert (found.code, found.severity, found.count) == ("unlabelled-nodes", "note", 7)


def test_classes_that_the_split_leaves_out():
    graph = labelled(20, 20)
    fine = Split(np.arange(5, 25), [25], np.arange(0, 40, 30))
    assert not label_counts(graph, fine)
    lacking = Split(np.arange(20), [25], np.arange(30, 40))
    found = codes(label_counts(graph, lacking))
    assert found["classes-not-in-train"].severity == "problem"
    assert found["classes-not-in-test"].severity == "risk"
    assert "'c1'" in found["classes-not-in-train"].detail
    assert "'c0'" in found["classes-not-in-test"].detail

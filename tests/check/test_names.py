"""Ids and classes that look alike, and classes that mean "unknown"."""

from __future__ import annotations

import pandas as pd
import pytest

from cpgnn import Graph
from cpgnn.check.names import alike, class_names, similar_ids


def labelled(*labels):
    return Graph.from_edges([0], [1], num_nodes=len(labels), labels=list(labels))


def test_alike_groups_by_case_and_surrounding_spaces():
    group = alike(["Anna", "anna ", "Ann a", "ÄRA", "\tära", "x"])
    assert group[0] == group[1] >= 0
    assert group[3] == group[4] >= 0
    assert group[0] != group[3]
    assert group[2] == group[5] == -1


def test_ids_between_files():
    edges = pd.DataFrame({"source": ["a1", "b1"], "target": ["b1", "c1"]})
    labels = pd.DataFrame({"id": ["A1", "b1", "C1"], "label": ["x", "y", "x"]})
    (found,) = similar_ids(Graph.from_pandas(edges, labels))
    assert found.severity == "problem"
    assert found.count == 4
    assert set(found.nodes) == {"a1", "A1", "c1", "C1"}
    assert "2 of them have no edge" in found.detail


def test_ids_that_differ_by_spaces():
    (found,) = similar_ids(Graph.from_edges([0], [1], node_ids=["a", "b", "b "]))
    assert (found.severity, found.nodes) == ("problem", ("b", "b "))


def test_ids_within_the_edges():
    edges = pd.DataFrame({"source": ["a", "A"], "target": ["b", "c"]})
    (found,) = similar_ids(Graph.from_pandas(edges))
    assert (found.severity, found.nodes) == ("risk", ("a", "A"))


@pytest.mark.parametrize("ids", [["a", "b"], [1, 2], ["a b", "ab"]])
def test_distinct_ids_are_fine(ids):
    assert not [*similar_ids(Graph.from_edges([0], [1], node_ids=ids))]


def test_classes_that_differ_by_case():
    (found,) = class_names(labelled("Buyer", "buyer ", "seller", "buyer "))
    assert (found.code, found.severity, found.count) == ("similar-classes", "problem", 2)
    assert found.nodes == ("0", "1", "3")
    assert not [*class_names(labelled("buyer", "seller"))]


@pytest.mark.parametrize("name", ["?", "Unknown", "n/a", " NULL ", "not_known", "-1"])
def test_placeholders(name):
    (found,) = class_names(labelled("buyer", name, "seller"))
    assert (found.code, found.severity, found.nodes) == ("placeholder-class", "risk", ("1",))
    assert "unlabelled=" in found.advice


@pytest.mark.parametrize("names", [("other", "0"), ("-1", "-2", "0"), ("known", "n")])
def test_ordinary_classes_are_fine(names):
    assert not [*class_names(labelled(*names))]

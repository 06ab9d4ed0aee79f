"""GraphFrames by their convention, without the package: anything with vertices and edges."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cpgnn.errors import CPGNNError
from cpgnn.spark import from_graphframe, to_graphframe

pytestmark = pytest.mark.slow


@pytest.fixture
def frame(spark):
    vertices = spark.createDataFrame(
        [("a", "x", 1.0, "shop"), ("b", None, 2.0, "buyer")],
        "id string, fraud string, size double, what string",
    )
    edges = spark.createDataFrame(
        [("a", "pays", "b", 3.0)], "src string, means string, dst string, amount double"
    )
    return SimpleNamespace(vertices=vertices, edges=edges)


def test_there_and_back(frame):
    given = from_graphframe(
        frame, label="fraud", features=["size"], kind="what", weight="amount", relation="means"
    )
    assert given.edges.columns == ["source", "target", "amount", "means"]
    assert tuple(given.edges.first()) == ("a", "b", 3.0, "pays")
    assert (given.relation, given.directed) == ("means", False)
    assert {tuple(row) for row in given.labels.collect()} == {("a", "x"), ("b", None)}
    assert {tuple(row) for row in given.features.collect()} == {("a", 1.0), ("b", 2.0)}
    assert {tuple(row) for row in given.kinds.collect()} == {("a", "shop"), ("b", "buyer")}
    vertices, edges = to_graphframe(given, frame.vertices.select("id", "fraud"))
    assert "id" in vertices.columns
    assert edges.columns == ["src", "dst", "amount", "means"]
    assert tuple(edges.first()) == ("a", "b", 3.0, "pays")


def test_a_missing_column_is_named(frame):
    with pytest.raises(CPGNNError, match="The vertices must have a column 'colour'"):
        from_graphframe(frame, features=["colour"])
    with pytest.raises(CPGNNError, match="The edges must have a column 'kg'"):
        from_graphframe(frame, weight="kg")

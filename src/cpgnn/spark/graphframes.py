"""GraphFrames in and out, by their convention: vertices with `id`, edges with `src` and `dst`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from cpgnn.errors import must_be
from cpgnn.relations.edge_types import Directed
from cpgnn.spark.tables import Given


def from_graphframe(
    frame: Any,
    *,
    label: str | None = None,
    features: Sequence[str] = (),
    kind: str | None = None,
    weight: str | None = None,
    relation: str | None = None,
    directed: Directed = False,
) -> Given:
    """The tables of a GraphFrame, or of anything with `vertices` and `edges`.

    label, features, kind: columns of the vertices; weight, relation: of the edges.
    """
    vertices, edges = frame.vertices, frame.edges
    for table, what, columns in (
        (vertices, "The vertices", ["id", label, *features, kind]),
        (edges, "The edges", ["src", "dst", weight, relation]),
    ):
        missing = [name for name in columns if name is not None and name not in table.columns]
        if missing:
            raise must_be(what, f"have a column {missing[0]!r}", ", ".join(table.columns))
    rest = [name for name in (weight, relation) if name is not None]

    def of(*columns: str | None) -> DataFrame | None:
        picked = [name for name in columns if name is not None]
        return vertices.select("id", *picked) if picked else None

    links = edges.select("src", "dst", *rest).toDF("source", "target", *rest)
    return Given(
        links, of(label), of(*features), kinds=of(kind), relation=relation, directed=directed
    )


def to_graphframe(given: Given, predictions: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Vertices and edges for `GraphFrame(vertices, edges)`: what `predict` says of every node."""
    return predictions, given.edges.toDF("src", "dst", *given.edges.columns[2:])

"""Amounts as weights."""

from __future__ import annotations

import numpy as np

from cpgnn.graph import Graph
from cpgnn.relations.edge_weights import is_wide, weight_variants

AMOUNTS = np.array([0.5, 10.0, 20_000.0])


def graph(weights, **rest) -> Graph:
    return Graph.from_edges([0, 1, 2], [1, 2, 3], weights=weights, **rest)


def test_amounts_are_tried_raw_as_logarithms_and_not_at_all():
    found = weight_variants(graph(AMOUNTS, relation=["a", "a", "b"]))
    assert list(found) == ["raw", "log", "none"]
    low = np.quantile(AMOUNTS.repeat(2), 0.01)
    for variant in (found["log"].adjacency, found["log"].edge_types[0].matrix):
        assert np.isclose(variant[0, 1], np.log1p(0.5 / low))
    assert set(found["none"].adjacency.data) == {1.0}
    assert set(found["none"].relations[1].matrix.data) == {1.0}


def test_the_unit_does_not_matter():
    cents, euros = (weight_variants(graph(w))["log"].adjacency for w in (100 * AMOUNTS, AMOUNTS))
    np.testing.assert_allclose(cents.data, euros.data, rtol=1e-5)


def test_ordinary_weights_are_left_alone():
    assert list(weight_variants(graph([1.0, 2.0, 3.0]))) == ["raw"]
    assert list(weight_variants(graph(None))) == ["raw"]
    assert not is_wide(np.zeros(3))

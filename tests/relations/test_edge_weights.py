"""Amounts as weights."""

from __future__ import annotations

import numpy as np

from cpgnn.graph import Graph
from cpgnn.relations.edge_weights import Weights, is_wide, weight_variants

AMOUNTS = np.array([0.5, 10.0, 20_000.0])


def graph(weights, **rest) -> Graph:
    return Graph.from_edges([0, 1, 2], [1, 2, 3], weights=weights, **rest)


def test_amounts_are_tried_raw_as_logarithms_and_not_at_all():
    given = graph(AMOUNTS, relation=["a", "a", "b"])
    raw, log, none = weight_variants(given)
    assert [raw.how, log.how, none.how] == ["raw", "log", "none"]
    assert raw(given) is given
    assert np.isclose(log.unit, np.quantile(AMOUNTS.repeat(2), 0.01))
    for variant in (log(given).adjacency, log(given).edge_types[0].matrix):
        assert np.isclose(variant[0, 1], np.log1p(0.5 / log.unit))
    assert set(none(given).adjacency.data) == {1.0}
    assert set(none(given).relations[1].matrix.data) == {1.0}


def test_the_unit_does_not_matter():
    cents, euros = (graph(w) for w in (100 * AMOUNTS, AMOUNTS))
    of_cents, of_euros = (weight_variants(g)[1](g).adjacency.data for g in (cents, euros))
    np.testing.assert_allclose(of_cents, of_euros, rtol=1e-5)


def test_ordinary_weights_are_left_alone():
    assert weight_variants(graph([1.0, 2.0, 3.0])) == [Weights()]
    assert weight_variants(graph(None)) == [Weights()]
    assert not is_wide(np.zeros(3))

"""Spark's statistics are those of one machine."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.check.facts import Stats
from cpgnn.spark import stats
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

"""The receptive field is the one that one machine widens to, or a stated sample of the labels."""

from __future__ import annotations

import numpy as np
import pytest

import cpgnn.engine.views
from cpgnn.errors import InputError
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.field import collect_field, hops_for, receptive_field
from cpgnn.spark.tables import check_tables
from spark_files import random_files

pytestmark = pytest.mark.slow


def test_how_far_training_looks():
    assert [hops_for(K, "none") for K in (0, 1, 2)] == [1, 1, 2]
    assert [hops_for(K, "sym") for K in (1, 2)] == [2, 3]  # the degrees at the rim
    assert hops_for(2, "row") == 2


def test_field_is_that_of_one_machine(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(cpgnn.engine.views, "SATURATED", 2.0)  # never "all nodes, that is cheaper"
    files = random_files(tmp_path, 8, text=True, weighted=True, few=True)
    tables = check_tables(files.given(spark))
    A, graph = Adjacency.of(tables), files.graph
    for hops in (1, 2, 3):
        found = collect_field(receptive_field(A, tables, hops), tables).graph
        view = graph.view().of(np.flatnonzero(graph.labels >= 0))
        nodes, inner = view.widened(hops).nodes, view.widened(hops - 1).nodes
        assert list(found.node_ids) == list(graph.node_ids[nodes])
        here, there = np.searchsorted(nodes, inner), graph.adjacency[inner][:, nodes]
        np.testing.assert_allclose(found.adjacency[here].toarray(), there.toarray(), rtol=1e-6)
        np.testing.assert_array_equal(found.features, graph.features[nodes])
        names = np.array([*graph.class_names, ""], dtype=object)
        own = np.array([*found.class_names, ""], dtype=object)
        np.testing.assert_array_equal(own[found.labels], names[graph.labels[nodes]])
    A.release()


def test_a_field_that_is_too_large_is_refused_or_sampled(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("cpgnn.spark.field.KEPT_WHOLE", 3)
    files = random_files(tmp_path, 8)
    tables = check_tables(files.given(spark))
    A = Adjacency.of(tables)
    everything = receptive_field(A, tables, 1)
    limit = everything.num_edges * 2 // 3
    with pytest.raises(InputError, match=f"at most 'max_edges' = {limit} can be"):
        receptive_field(A, tables, 1, max_edges=limit)
    one, two = (receptive_field(A, tables, 1, max_edges=limit, sample=True) for _ in range(2))
    ids = sorted(row["id"] for row in one.labels.collect())
    assert ids == sorted(row["id"] for row in two.labels.collect())  # the same seed, the same nodes
    assert 0 < len(ids) < everything.labels.count()
    assert one.num_edges <= limit
    assert "seed 0" in one.notice
    assert {row["label"] for row in one.labels.collect()} >= {"date palm"}  # the rare class is kept
    A.release()

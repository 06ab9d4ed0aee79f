"""Columns that priors read, on graphs small enough to count by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn.priors import columns as col
from toys import toy


@pytest.fixture
def path() -> sp.csr_array:
    """0 - 1 - 2 - 3, and 1 - 4; 5 is alone."""
    A = np.zeros((6, 6), dtype=np.float32)
    for u, v in ((0, 1), (1, 2), (2, 3), (1, 4)):
        A[u, v] = A[v, u] = 1
    return sp.csr_array(A)


def test_core_numbers_of_a_triangle_with_a_tail():
    A = np.zeros((4, 4), dtype=np.float32)
    for u, v in ((0, 1), (1, 2), (0, 2), (2, 3)):
        A[u, v] = A[v, u] = 1
    assert list(col.core_number(sp.csr_array(A))) == [2, 2, 2, 1]
    assert col.clustering(sp.csr_array(A)) == pytest.approx([1, 1, 1 / 3, 0])


def test_missing_values_leave_the_mean_of_the_others(path):
    Z = np.array([[1], [np.nan], [3], [4], [np.nan], [5]], dtype=np.float32)
    near = col.hops(path, Z, steps=1)[1].ravel()
    assert near[1] == 2  # of 1, 3 and a missing one
    assert np.isnan(near[[0, 5]]).all()


def test_large_blocks_get_the_same_products(monkeypatch):
    rng = np.random.default_rng(0)
    M = sp.csr_array(sp.random_array((60, 60), density=0.1, rng=rng), dtype=np.float32)
    Z = rng.standard_normal((60, 12)).astype(np.float32)
    expected = col.times(M, Z)
    monkeypatch.setattr(col, "LARGE", 0)
    made = col.times(M, Z)
    assert not np.shares_memory(made, Z)
    assert made == pytest.approx(M.toarray() @ Z, abs=1e-5)
    assert made == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_is_that_of_networkx_on_the_nodes_with_edges(weighted):
    A = toy(3, 12, density=0.5, weighted=weighted, isolated=1).A[:11, :11]
    assert (A.sum(axis=1) > 0).all()
    found = nx.pagerank(nx.from_numpy_array(A), tol=1e-12, max_iter=500)
    expected = 11 * np.array([found[i] for i in range(11)])
    np.testing.assert_allclose(col.pagerank(sp.csr_array(A), steps=200), expected, rtol=1e-9)


def test_nodes_without_edges_change_no_column_of_others():
    A = toy(3, 12, density=0.4).A
    alone = np.flatnonzero(A.sum(axis=1) == 0)
    wide = np.zeros((40, 40))
    wide[:12, :12] = A
    few, many = (col.structure(sp.csr_array(M, dtype=np.float32)) for M in (A, wide))
    np.testing.assert_array_equal(many[:12], few)
    for row in (*few[alone], *many[12:]):
        assert row[5] == pytest.approx(np.log(0.15))

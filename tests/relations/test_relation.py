"""Relations, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn.relations.relation import edges, two_hops


@pytest.fixture
def path() -> sp.csr_array:
    """0 - 1 - 2 - 3, and 1 - 4; 5 is alone."""
    A = np.zeros((6, 6), dtype=np.float32)
    for u, v in ((0, 1), (1, 2), (2, 3), (1, 4)):
        A[u, v] = A[v, u] = 1
    return sp.csr_array(A)


def test_two_hops_are_at_distance_two(path):
    far = two_hops(path).matrix.toarray()
    pairs = {(0, 2), (0, 4), (2, 4), (1, 3)}
    assert {(u, v) for u, v in zip(*np.nonzero(far), strict=True) if u < v} == pairs
    assert two_hops(path, max_entries=5) is None


def test_propagator_divides_by_a_power_of_the_degree(path):
    P = edges(path).propagator(0.5).toarray()
    assert P[1, 0] == pytest.approx(3**-0.5)
    assert not P[5].any()

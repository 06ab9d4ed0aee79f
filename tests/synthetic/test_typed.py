"""Generated types of edges have the matrices that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.homophily import relation_matrices
from cpgnn.synthetic.generate import mixhop_compatibility
from cpgnn.synthetic.typed import Drawn, generate_typed_graph, moved

NEXT = moved(mixhop_compatibility(4, 0.7), 1, directed=True)
MIRRORED = moved(mixhop_compatibility(4, 0.7), 2, directed=False)


def test_every_type_has_its_matrix():
    types = {"pays": Drawn(NEXT, 8, directed=True), "shares": Drawn(MIRRORED, 8)}
    graph = generate_typed_graph([2000] * 4, types, seed=1)
    H = relation_matrices(graph)
    assert list(H) == ["pays (out)", "pays (in)", "shares"]
    np.testing.assert_allclose(H["pays (out)"], NEXT, atol=0.02)
    np.testing.assert_allclose(H["pays (in)"], NEXT.T, atol=0.02)  # doubly stochastic, equal sizes
    np.testing.assert_allclose(H["shares"], MIRRORED, atol=0.02)
    assert graph.edge_types[0].num_edges > 0.98 * 8 * 8000


def test_moved_matrices():
    assert NEXT.argmax(axis=1).tolist() == [1, 2, 3, 0]
    np.testing.assert_array_equal(MIRRORED, MIRRORED.T)
    np.testing.assert_allclose(MIRRORED.sum(axis=1), 1)


def test_the_seed_makes_the_graph():
    one, same, other = (
        generate_typed_graph([30, 20], {"t": Drawn(np.eye(2), 2)}, seed=seed) for seed in (0, 0, 1)
    )
    assert (one.adjacency != same.adjacency).nnz == 0
    assert (one.adjacency != other.adjacency).nnz > 0
    assert np.bincount(one.labels).tolist() == [30, 20]
    u, v = one.adjacency.nonzero()
    assert (one.labels[u] == one.labels[v]).all()


def test_types_are_needed():
    with pytest.raises(InputError, match="at least one type"):
        generate_typed_graph([3, 3], {})

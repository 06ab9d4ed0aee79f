"""The terms of propagation against a list of all walks on six nodes."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.explanation import walks
from cpgnn.explanation.walks import split_walks
from toys import Toy, toy

KINDS = ["none", "sym", "row"]


def dense_matrix(A: np.ndarray, kind: str) -> np.ndarray:
    degree = A.sum(axis=1)
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    if kind == "sym":
        return np.sqrt(np.outer(inverse, inverse)) * A
    return inverse[:, None] * A if kind == "row" else A


def enumerate_walks(M: np.ndarray, B_0: np.ndarray, H_bar: np.ndarray, longest: int, v: int):
    """Every walk that ends at v, one by one: what it brings, sorted by how it arrives."""
    n, c = B_0.shape
    own, returning, arriving = B_0[v].copy(), np.zeros(c), np.zeros((n, c))
    for length in range(1, longest + 1):
        for steps in product(range(n), repeat=length):  # where it starts … the neighbour of v
            walk = (*steps, v)
            weight = 1.0
            for before, after in pairwise(walk):
                weight *= M[after, before]
            brought = B_0[walk[0]]
            for _ in range(length):
                brought = brought @ H_bar
            if walk[0] == v:
                returning += weight * brought
            else:
                arriving[walk[-2]] += weight * brought
    return own, returning, arriving


def example(weighted: bool, kind: str) -> tuple[Toy, np.ndarray, np.ndarray, np.ndarray]:
    six = toy(3, n=6, c=3, weighted=weighted, density=0.6)
    rng = np.random.default_rng(1)
    B_0, H_bar = rng.normal(size=(6, 3)), rng.normal(size=(3, 3)) / 2
    return six, dense_matrix(six.A, kind), B_0, H_bar


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2, 3, 4])
def test_every_walk_is_counted_once_and_in_its_place(num_layers, weighted, kind):
    six, M, B_0, H_bar = example(weighted, kind)
    nodes = np.array([4, 0, 5, 2, 1, 3, 0])  # any order, twice the same, one isolated
    made = split_walks(six.graph.matrix(kind), B_0, H_bar, num_layers, nodes)
    for i, v in enumerate(nodes):
        own, returning, arriving = enumerate_walks(M, B_0, H_bar, num_layers, v)
        rows = slice(made.pointer[i], made.pointer[i + 1])
        np.testing.assert_array_equal(np.sort(made.neighbours[rows]), np.flatnonzero(six.A[v]))
        np.testing.assert_allclose(made.own[i], own)
        # M is stored in float32: the dense one is not
        np.testing.assert_allclose(made.returning[i], returning, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            made.arriving[rows], arriving[made.neighbours[rows]], rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_beliefs_of_neighbours_leave_out_the_echo(num_layers):
    """They are what the neighbour would believe if the node's own prior were empty."""
    six, M, B_0, H_bar = example(True, "none")
    v = 1
    silent = B_0.copy()
    silent[v] = 0
    B = silent
    for _ in range(num_layers - 1):
        B = silent + M @ B @ H_bar
    made = split_walks(six.graph.matrix("none"), B_0, H_bar, num_layers, np.array([v]))
    np.testing.assert_allclose(made.beliefs, B[made.neighbours], atol=1e-9)


def test_blocks_change_nothing(monkeypatch):
    graph = toy(0, n=60, density=0.1).graph
    rng = np.random.default_rng(0)
    B_0, H_bar, nodes = rng.normal(size=(60, 3)), rng.normal(size=(3, 3)), np.arange(60)
    whole = split_walks(graph.matrix("row"), B_0, H_bar, 4, nodes)
    monkeypatch.setattr(walks, "BLOCK", 7)
    pieces = split_walks(graph.matrix("row"), B_0, H_bar, 4, nodes)
    np.testing.assert_array_equal(whole.arriving, pieces.arriving)
    np.testing.assert_array_equal(whole.returning, pieces.returning)


def test_too_much_work_is_refused_with_a_number_of_nodes(monkeypatch):
    graph = toy(0, n=60, density=0.1).graph
    monkeypatch.setattr(walks, "MOST", 500)
    with pytest.raises(InputError, match=r"at most 500 products.*Try \d+ nodes at a time"):
        split_walks(graph.matrix(), np.zeros((60, 3)), np.zeros((3, 3)), 3, np.arange(60))


def test_no_nodes_and_no_edges():
    empty = toy(0, n=5, density=0.0).graph
    made = split_walks(empty.matrix(), np.ones((5, 3)), np.eye(3), 3, np.arange(5))
    assert made.arriving.shape == (0, 3)
    assert not made.returning.any()
    nobody = split_walks(empty.matrix(), np.ones((5, 3)), np.eye(3), 3, np.arange(0))
    assert nobody.own.shape == (0, 3)

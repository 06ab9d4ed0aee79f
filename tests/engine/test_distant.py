"""Path counts by brute force, the energy by finite differences, H from its own powers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cpgnn.engine.distant import (
    centred_basis,
    estimate_from_few,
    fit_powers,
    path_counts,
    path_frequencies,
    power_energy,
    spread_labels,
)
from toys import Toy, planted, toys


def counted(A: np.ndarray, y: np.ndarray, train: list[int], c: int, length: int) -> np.ndarray:
    """Every walk of this length, one by one; those that return along an edge are left out."""
    M = np.zeros((c, c))
    near = [np.flatnonzero(row) for row in A]

    def walk(path: list[int]) -> None:
        if len(path) == length + 1:
            if path[-1] in train:
                M[y[path[0]], y[path[-1]]] += 1
            return
        for u in near[path[-1]]:
            if len(path) < 2 or u != path[-2]:
                walk([*path, int(u)])

    for v in train:
        walk([v])
    return M


@settings(max_examples=15)
@given(toys(n=7))
def test_path_counts_are_those_of_every_walk(toy: Toy):
    train = np.arange(0, toy.n, 2)
    made = path_counts(toy.graph.adjacency, toy.y, train, toy.c, 5)
    for length in range(1, 6):
        expected = counted(toy.A, toy.y, train.tolist(), toy.c, length)
        np.testing.assert_allclose(made[length - 1], expected, atol=1e-9)


def test_the_basis_is_orthonormal_and_sums_to_zero():
    for c in (2, 3, 7):
        Q = centred_basis(c)
        np.testing.assert_allclose(Q.T @ Q, np.eye(c - 1), atol=1e-12)
        np.testing.assert_allclose(Q.sum(axis=0), 0, atol=1e-12)


@given(st.integers(0, 2**16), st.integers(2, 5))
def test_the_gradient_is_that_of_finite_differences(seed, c):
    rng = np.random.default_rng(seed)
    S, *R = (M + M.T for M in rng.normal(size=(4, c - 1, c - 1)) / 3)
    Q = centred_basis(c)
    R = np.stack(R)
    _, G = power_energy(S, R, Q, 3.0)
    for i, j in product(range(c - 1), repeat=2):
        step = np.zeros_like(S)
        step[i, j] += 5e-6
        step[j, i] += 5e-6  # symmetric, as S is
        up, down = (power_energy(S + sign * step, R, Q, 3.0)[0] for sign in (1, -1))
        np.testing.assert_allclose((up - down) / 1e-5, G[i, j] + G[j, i], rtol=1e-3, atol=1e-4)


def symmetric_doubly_stochastic(c: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4))
    mixed = sum(w * np.eye(c)[rng.permutation(c)] for w in shares)
    return (mixed + mixed.T) / 2


@pytest.mark.parametrize("c", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_h_is_found_from_its_own_powers(c, seed):
    H = symmetric_doubly_stochastic(c, seed)
    P = np.stack([np.linalg.matrix_power(H, step) for step in range(1, 6)])
    np.testing.assert_allclose(fit_powers(P), H, atol=2e-3)


def test_the_scale_of_the_classes_does_not_matter():
    H = symmetric_doubly_stochastic(3, 1) + 0.2
    H /= H.sum(axis=1, keepdims=True)
    P = np.stack([np.linalg.matrix_power(H, step) for step in range(1, 6)])
    a = np.array([1.0, 20.0, 3.0])
    made = path_frequencies(1e6 * a[:, None] * P * a)
    np.testing.assert_allclose(made, P, atol=0.01)


@pytest.mark.parametrize("h", [0.1, 0.8])
def test_eight_labels_a_class_find_who_connects(h):
    graph = planted(3, n=1500, c=3, h=h, degree=14, num_features=None)
    rng = np.random.default_rng(0)
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(graph.labels == c))[:8] for c in range(3)]
    )
    H = estimate_from_few(graph.adjacency, graph.labels, train)
    true = np.full((3, 3), (1 - h) / 2) + (h - (1 - h) / 2) * np.eye(3)
    assert (H >= -1e-12).all()
    np.testing.assert_allclose(H, H.T, atol=1e-12)
    np.testing.assert_allclose(H.sum(axis=1), 1, atol=1e-9)
    assert np.abs(H - true).mean() < 0.12
    found, best = (
        (spread_labels(graph.adjacency, graph.labels, train, G).argmax(axis=1) == graph.labels)
        for G in (None, true)
    )
    assert found.mean() > best.mean() - 0.04 > 0.4


def test_labels_are_read_at_training_nodes_only():
    graph = planted(0, n=120, num_features=None)
    train = np.arange(30)
    other = graph.labels.copy()
    other[30:] = -1
    H, same = (estimate_from_few(graph.adjacency, y, train) for y in (graph.labels, other))
    np.testing.assert_array_equal(H, same)


def test_without_evidence_h_is_uniform_and_nothing_spreads():
    A, labels, train = sp.csr_array((6, 6)), np.array([0, 1, 2, 0, 1, 2]), np.arange(3)
    H = estimate_from_few(A, labels, train)
    np.testing.assert_allclose(H, 1 / 3, atol=1e-6)
    B = spread_labels(A, labels, train)
    assert (B[3:] == 0).all()
    assert (B[:3].argmax(axis=1) == labels[:3]).all()


def test_spreading_is_the_sum_over_walks():
    graph = planted(1, n=20, num_features=None)
    A, train = graph.adjacency.toarray().astype(float), np.arange(8)
    H = symmetric_doubly_stochastic(3, 2)
    B = spread_labels(graph.adjacency, graph.labels, train, H, num_layers=4)
    X = np.zeros((20, 3))
    X[train] = np.eye(3)[graph.labels[train]] - 1 / 3
    H_bar = H - 1 / 3
    scale = 0.5 / (np.abs(np.linalg.eigvalsh(A)).max() * np.abs(np.linalg.eigvalsh(H_bar)).max())
    expected = sum(
        np.linalg.matrix_power(A, k) @ X @ np.linalg.matrix_power(scale * H_bar, k)
        for k in range(5)
    )
    np.testing.assert_allclose(B, expected, rtol=1e-3, atol=1e-6)

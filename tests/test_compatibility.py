"""Sinkhorn, Ĥ, H̄₀, Φ and the way back, against loops and closed forms."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.compatibility import (
    centering_penalty,
    compatibility_error,
    edge_frequency,
    enhanced_belief,
    estimate_compatibility,
    initial_H_bar,
    recalibration,
    recover_compatibility,
    sinkhorn_knopp,
)
from cpgnn.errors import InputError, NumericalNotice
from cpgnn.homophily import compatibility_matrix
from toys import Toy, softmax, toys

SEEDS = st.integers(0, 2**16)


def balanced_by_loops(M: np.ndarray) -> np.ndarray:
    """Sinkhorn–Knopp on scaling vectors: find r, s with diag(r) M diag(s) doubly stochastic."""
    r, s = np.ones(len(M)), np.ones(len(M))
    for _ in range(20_000):
        s = 1 / (M.T @ r)
        before, r = r, 1 / (M @ s)
        if np.allclose(r, before, rtol=1e-14):
            break
    return r[:, None] * M * s


@st.composite
def doubly_stochastic(draw: st.DrawFn) -> np.ndarray:
    """Symmetric: mixtures of P + Pᵀ over permutation matrices (exact zeros may stay)."""
    c = draw(st.integers(2, 4))
    every = list(permutations(range(c)))
    chosen = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4))
    shares = draw(
        st.lists(st.floats(0.05, 1), min_size=len(chosen), max_size=len(chosen)).map(np.array)
    )
    mixture = sum(
        w * np.eye(c)[list(p)] for w, p in zip(shares / shares.sum(), chosen, strict=True)
    )
    return (mixture + mixture.T) / 2


# -- Sinkhorn ----------------------------------------


@given(st.integers(2, 5), SEEDS)
def test_sinkhorn_is_the_doubly_stochastic_scaling(c, seed):
    M = np.random.default_rng(seed).uniform(0.05, 1, (c, c))
    matrix, rounds, residual = sinkhorn_knopp(M)
    np.testing.assert_allclose(matrix, balanced_by_loops(M), atol=1e-9)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, atol=1e-10)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-10)
    assert residual < 1e-10
    assert 1 <= rounds < 1000
    # Scaling rows and columns keeps the cross-ratios M_ij M_kl / (M_il M_kj).
    ratio = matrix / M
    np.testing.assert_allclose(ratio * ratio[0, 0], np.outer(ratio[:, 0], ratio[0]), rtol=1e-9)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_sinkhorn_of_two_classes_in_closed_form(p, q):
    """[[p, 1-p], [1-q, q]] becomes [[x, 1-x], [1-x, x]] with x/(1-x) = √(pq/((1-p)(1-q)))."""
    odds = np.sqrt(p * q / ((1 - p) * (1 - q)))
    x = odds / (1 + odds)
    matrix = sinkhorn_knopp(np.array([[p, 1 - p], [1 - q, q]])).matrix
    np.testing.assert_allclose(matrix, [[x, 1 - x], [1 - x, x]], atol=1e-8)


def test_a_rare_class_looks_balanced_after_sinkhorn():
    """The method's example: √(.99·.1/(.01·.9)) = √11 and √11/(1 + √11) = .768."""
    matrix = sinkhorn_knopp(np.array([[0.99, 0.01], [0.9, 0.1]])).matrix
    np.testing.assert_allclose(matrix, [[0.77, 0.23], [0.23, 0.77]], atol=0.005)


def test_doubly_stochastic_matrices_stay():
    H = np.array([[0.0, 0.7, 0.3], [0.7, 0.1, 0.2], [0.3, 0.2, 0.5]])
    matrix, rounds, _ = sinkhorn_knopp(H)
    np.testing.assert_allclose(matrix, H, atol=1e-12)
    assert rounds == 1


def test_zero_rows_and_columns_become_uniform_first():
    expected = balanced_by_loops(np.array([[0.5, 0.5], [0.9, 0.1]]))
    np.testing.assert_allclose(sinkhorn_knopp([[0, 0], [0.9, 0.1]]).matrix, expected, atol=1e-9)
    expected = balanced_by_loops(np.array([[0.5, 0.3], [0.5, 0.7]]))
    np.testing.assert_allclose(sinkhorn_knopp([[0, 0.3], [0, 0.7]]).matrix, expected, atol=1e-9)
    np.testing.assert_allclose(sinkhorn_knopp(np.zeros((3, 3))).matrix, 1 / 3)


def test_slow_convergence_returns_the_last_iterate_and_says_how_good_it_is():
    """[[0, 1], [.5, .5]] has no doubly stochastic scaling; iterates creep towards the swap."""
    with pytest.warns(NumericalNotice, match=r"after 3000 rounds with column sums off by 1\.7e-04"):
        matrix, rounds, residual = sinkhorn_knopp(np.array([[0, 1], [0.5, 0.5]]))
    assert rounds == 3000
    assert residual == pytest.approx(np.abs(matrix.sum(axis=0) - 1).max())
    assert 1e-6 < residual < 1e-3
    np.testing.assert_allclose(matrix, [[0, 1], [1, 0]], atol=1e-3)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), r"The matrix must be square. Got \(2, 3\)"),
        ([[1, -1], [0, 1]], "The matrix must be finite and not negative"),
        ([[1, np.nan], [0, 1]], "The matrix must be finite and not negative"),
    ],
)
def test_sinkhorn_refuses(matrix, message):
    with pytest.raises(InputError, match=message):
        sinkhorn_knopp(np.array(matrix))


# -- Ĥ ---------------------------------------------------------------------------------------------


def estimate_by_loops(A, B_tilde, train, y, c, weighting) -> np.ndarray:
    """Y_trainᵀAB̃ node by node and edge by edge, then the two rules for missing classes."""
    rows = [np.zeros(c) for _ in range(c)]
    for u in train:
        heard = sum(A[u, v] * B_tilde[v] for v in range(len(A)))
        if weighting == "node" and heard.sum() > 0:
            heard = heard / heard.sum()
        rows[y[u]] += heard
    known = [i for i in range(c) if rows[i].sum() > 0]
    unknown = [i for i in range(c) if i not in known]
    H = np.zeros((c, c))
    for i in known:
        H[i] = rows[i] / rows[i].sum()
    for i in unknown:
        for j in known:
            H[i, j] = H[j, i]
        for j in unknown:
            H[i, j] = max(0.0, 1 - sum(H[i, k] for k in known)) / len(unknown)
    return balanced_by_loops(H)


@pytest.mark.parametrize("weighting", ["edge", "node"])
@given(toy=toys(density=1.0, isolated=1), seed=SEEDS, num_train=st.integers(1, 3))
def test_estimate_against_loops(weighting, toy: Toy, seed, num_train):
    """Few training nodes: often a class, or two, has none."""
    rng = np.random.default_rng(seed)
    B_p = softmax(rng.normal(size=(toy.n, toy.c)))
    train = np.sort(rng.permutation(toy.n)[:num_train])
    B_tilde = B_p.copy()
    for u in train:
        B_tilde[u] = np.eye(toy.c)[toy.y[u]]
    np.testing.assert_array_equal(enhanced_belief(B_p, toy.y, train), B_tilde)

    A = sp.csr_array(toy.A)[train]
    H = estimate_compatibility(A, B_tilde, toy.y[train], weighting=weighting)
    expected = estimate_by_loops(toy.A, B_tilde, train, toy.y, toy.c, weighting)
    assert np.isfinite(H).all()
    np.testing.assert_allclose(H, expected, atol=1e-5)


def test_a_class_without_training_nodes_takes_its_row_from_the_column():
    """Rows a and b are known; c's is (.2, .5) from column c, and 1 - .7 for itself."""
    A = sp.csr_array(np.eye(2))
    beliefs = np.array([[0.5, 0.3, 0.2], [0.3, 0.2, 0.5]])
    H = estimate_compatibility(A, beliefs, np.array([0, 1]))
    expected = [[0.5, 0.3, 0.2], [0.3, 0.2, 0.5], [0.2, 0.5, 0.3]]
    np.testing.assert_allclose(H, expected, atol=1e-9)


def test_two_classes_without_training_nodes_share_what_is_left():
    beliefs = np.array([[0.5, 0.3, 0.2]])
    H = estimate_compatibility(sp.csr_array(np.eye(1)), beliefs, np.array([0]))
    raw = np.array([[0.5, 0.3, 0.2], [0.3, 0.35, 0.35], [0.2, 0.4, 0.4]])
    np.testing.assert_allclose(H, balanced_by_loops(raw), atol=1e-9)


def test_weightings_differ_where_degrees_do():
    """A hub of class a with 9 neighbours in b, and a leaf of a whose neighbour is in a."""
    A = np.zeros((2, 10))
    A[0, :9] = 1
    A[1, 9] = 1
    beliefs = np.array([[0.1, 0.9]] * 9 + [[0.9, 0.1]])
    y = np.array([0, 0])
    by_edge = np.array([9 * 0.1 + 0.9, 9 * 0.9 + 0.1]) / 10
    by_node = np.array([0.5, 0.5])
    for weighting, row in (("edge", by_edge), ("node", by_node)):
        H = estimate_compatibility(sp.csr_array(A), beliefs, y, weighting=weighting)
        raw = np.array([row, [row[1], 1 - row[1]]])
        np.testing.assert_allclose(H, balanced_by_loops(raw), atol=1e-9)


def test_isolated_training_nodes_say_nothing():
    H = estimate_compatibility(sp.csr_array((2, 2)), np.full((2, 2), 0.5), np.array([0, 1]))
    np.testing.assert_allclose(H, 0.5)


@pytest.mark.parametrize("weighting", ["edge", "node"])
@given(toy=toys(density=1.0, isolated=1), seed=SEEDS)
def test_a_training_node_without_a_label_says_nothing(weighting, toy: Toy, seed):
    """As if it were not among the training nodes; it speaks to its neighbours with its prior."""
    rng = np.random.default_rng(seed)
    B_p = softmax(rng.normal(size=(toy.n, toy.c)))
    y, train = toy.y.copy(), np.arange(toy.n)
    y[rng.permutation(toy.n)[:2]] = -1
    B_tilde = enhanced_belief(B_p, y, train)
    for u in range(toy.n):
        np.testing.assert_array_equal(B_tilde[u], B_p[u] if y[u] < 0 else np.eye(toy.c)[y[u]])
    H = estimate_compatibility(sp.csr_array(toy.A), B_tilde, y, weighting=weighting)
    known = np.flatnonzero(y >= 0)
    expected = estimate_by_loops(toy.A, B_tilde, known, y, toy.c, weighting)
    np.testing.assert_allclose(H, expected, atol=1e-5)


def test_weighting_is_edge_or_node():
    with pytest.raises(InputError, match=r"'weighting' must be 'edge' or 'node'\. Got 'both'"):
        estimate_compatibility(
            sp.csr_array((1, 1)), np.ones((1, 2)), np.array([0]), weighting="both"
        )


# -- centring and the way back ----------------------------------------


@given(doubly_stochastic())
def test_there_and_back(H):
    H_bar = initial_H_bar(H)
    np.testing.assert_allclose(H_bar, H_bar.T)
    np.testing.assert_allclose(H_bar.sum(axis=1), 0, atol=1e-12)
    assert recalibration(H_bar) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(recover_compatibility(H_bar), H, atol=1e-8)


@given(st.integers(2, 4), SEEDS)
def test_there_and_back_for_positive_matrices(c, seed):
    M = np.random.default_rng(seed).uniform(0.01, 1, (c, c))
    H = balanced_by_loops(M + M.T)
    np.testing.assert_allclose(recover_compatibility(initial_H_bar(H)), H, atol=1e-8)


@pytest.mark.parametrize("made", [np.array, list])
def test_the_initial_matrix_is_made_symmetric(made):
    H_bar = initial_H_bar(made([[0.8, 0.2], [0.6, 0.4]]))
    np.testing.assert_allclose(H_bar, [[0.3, -0.1], [-0.1, -0.1]])


@given(st.integers(2, 5), SEEDS, st.floats(0.01, 20))
def test_alpha_is_the_smallest_valid_one(c, seed, scale):
    H_bar = np.random.default_rng(seed).normal(scale=scale, size=(c, c))
    alpha = recalibration(H_bar)

    def valid(a: float, slack: float) -> bool:
        H = H_bar / a + 1 / c
        return bool((-slack <= H).all() and (1 + slack >= H).all())

    assert alpha >= 1
    assert valid(alpha, 1e-12)
    assert alpha == 1 or not valid(alpha * (1 - 1e-6), 1e-12)


@given(st.floats(0.51, 30))
def test_two_classes_beyond_one_half_become_the_extreme(x):
    """H̄ = [[-x, x], [x, -x]]: α = 2x and H̄/α + ½ is the swap itself, whatever x > ½."""
    H_bar = np.array([[-x, x], [x, -x]])
    assert recalibration(H_bar) == pytest.approx(2 * x)
    np.testing.assert_allclose(recover_compatibility(H_bar), [[0, 1], [1, 0]], atol=1e-12)


def test_two_classes_uncentred_and_alpha_above_one_converge_slowly():
    """α puts an exact 0 beside 0.75: no scaling balances that, so the notice must come."""
    H_bar = np.array([[-1.0, 1.0], [1.0, 0.5]])
    assert recalibration(H_bar) == 2.0
    with pytest.warns(NumericalNotice, match="Sinkhorn stopped after 3000 rounds"):
        H = recover_compatibility(H_bar)
    assert np.isfinite(H).all()
    np.testing.assert_allclose(H, [[0, 1], [1, 0]], atol=1e-3)


def test_three_classes_with_alpha_above_one():
    H_bar = np.array([[-1.0, 0.7, 0.3], [0.7, -0.4, -0.3], [0.3, -0.3, 0.0]])
    assert recalibration(H_bar) == pytest.approx(3.0)
    H = recover_compatibility(H_bar)
    np.testing.assert_allclose(H, H_bar / 3 + 1 / 3, atol=1e-9)  # centred: already balanced


# -- Φ and errors ----------------------------------------


@given(st.integers(2, 5), SEEDS)
def test_centering_penalty_and_its_gradient(c, seed):
    H_bar = np.random.default_rng(seed).normal(size=(c, c))
    tensor = torch.tensor(H_bar, requires_grad=True)
    value = centering_penalty(tensor)
    value.backward()
    assert value.item() == pytest.approx(sum(abs(sum(row)) for row in H_bar.tolist()))
    sign = np.sign(H_bar.sum(axis=1))
    np.testing.assert_allclose(tensor.grad.numpy(), np.repeat(sign[:, None], c, axis=1))


def test_compatibility_error_is_the_mean_over_rows_with_evidence():
    H = np.array([[0.5, 0.5], [np.nan, np.nan]])
    assert compatibility_error(np.array([[0.6, 0.4], [0.0, 1.0]]), H) == pytest.approx(0.1)
    full = np.array([[0.5, 0.5], [0.2, 0.8]])
    assert compatibility_error(np.array([[0.6, 0.4], [0.0, 1.0]]), full) == pytest.approx(0.15)


# -- edge frequencies ----------------------------------------


@given(toys())
def test_edge_frequency_of_certain_beliefs_is_definition_2(toy: Toy):
    one_hot = np.eye(toy.c)[toy.y]
    np.testing.assert_allclose(
        edge_frequency(toy.graph.adjacency, one_hot), compatibility_matrix(toy.graph), atol=1e-12
    )


@given(toys(), SEEDS)
def test_edge_frequency_against_a_sum_over_edges(toy: Toy, seed):
    B = softmax(np.random.default_rng(seed).normal(size=(toy.n, toy.c)))
    C = sum(toy.A[u, v] * np.outer(B[u], B[v]) for u in range(toy.n) for v in range(toy.n))
    F = edge_frequency(toy.graph.adjacency, B)
    if toy.A.any():
        np.testing.assert_allclose(F, C / C.sum(axis=1, keepdims=True), atol=1e-12)
    else:
        assert np.isnan(F).all()


def test_edge_frequency_is_not_the_balanced_matrix():
    """99 edges inside the frequent class, one to each of two rare nodes."""
    n = 101
    A = np.zeros((n, n))
    for u in range(99):
        A[u, (u + 1) % 99] = A[(u + 1) % 99, u] = 1
    A[0, 99] = A[99, 0] = A[1, 100] = A[100, 1] = 1
    B = np.eye(2)[[0] * 99 + [1] * 2]
    np.testing.assert_allclose(edge_frequency(sp.csr_array(A), B), [[0.99, 0.01], [1, 0]])

"""B̄^(K) against the closed form Σ_k A^k B̄^(0) H̄^k, and its gradient against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from cpgnn.engine import views
from cpgnn.propagation import prior_belief, propagate
from toys import Toy, array, softmax, toys
from toys import toy as make

SEEDS = st.integers(0, 2**16)
LAYERS = [0, 1, 2, 3, 4]


def random_inputs(toy: Toy, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(toy.n, toy.c)), rng.normal(size=(toy.c, toy.c)) / 2


def closed_form(A: np.ndarray, B_0: np.ndarray, H_bar: np.ndarray, K: int) -> np.ndarray:
    power = np.linalg.matrix_power
    return sum(power(A, k) @ B_0 @ power(H_bar, k) for k in range(K + 1))


@pytest.mark.parametrize("K", LAYERS)
@given(toy=toys(), seed=SEEDS)
def test_sparse_and_dense_against_the_closed_form(K, toy: Toy, seed):
    B_0, H_bar = random_inputs(toy, seed)
    expected = closed_form(toy.A, B_0, H_bar, K)
    B, H = torch.from_numpy(B_0), torch.from_numpy(H_bar)
    operator = toy.graph.view(dtype=torch.float64).operator()
    np.testing.assert_allclose(array(propagate(operator, B, H, K)), expected, rtol=1e-9, atol=1e-9)
    dense = torch.from_numpy(toy.A)
    np.testing.assert_allclose(array(propagate(dense, B, H, K)), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(array(B), B_0)  # pure: its inputs stay as they were


@pytest.mark.parametrize("K", LAYERS)
def test_float32_keeps_five_digits(K):
    toy = make(1, weighted=True)
    B_0, H_bar = random_inputs(toy, 2)
    operator = toy.graph.view().operator()
    B = propagate(operator, torch.tensor(B_0).float(), torch.tensor(H_bar).float(), K)
    expected = closed_form(toy.A, B_0, H_bar, K)
    assert np.abs(array(B) - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("K", LAYERS)
@given(toy=toys(), seed=SEEDS)
def test_gradient_is_that_of_dense_autograd(K, toy: Toy, seed):
    B_0, H_bar = random_inputs(toy, seed)
    weights = torch.from_numpy(np.random.default_rng(seed + 1).normal(size=B_0.shape))
    gradients = []
    for A in (toy.graph.view(dtype=torch.float64).operator(), torch.from_numpy(toy.A)):
        B = torch.tensor(B_0, requires_grad=True)
        H = torch.tensor(H_bar, requires_grad=True)
        (propagate(A, B, H, K) * weights).sum().backward()
        gradients.append((B.grad, H.grad if K else torch.zeros(1)))
    for ours, dense in zip(*gradients, strict=True):
        np.testing.assert_allclose(array(ours), array(dense), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("K", LAYERS)
@pytest.mark.parametrize("kind", ["none", "sym", "row"])
def test_gradient_is_that_of_finite_differences(K, kind):
    toy = make(5, n=6, weighted=True)
    A = toy.graph.view(dtype=torch.float64).operator(kind)
    B_0, H_bar = (torch.tensor(x, requires_grad=True) for x in random_inputs(toy, 4))
    assert gradcheck(lambda B, H: propagate(A, B, H, K), (B_0, H_bar), atol=1e-6)


def test_gradient_from_the_adjoint_by_hand():
    """K = 1, L = ⟨G, B_0 + A B_0 H⟩: ∂L/∂B_0 = G + Aᵀ G Hᵀ and ∂L/∂H = (A B_0)ᵀ G."""
    toy = make(7, weighted=True)
    B_0, H_bar = random_inputs(toy, 8)
    G = np.random.default_rng(9).normal(size=B_0.shape)
    B, H = torch.tensor(B_0, requires_grad=True), torch.tensor(H_bar, requires_grad=True)
    A = toy.graph.view(dtype=torch.float64).operator()
    propagate(A, B, H, 1).backward(torch.from_numpy(G))
    np.testing.assert_allclose(array(B.grad), G + toy.A.T @ G @ H_bar.T, atol=1e-10)
    np.testing.assert_allclose(array(H.grad), (toy.A @ B_0).T @ G, atol=1e-10)


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("saturated", [0.0, 0.5, 1.0])
@given(toy=toys(), seed=SEEDS)
def test_on_a_receptive_field_only_the_first_rows_are_trained(saturated, K, toy: Toy, seed):
    """One matrix for each layer, ever fewer nodes; the loss sees only the first of them."""
    rng = np.random.default_rng(seed)
    B_0, H_bar = random_inputs(toy, seed)
    nodes = rng.permutation(toy.n)[: max(1, toy.n // 2)]
    trained = int(rng.integers(1, len(nodes) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "SATURATED", saturated)
        view = toy.graph.view(dtype=torch.float64).of(nodes, trained=trained)
        field = view.field(K)
        layers = [v.operator() for v in reversed(field[:-1])]
    outermost = np.arange(toy.n) if field[-1].nodes is None else field[-1].nodes
    weights = torch.from_numpy(rng.normal(size=(trained, toy.c)))
    base, H = torch.tensor(B_0, requires_grad=True), torch.tensor(H_bar, requires_grad=True)
    got = propagate(layers, base[outermost], H, K)
    np.testing.assert_allclose(
        array(got), closed_form(toy.A, B_0, H_bar, K)[nodes], rtol=1e-8, atol=1e-8
    )
    ours = torch.autograd.grad((got[:trained] * weights).sum(), (base, H))
    whole = propagate(torch.from_numpy(toy.A), base, H, K)[nodes]
    theirs = torch.autograd.grad((whole[:trained] * weights).sum(), (base, H))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(array(one), array(other), rtol=1e-8, atol=1e-8)


@given(st.integers(1, 7), st.integers(2, 5), SEEDS, st.sampled_from([1.0, 30.0]))
def test_prior_belief_and_its_gradient(n, c, seed, scale):
    rng = np.random.default_rng(seed)
    R = torch.tensor(rng.normal(scale=scale, size=(n, c)), requires_grad=True)
    G = rng.normal(size=(n, c))
    B_p, P = prior_belief(R), softmax(array(R))
    np.testing.assert_allclose(array(B_p), P, atol=1e-12)
    B_p.backward(torch.from_numpy(G))
    jacobians = [np.diag(p) - np.outer(p, p) for p in P]
    np.testing.assert_allclose(
        array(R.grad), [J @ g for J, g in zip(jacobians, G, strict=True)], atol=1e-12
    )

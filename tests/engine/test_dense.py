"""Products and softmaxes of narrow matrices against the plain formulas and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from cpgnn.engine.dense import (
    by_columns,
    by_rows,
    centered_softmax,
    cross_entropy,
    relu_network,
    relu_product,
    take_rows,
)
from toys import array, softmax


def random(seed: int, *shape: int, scale: float = 1.0) -> torch.Tensor:
    values = np.random.default_rng(seed).normal(scale=scale, size=shape)
    return torch.from_numpy(values).requires_grad_()


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**16))
def test_product(n, hidden, c, seed):
    Z, W = random(seed, n, hidden), random(seed + 1, hidden, c)
    G = np.random.default_rng(seed + 2).normal(size=(n, c))
    R = np.maximum(array(Z), 0)
    product = relu_product(Z, W)
    np.testing.assert_allclose(array(product), R @ array(W), atol=1e-12)
    product.backward(torch.from_numpy(G))
    np.testing.assert_allclose(array(Z.grad), (G @ array(W).T) * (array(Z) > 0), atol=1e-12)
    np.testing.assert_allclose(array(W.grad), R.T @ G, atol=1e-12)


def test_network_in_blocks(monkeypatch):
    monkeypatch.setattr("cpgnn.engine.dense.BLOCK", 3)
    X, W_1, W_2 = random(0, 8, 2).detach(), random(1, 2, 5), random(2, 5, 3)
    G = np.random.default_rng(3).normal(size=(8, 3))
    out = relu_network(X, W_1, W_2)
    Z = array(X) @ array(W_1)
    np.testing.assert_allclose(array(out), np.maximum(Z, 0) @ array(W_2), atol=1e-12)
    out.backward(torch.from_numpy(G))
    to_Z = (G @ array(W_2).T) * (Z > 0)
    np.testing.assert_allclose(array(W_1.grad), array(X).T @ to_Z, atol=1e-12)
    np.testing.assert_allclose(array(W_2.grad), np.maximum(Z, 0).T @ G, atol=1e-12)


@pytest.mark.parametrize("by_columns", [False, True])
def test_rows_and_their_gradient(by_columns):
    values, rows = random(0, 6, 3), torch.tensor([4, 0, 3])
    taken = take_rows(values.t().contiguous().t() if by_columns else values, rows)
    np.testing.assert_array_equal(array(taken), array(values)[[4, 0, 3]])
    G = np.random.default_rng(1).normal(size=(3, 3))
    taken.backward(torch.from_numpy(G))
    expected = np.zeros((6, 3))
    expected[[4, 0, 3]] = G
    np.testing.assert_array_equal(array(values.grad), expected)


@given(st.integers(1, 7), st.integers(2, 5), st.integers(0, 2**16), st.sampled_from([1.0, 30.0]))
def test_softmax(n, c, seed, scale):
    R = random(seed, n, c, scale=scale)
    G = np.random.default_rng(seed + 2).normal(size=(n, c))
    B = centered_softmax(R)
    P = softmax(array(R))
    np.testing.assert_allclose(array(B), P - 1 / c, atol=1e-12)
    B.backward(torch.from_numpy(G))
    jacobians = [np.diag(p) - np.outer(p, p) for p in P]
    np.testing.assert_allclose(
        array(R.grad), [J @ g for J, g in zip(jacobians, G, strict=True)], atol=1e-12
    )


@given(st.integers(1, 7), st.integers(2, 5), st.integers(0, 2**16), st.booleans())
def test_cross_entropy_of_some_rows(n, c, seed, by_columns):
    rng = np.random.default_rng(seed)
    R = random(seed, n, c, scale=3)
    t = rng.integers(1, n + 1)
    y, share = rng.integers(0, c, t), rng.uniform(0.1, 2, t)
    P = softmax(array(R))[:t]
    shares = torch.zeros(c, n, dtype=torch.float64)
    shares[torch.from_numpy(y), torch.arange(t)] = -torch.from_numpy(share)
    loss = cross_entropy(R.t().contiguous().t() if by_columns else R, shares)
    assert loss.item() == pytest.approx(-(share * np.log(P[np.arange(t), y])).sum())
    (2 * loss).backward()
    expected = np.zeros((n, c))
    expected[:t] = 2 * share[:, None] * (P - np.eye(c)[y])
    np.testing.assert_allclose(array(R.grad), expected, atol=1e-12)


@pytest.mark.parametrize("n", [7, 5000])
@pytest.mark.parametrize("c", [1, 5, 12])
def test_the_two_layouts(n, c):
    B = random(0, n, c).detach()
    for stored in (B, B.t().contiguous().t(), torch.cat([B, B], dim=1)[:, :c]):
        assert by_rows(stored).is_contiguous()
        assert by_columns(stored).is_contiguous()
        np.testing.assert_array_equal(array(by_rows(stored)), array(B))
        np.testing.assert_array_equal(array(by_columns(stored)), array(B).T)


def test_gradients_against_finite_differences():
    R, W = random(0, 5, 4), random(1, 4, 3)
    assert gradcheck(relu_product, (R, W))
    assert gradcheck(centered_softmax, (R,))
    assert gradcheck(lambda R: centered_softmax(relu_product(R, W)), (R,))


def test_a_column_of_a_larger_gradient_is_enough():
    """Gradients may arrive as expanded or sliced tensors."""
    R, W = random(0, 5, 4), random(1, 4, 3)
    relu_product(R, W)[1:3].sum().backward()
    mask = np.zeros((5, 3))
    mask[1:3] = 1
    np.testing.assert_allclose(array(R.grad), (mask @ array(W).T) * (array(R) > 0))
    np.testing.assert_allclose(array(W.grad), np.maximum(array(R), 0).T @ mask)


def test_a_second_derivative_is_refused_rather_than_wrong():
    Z, W = (torch.randn(shape, requires_grad=True) for shape in ((4, 3), (3, 2)))
    with pytest.raises(NotImplementedError, match="create_graph"):
        torch.autograd.grad(relu_product(Z, W).sum(), W, create_graph=True)

"""Products and softmaxes of narrow matrices against the plain formulas and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from cpgnn.dense import centered_softmax, mean_cross_entropy, narrow_product
from toys import array, softmax


def random(seed: int, *shape: int, scale: float = 1.0) -> torch.Tensor:
    values = np.random.default_rng(seed).normal(scale=scale, size=shape)
    return torch.from_numpy(values).requires_grad_()


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**16))
def test_product(n, hidden, c, seed):
    R, W = random(seed, n, hidden), random(seed + 1, hidden, c)
    G = np.random.default_rng(seed + 2).normal(size=(n, c))
    product = narrow_product(R, W)
    np.testing.assert_allclose(array(product), array(R) @ array(W), atol=1e-12)
    product.backward(torch.from_numpy(G))
    np.testing.assert_allclose(array(R.grad), G @ array(W).T, atol=1e-12)
    np.testing.assert_allclose(array(W.grad), array(R).T @ G, atol=1e-12)


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
def test_cross_entropy(n, c, seed, weighted):
    rng = np.random.default_rng(seed)
    logits = random(seed, n, c, scale=3)
    y = rng.integers(0, c, n)
    weight = rng.uniform(0.1, 2, c) if weighted else np.ones(c)
    P = softmax(array(logits))
    share = weight[y] / weight[y].sum()
    loss = mean_cross_entropy(
        logits, torch.from_numpy(y), torch.from_numpy(weight) if weighted else None
    )
    assert loss.item() == pytest.approx(-(share * np.log(P[np.arange(n), y])).sum())
    loss.backward()
    np.testing.assert_allclose(array(logits.grad), share[:, None] * (P - np.eye(c)[y]), atol=1e-12)


def test_gradients_against_finite_differences():
    R, W = random(0, 5, 4), random(1, 4, 3)
    assert gradcheck(narrow_product, (R, W))
    assert gradcheck(centered_softmax, (R,))
    assert gradcheck(lambda R: centered_softmax(narrow_product(R, W)), (R,))


def test_a_column_of_a_larger_gradient_is_enough():
    """Gradients may arrive as expanded or sliced tensors."""
    R, W = random(0, 5, 4), random(1, 4, 3)
    narrow_product(R, W)[1:3].sum().backward()
    mask = np.zeros((5, 3))
    mask[1:3] = 1
    np.testing.assert_allclose(array(R.grad), mask @ array(W).T)
    np.testing.assert_allclose(array(W.grad), array(R).T @ mask)

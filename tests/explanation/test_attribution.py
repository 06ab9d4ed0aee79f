"""What each input adds to an output, against finite steps, every order and every subset."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax

from cpgnn.explanation.attribution import (
    cheby_terms,
    network_slopes,
    sampled_shapley,
    through_softmax,
)
from cpgnn.priors import ChebyPrior
from cpgnn.priors.network import Network
from toys import toy


def network(rng, F, hidden=5, c=3):
    shapes = ((F, hidden), (hidden,), (hidden, c), (c,))
    return Network(*(rng.normal(size=shape) for shape in shapes))


def logits(net, x):
    return np.maximum(x @ net.W + net.b, 0) @ net.W_2 + net.b_2


def test_slopes_of_a_network_are_its_gradients_along_the_way():
    rng = np.random.default_rng(0)
    net, x = network(rng, 4), rng.normal(size=4)
    slopes, start = network_slopes(net, x)
    np.testing.assert_allclose(x @ slopes + start, logits(net, x), atol=1e-12)
    np.testing.assert_allclose(start, logits(net, np.zeros(4)), atol=1e-12)
    alpha, h = (np.arange(4000) + 0.5) / 4000, 1e-6
    for f in range(4):
        step = h * np.eye(4)[f]
        way = alpha[:, None] * x
        gradient = (logits(net, way + step) - logits(net, way - step)) / (2 * h)
        np.testing.assert_allclose(slopes[f], gradient.mean(axis=0), atol=5e-3)


def test_a_unit_that_nothing_moves_keeps_its_slope():
    """W x = 0 exactly: the share of the way is that of the bias."""
    net = Network(np.ones((2, 1)), np.array([0.5]), np.ones((1, 2)), np.zeros(2))
    slopes, _ = network_slopes(net, np.array([1.0, -1.0]))
    np.testing.assert_allclose(slopes, 1.0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 300.0])
def test_terms_of_beliefs_sum_to_the_beliefs(scale):
    rng = np.random.default_rng(1)
    terms = scale * rng.normal(size=(5, 4))
    R = terms.sum(axis=0)
    made = through_softmax(terms, R)
    np.testing.assert_allclose(made.sum(axis=0) + 1 / 4, softmax(R), atol=1e-4)
    np.testing.assert_allclose(made.sum(axis=1), 0, atol=1e-12)
    if scale == 1.0:
        alpha, h = (np.arange(2000) + 0.5) / 2000, 1e-5
        step = h * terms[0]
        ahead, behind = (softmax(alpha[:, None] * R + s, axis=1) for s in (step, -step))
        np.testing.assert_allclose(made[0], (ahead - behind).mean(axis=0) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("num_features", [None, 4])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_terms_of_a_chebyshev_prior_are_changes_of_its_features(num_features, order):
    """Of a piecewise linear map without biases, x_uf ∂R/∂x_uf; here by finite steps."""
    small = toy(2, n=9, num_features=num_features, weighted=True)
    prior = ChebyPrior(small.graph, hidden=6, order=order, seed=3).double().eval()
    R = prior(small.graph).detach().numpy()
    for v in (0, 4, 8):
        made = cheby_terms(prior, small.graph, v)
        np.testing.assert_allclose(made.sum(axis=(0, 1)), R[v], atol=1e-6)
        if num_features is None:
            continue
        for f in range(4):
            changed = small.X.copy()
            changed[v, f] *= 1 + 1e-3
            moved = prior(small.graph.with_features(changed.astype(np.float32))).detach().numpy()
            np.testing.assert_allclose(made[0, f], (moved[v] - R[v]) / 1e-3, atol=1e-2)


@pytest.mark.parametrize("sparse", [False, True])
def test_sampled_values_are_those_of_every_order(sparse):
    """Three columns: Shapley values are the mean over all six orders and all backgrounds."""
    rng = np.random.default_rng(5)
    x, background = np.array([1.0, 2.0, 0.0]), rng.integers(0, 3, (4, 3)).astype(float)

    def f(rows):
        rows = rows.toarray() if sp.issparse(rows) else rows
        product = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) * rows[:, 0]
        return np.stack([product, -product], axis=1)

    exact = np.zeros((3, 2))
    for b in background:
        for order in permutations(range(3)):
            row = b.copy()
            for column in order:
                before = f(row[None])[0]
                row[column] = x[column]
                exact[column] += (f(row[None])[0] - before) / (6 * len(background))
    given = (x[None], background)
    phi, start, errors = sampled_shapley(f, *(map(sp.csr_array, given) if sparse else given))
    np.testing.assert_allclose(phi.sum(axis=0) + start, f(x[None])[0], atol=1e-12)
    assert (np.abs(phi - exact) <= 4 * errors + 1e-12).all()
    assert errors.max() < 0.2

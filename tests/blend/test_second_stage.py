"""The second stage against second derivations on tiny graphs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from cpgnn.blend.second_stage import (
    Hearers,
    Stage,
    Taught,
    beliefs,
    fit_second_stage,
    fit_stage,
    in_every_world,
)
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.relations.relation import edges

ORDERS = [0, 1, 2], [2, 0, 1]


@pytest.fixture
def path() -> sp.csr_array:
    """0 - 1 - 2 - 3, and 1 - 4; 5 is alone."""
    A = np.zeros((6, 6), dtype=np.float32)
    for u, v in ((0, 1), (1, 2), (2, 3), (1, 4)):
        A[u, v] = A[v, u] = 1
    return sp.csr_array(A)


def test_stage_has_a_zero_gradient_and_no_backward_prior():
    rng = np.random.default_rng(0)
    N, M, R, c = 60, 2, 2, 3
    L, Z = log_softmax(rng.normal(size=(N, M, c)), axis=2), rng.normal(size=(N, R, c))
    y = rng.integers(0, c, N)
    w_0 = np.full(M, 0.5)
    stage = fit_stage(Taught(L, Z, y, np.full(N, 1 / N)), 1.0, w_0)
    assert (stage.w >= 0).all()

    def value(H):
        s2 = (Z**2).mean(axis=(0, 2)) * c
        logits = np.einsum("nmc,m->nc", L, stage.w) + stage.b + np.einsum("nrc,rcd->nd", Z, H)
        return (
            -log_softmax(logits, axis=1)[np.arange(N), y].mean()
            + (s2[:, None, None] * H**2).sum() / N
        )

    step = 1e-4
    for place in ((0, 0, 0), (1, 2, 1)):
        up, down = stage.H_bar.copy(), stage.H_bar.copy()
        up[place] += step
        down[place] -= step
        assert abs(value(up) - value(down)) / (2 * step) < 1e-3


@pytest.mark.parametrize("worlds", [None, 3])
def test_what_is_heard_is_the_dense_sum(path, worlds):
    rng = np.random.default_rng(1)
    shape = (6, 2) if worlds is None else (worlds, 6, 2)
    B, logs = rng.random(shape).astype(np.float32), [rng.normal(size=shape).astype(np.float32)]
    P = [edges(path).propagator(gamma) for gamma in (0.5, 1.0)]
    stage = Stage(np.array([0.7]), rng.normal(size=2), rng.normal(size=(2, 2, 2)))
    dense = 0.7 * logs[0] + stage.b
    for p, H_bar in zip(P, stage.H_bar, strict=True):
        dense = dense + p.toarray() @ (B - 0.5) @ H_bar
    assert np.allclose(stage.everywhere(logs, [Hearers.of(p) for p in P], B), dense, atol=1e-5)


@pytest.mark.parametrize("first", [0, 1])
def test_a_relation_that_few_have_is_the_dense_sum_too(path, first):
    """Only 4 hears somebody (1) by it; first and last of two."""
    few = path.toarray() * (np.arange(6) == 4)[:, None]
    both = [sp.csr_array(few), path]
    P = [both[first], both[1 - first]]
    rng = np.random.default_rng(1)
    B, logs = rng.random((3, 6, 2)).astype(np.float32), [np.zeros((3, 6, 2), dtype=np.float32)]
    stage = Stage(np.array([1.0]), np.zeros(2), rng.normal(size=(2, 2, 2)))
    dense = sum(p.toarray() @ (B - 0.5) @ H for p, H in zip(P, stage.H_bar, strict=True))
    made = [Hearers.of(p) for p in P]
    assert [one.rows is None for one in made] == [first == 1, first == 0]
    assert np.allclose(stage.everywhere(logs, made, B), dense, atol=1e-5)


def test_beliefs_are_the_softmax_of_logits_however_large():
    logits = np.array([[[900.0, 901.0, -900.0], [0.0, 0.0, 0.0]]], dtype=np.float32)
    assert np.allclose(beliefs(logits), softmax(logits, axis=2), atol=1e-7)


def test_a_graph_that_decides_is_heard():
    """Priors know nothing, neighbours' labels everything: opposites attract."""
    n = 200
    labels = np.arange(n) % 2
    rng = np.random.default_rng(2)
    A = np.zeros((n, n), dtype=np.float32)
    for v in range(n):
        for u in rng.choice(np.flatnonzero(labels != labels[v]), 3, replace=False):
            A[v, u] = A[u, v] = 1
    worlds = Worlds.of(labels, 2, np.arange(150), np.arange(150, 200))
    logs = [np.full((6, n, 2), np.log(0.5), dtype=np.float32)]
    second = fit_second_stage(logs, [edges(sp.csr_array(A)).propagator(1.0)], worlds)
    assert (second.honest.argmax(1) == labels[worlds.judged]).mean() > 0.98
    H = second.stages[-1].H_bar[0]
    assert H[0, 1] > H[0, 0]
    assert H[1, 0] > H[1, 1]


def test_several_relations_in_dense_algebra_and_in_any_order():
    """Logits of the last round: Σ_r P_r (B − 1/c) H̄_r by dense products; the order of relations
    changes nothing."""
    rng = np.random.default_rng(3)
    n, c = 60, 3
    y = rng.integers(0, c, n)
    matrices = [(rng.random((n, n)) < 0.1).astype(np.float32) for _ in range(3)]
    P = [edges(sp.csr_array(A)).propagator(0.5) for A in matrices]
    worlds = Worlds.of(y, c, np.arange(40), np.arange(40, 50))
    logs = [log_softmax(rng.normal(size=(6, n, c)).astype(np.float32), axis=2)]
    one, other = (fit_second_stage(logs, [P[r] for r in order], worlds) for order in ORDERS)
    np.testing.assert_allclose(one.honest, other.honest, atol=1e-3)
    np.testing.assert_allclose(one.stages[-1].H_bar[ORDERS[1]], other.stages[-1].H_bar, atol=1e-3)
    made = in_every_world(one, logs, P, worlds)[-1]
    logits = one.w_0[0] * logs[0][-1]
    for stage in one.stages:
        B = np.exp(log_softmax(logits, axis=1))
        B[:40] = np.eye(c)[y[:40]]
        logits = stage.w[0] * logs[0][-1] + stage.b
        for A, H_bar in zip(matrices, stage.H_bar, strict=True):
            degree = A.sum(axis=1, keepdims=True)
            dense = np.divide(A, np.sqrt(degree), out=np.zeros_like(A), where=degree > 0)
            logits = logits + dense @ (B - 1 / c) @ H_bar
    np.testing.assert_allclose(made, logits, atol=1e-4)


def test_where_nobody_counts_the_priors_stay_alone(path):
    """All priors weigh the same, and no neighbour is heard."""
    rng, worlds = np.random.default_rng(0), Worlds.of(np.arange(6), 6, np.arange(6), np.arange(0))
    logs = [
        log_softmax(rng.normal(size=(worlds.num_worlds, 6, 6)), axis=2).astype(np.float32)
        for _ in range(2)
    ]
    made = fit_second_stage(logs, [path], worlds)
    for stage in made.stages:
        assert stage.w.tolist() == [0.5, 0.5]
        assert not stage.b.any()
        assert not stage.H_bar.any()
    np.testing.assert_allclose(made.honest, worlds.honest((logs[0] + logs[1]) / 2), atol=1e-6)

"""The prototype of the next default against second derivations on tiny graphs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from portfolio.second_stage import fit_second_stage, fit_stage, heard

from cpgnn.cross_fitting import Worlds
from cpgnn.relations import edges, two_hops
from portfolio import columns as col


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


def test_core_numbers_of_a_triangle_with_a_tail():
    A = np.zeros((4, 4), dtype=np.float32)
    for u, v in ((0, 1), (1, 2), (0, 2), (2, 3)):
        A[u, v] = A[v, u] = 1
    assert list(col.core_number(sp.csr_array(A))) == [2, 2, 2, 1]
    assert col.clustering(sp.csr_array(A)) == pytest.approx([1, 1, 1 / 3, 0])


def test_no_world_knows_its_own_fold():
    labels = np.arange(40) % 4
    worlds = Worlds.of(labels, 4, np.arange(30), np.arange(30, 35), num_folds=5)
    assert (worlds.labels[35:] == -1).all()
    B = worlds.with_labels(np.full((6, 40, 4), 0.25, dtype=np.float32))
    for f in range(5):
        held = worlds.train[worlds.fold == f]
        assert (B[f, held] == 0.25).all()
        assert len(np.intersect1d(held, worlds.fits(f))) == 0
    assert (B[5, :30].max(axis=1) == 1).all()
    assert (B[5, 30:] == 0.25).all()


def test_missing_values_leave_the_mean_of_the_others(path):
    Z = np.array([[1], [np.nan], [3], [4], [np.nan], [5]], dtype=np.float32)
    near = col.hops(path, Z, steps=1)[1].ravel()
    assert near[1] == 2  # of 1, 3 and a missing one
    assert np.isnan(near[[0, 5]]).all()


def test_stage_has_a_zero_gradient_and_no_backward_prior():
    rng = np.random.default_rng(0)
    N, M, R, c = 60, 2, 2, 3
    L, Z = log_softmax(rng.normal(size=(N, M, c)), axis=2), rng.normal(size=(N, R, c))
    y = rng.integers(0, c, N)
    w_0 = np.full(M, 0.5)
    stage = fit_stage(L, Z, y, 1.0, w_0)
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
        up, down = stage.H.copy(), stage.H.copy()
        up[place] += step
        down[place] -= step
        assert abs(value(up) - value(down)) / (2 * step) < 1e-3


def test_heard_is_the_dense_product(path):
    rng = np.random.default_rng(1)
    B = rng.random((3, 6, 2)).astype(np.float32)
    P = edges(path).propagator(1.0)
    assert np.allclose(heard(P, B), np.einsum("vu,kuc->kvc", P.toarray(), B - 0.5), atol=1e-6)


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
    logs = np.full((1, 6, n, 2), np.log(0.5), dtype=np.float32)
    second = fit_second_stage(logs, [edges(sp.csr_array(A)).propagator(1.0)], worlds)
    assert (second.honest.argmax(1) == labels[worlds.judged]).mean() > 0.98
    H = second.stage.H[0]
    assert H[0, 1] > H[0, 0]
    assert H[1, 0] > H[1, 1]

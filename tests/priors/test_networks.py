"""Networks of all worlds side by side, against networks trained one by one and dense algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import log_softmax, softmax

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.priors import networks, together
from cpgnn.priors.network import Network
from cpgnn.priors.networks import Copies, Descent, Judge, fit_bag, fit_networks, operator
from cpgnn.priors.together import fit_together

HOW = Descent(hidden=8, dropout=0.0, epochs=40, patience=40)


@pytest.fixture
def case():
    """90 nodes of three classes, told apart by their columns; 60 train, 15 choose."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 5)).astype(np.float32)
    X[np.arange(90), y] += 2
    return X, Worlds.of(y, 3, np.arange(60), np.arange(60, 75), num_folds=3)


def test_copies_do_not_touch_each_other(case):
    """The gradient of a world's loss is that of a network trained on its nodes alone."""
    X, worlds = case
    judge, nets = Judge(worlds), Copies(5, 3, worlds.num_worlds, HOW)
    judge.training_loss(nets(operator(X, worlds.train))).backward()
    for f in range(worlds.num_worlds):
        alone = Copies(5, 3, 1, HOW)
        nodes = worlds.fits(f)
        logits = alone(torch.from_numpy(X[nodes]))[0]
        y = torch.from_numpy(worlds.labels[nodes])
        torch.nn.functional.cross_entropy(logits, y).backward()
        assert torch.allclose(nets.W.grad[:, 8 * f : 8 * f + 8], alone.W.grad, atol=1e-6)
        assert torch.allclose(nets.W_2.grad[f], alone.W_2.grad[0], atol=1e-6)


@pytest.fixture
def small_steps(monkeypatch):
    """No step may take all rows: batches of 16."""
    monkeypatch.setattr(networks, "MAX_STEP", 1)
    monkeypatch.setattr(networks, "BATCH", 1)
    monkeypatch.setattr(networks, "LEAST_ROWS", 16)


def test_what_batches_teach_adds_up_to_what_all_rows_teach(case, small_steps):
    X, worlds = case
    judge, nets = Judge(worlds), Copies(5, 3, worlds.num_worlds, HOW)
    parts = networks.batches(X, worlds, HOW)
    assert [len(part) for part in parts] == [16, 16, 16, 12]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(60))
    rows = [worlds.train[part.numpy()] for part in parts]
    sums = [judge.training_loss(nets(operator(X, r)), p) for r, p in zip(rows, parts, strict=True)]
    whole = judge.training_loss(nets(operator(X, worlds.train)))
    assert torch.allclose(torch.stack(sums).sum(), whole, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_batches_learn_what_all_rows_do(case, small_steps, kind):
    X, worlds = case
    network, logs = fit_networks(kind(X), worlds, replace(HOW, epochs=200))
    dense = np.maximum(X @ network.W + network.b, 0) @ network.W_2 + network.b_2
    assert np.allclose(log_softmax(dense, axis=1), logs[-1], atol=1e-5)
    assert (worlds.honest(logs).argmax(axis=1) == worlds.labels[worlds.judged]).mean() > 0.8


def test_in_batches_a_world_does_not_see_the_labels_of_its_fold(case, small_steps, monkeypatch):
    monkeypatch.setattr(networks, "PASSES", 2)  # which end at the first look at the honest loss
    X, worlds = case
    other = replace(worlds, labels=worlds.labels.copy())
    held = worlds.train[worlds.fold == 1]
    other.labels[held] = (other.labels[held] + 1) % 3
    how = Descent(hidden=8, epochs=8)
    found, again = fit_networks(X, worlds, how)[1], fit_networks(X, other, how)[1]
    assert np.array_equal(found[1], again[1])
    assert not np.allclose(found[0], again[0])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_kept_network_says_what_the_last_world_said(case, kind):
    X, worlds = case
    network, logs = fit_networks(kind(X), worlds, HOW)
    dense = np.maximum(X @ network.W + network.b, 0) @ network.W_2 + network.b_2
    assert np.allclose(log_softmax(dense, axis=1), logs[-1], atol=1e-5)
    assert (worlds.honest(logs).argmax(axis=1) == worlds.labels[worlds.judged]).mean() > 0.8


def test_columns_that_no_labelled_node_has_say_nothing(case, monkeypatch):
    X, worlds = case
    wide = np.zeros((90, 40), dtype=np.float32)
    wide[:, ::8], wide[75:, 1::8] = X, 1  # columns of all nodes, and of those without a label
    network, logs = fit_networks(sp.csr_array(wide), worlds, HOW)
    used = [np.flatnonzero(wide.any(axis=0)), None]
    monkeypatch.setattr(networks, "_used", lambda _: used.pop(0))
    whole, every = fit_networks(sp.csr_array(wide), worlds, HOW)
    assert np.allclose(worlds.honest(logs), worlds.honest(every), atol=1e-4)
    assert np.allclose(network.W[::8], whole.W[::8], atol=1e-4)
    assert whole.W[1::8].any()
    assert not network.W[1::8].any()


def test_a_world_does_not_see_the_labels_of_its_fold(case):
    X, worlds = case
    shuffled = worlds.labels.copy()
    held = worlds.train[worlds.fold == 1]
    shuffled[held] = (shuffled[held] + 1) % 3
    other = Worlds.of(shuffled, 3, worlds.train, worlds.val, num_folds=3)
    other = Worlds(shuffled, 3, worlds.train, worlds.val, worlds.fold, 3, other.class_weight)
    how = Descent(hidden=8, dropout=0.0, epochs=8, check=8)  # stopped by its number of epochs
    assert np.allclose(fit_networks(X, worlds, how)[1][1], fit_networks(X, other, how)[1][1])


def test_together_is_the_equation_in_dense_algebra(case):
    X, worlds = case
    A = np.zeros((90, 90), dtype=np.float32)
    for v in range(90):
        A[v, (v + 1) % 90] = A[(v + 1) % 90, v] = 0.5
    made, logs = fit_together(X, [sp.csr_array(A), sp.csr_array(A @ A)], worlds, HOW)
    R = made.network.logits(X)
    B = softmax(R, axis=1) - 1 / 3
    dense = R + A @ B @ made.H_bar[0] + A @ A @ B @ made.H_bar[1]
    assert np.allclose(log_softmax(dense, axis=1), logs[-1], atol=1e-4)
    assert made.H_bar[0][0, 1] > made.H_bar[0][0, 0]  # the next on the ring is of the next class


def test_only_those_speak_whom_somebody_hears(monkeypatch):
    """Forty labels on a ring of 400: as if everybody spoke while it trained."""
    rng, everyone = np.random.default_rng(2), np.arange(400)
    y = everyone % 3
    X = rng.normal(size=(400, 5)).astype(np.float32)
    X[everyone, y] += 2
    ring = sp.coo_array((np.ones(400, np.float32), (everyone, (everyone + 1) % 400))).tocsr()
    P = [sp.csr_array(ring + ring.T)]
    known = rng.permutation(400)
    worlds = Worlds.of(y, 3, known[:30], known[30:40], num_folds=3)
    around = np.concatenate([(known[:40] + step) % 400 for step in (-1, 0, 1)])
    assert np.array_equal(together.whom_they_hear(worlds.judged, P), np.unique(around))
    how = replace(HOW, dropout=0.5)
    few, few_logs = fit_together(X, P, worlds, how)
    monkeypatch.setattr(together, "whom_they_hear", lambda *_: everyone)
    every, every_logs = fit_together(X, P, worlds, how)
    assert np.abs(few.H_bar).max() > 0.05
    assert np.allclose(few.H_bar, every.H_bar, atol=1e-4)
    assert np.allclose(few_logs, every_logs, atol=1e-3)


def test_a_network_reads_sparse_and_dense_alike(monkeypatch):
    """And many rows in parts."""
    rng = np.random.default_rng(1)
    shapes = ((4, 3), (3,), (3, 2), (2,))
    network = Network(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    X = sp.random_array((7, 4), density=0.5, rng=rng, format="csr", dtype=np.float32)
    R = network.logits(X)
    assert np.allclose(R, network.logits(X.toarray()), atol=1e-6)
    monkeypatch.setattr("cpgnn.priors.network.CHUNK", 3)
    assert np.allclose(R, network.logits(X), atol=1e-6)


def test_a_bag_says_the_mean_of_its_networks(case):
    """Against networks fitted one by one; a bag of one is that network."""
    X, worlds = case
    bag, logs = fit_bag(X, worlds, HOW, 2)
    first, first_logs = fit_networks(X, worlds, HOW)
    second, second_logs = fit_networks(X, worlds, replace(HOW, seed=1))
    mean = (first.logits(X) + second.logits(X)) / 2
    assert not np.allclose(first.logits(X), second.logits(X), atol=1e-2)
    assert np.allclose(bag.logits(X), mean, atol=1e-5)
    assert np.allclose(logs, (first_logs + second_logs) / 2, atol=1e-6)
    alone, alone_logs = fit_bag(X, worlds, HOW, 1)
    assert np.array_equal(alone.logits(X), first.logits(X))
    assert np.array_equal(alone_logs, first_logs)

"""No world knows the labels of its own fold."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.selection.self_training import with_guesses


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


def test_a_world_guesses_without_the_labels_of_its_fold():
    """Other labels in a fold change nothing of what its own world is taught."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    worlds = Worlds.of(y, 4, np.arange(20), np.arange(20, 24), num_folds=5)
    logits = rng.normal(size=(6, 40, 4)).astype(np.float32)
    taught = with_guesses(worlds, logits, np.arange(38))
    assert not np.isin([38, 39], taught.guessed).any()
    for f in range(6):
        nodes, classes = taught.lesson(f)
        assert len(np.unique(nodes)) == len(nodes)
        known = np.isin(nodes, worlds.fits(f))
        assert set(nodes[known]) == set(worlds.fits(f))
        assert (classes[known] == y[nodes[known]]).all()
        assert (classes[~known] == logits[f, nodes[~known]].argmax(axis=1)).all()
        assert (taught.weights()[f] > 0).sum() == len(nodes)
        assert taught.weights()[f].sum() == pytest.approx(1)


def test_judged_nodes_are_guessed_as_often_as_others():
    """In the world that judges them: it would else be surer about the others."""
    rng = np.random.default_rng(0)
    worlds = Worlds.of(np.arange(4000) % 4, 4, np.arange(1000), np.arange(1000, 2000), num_folds=5)
    logits = rng.normal(size=(6, 4000, 4)).astype(np.float32)
    taught = with_guesses(worlds, logits, np.arange(4000))
    for f in range(6):
        judged = worlds.judged[worlds.world == f]
        nodes, _ = taught.lesson(f)
        shares = [np.isin(part, nodes).mean() for part in (judged, np.arange(2000, 4000))]
        assert shares == pytest.approx([0.5, 0.5], abs=0.1)


def test_a_node_counts_where_another_of_its_class_trains():
    """Looked up node by node; class 2 has one training node, class 3 only a validation node."""
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3])
    worlds = Worlds.of(labels, 4, np.array([0, 1, 2, 3, 4, 5]), np.array([6, 7]), num_folds=3)
    for i, v in enumerate(worlds.judged):
        others = [u for u in worlds.fits(worlds.world[i]) if u != v and labels[u] == labels[v]]
        assert worlds.counts[i] == bool(others)
    assert worlds.counts.tolist() == [True] * 5 + [False, True, False]
    np.testing.assert_allclose(worlds.shares(), worlds.counts / 6, rtol=1e-6)


def test_where_every_class_has_one_label_nobody_counts():
    worlds = Worlds.of(np.arange(5), 5, np.arange(5), np.empty(0, dtype=int))
    assert not worlds.counts.any()
    assert (worlds.shares() == 0).all()

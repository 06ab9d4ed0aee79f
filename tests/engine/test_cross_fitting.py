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
    assert not np.isin(taught.guessed, np.append(np.arange(24), [38, 39])).any()
    for f in range(6):
        nodes, classes = taught.lesson(f)
        guessed = nodes >= 24
        assert set(nodes[~guessed]) == set(worlds.fits(f))
        assert (classes[guessed] == logits[f, nodes[guessed]].argmax(axis=1)).all()
        assert (classes[~guessed] == y[nodes[~guessed]]).all()
        assert (taught.weights()[f] > 0).sum() == len(nodes)
        assert taught.weights()[f].sum() == pytest.approx(1)

"""No world knows the labels of its own fold."""

from __future__ import annotations

import numpy as np

from cpgnn.cross_fitting import Worlds


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

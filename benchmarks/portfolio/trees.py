"""Gradient-boosted trees as a prior, cross-fitted, by LightGBM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.special import log_softmax

from cpgnn.cross_fitting import Worlds


@dataclass(frozen=True)
class Boosting:
    """How trees are grown."""

    rounds: int = 200
    patience: int = 15
    check: int = 3
    learning_rate: float = 0.1
    leaves: int = 7
    least: int = 10
    """Training nodes in a leaf, at least (fewer where there are few nodes)."""
    feature_share: float = 0.5
    row_share: float = 0.8
    ridge: float = 1.0
    seed: int = 0

    def parameters(self, c: int, N: int) -> dict[str, Any]:
        return {
            "objective": "multiclass" if c > 2 else "binary",
            **({"num_class": c} if c > 2 else {}),
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": int(np.clip(N // 30, 2, self.least)),
            "feature_fraction": self.feature_share,
            "bagging_fraction": self.row_share,
            "bagging_freq": 1,
            "lambda_l2": self.ridge,
            "max_bin": 63,
            "min_data_in_bin": 1,
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
            "seed": self.seed,
            "verbosity": -1,
            "feature_pre_filter": False,
        }


Columns = Callable[[int], Any]
"""world -> [n, d], dense (NaN: missing) or CSR; the same for all where no label goes in."""


def fit_trees(columns: Columns, worlds: Worlds, how: Boosting) -> np.ndarray:
    """log B [k + 1, n, c].

    The k folds grow side by side, a round at a time, until the honest loss over all of them has
    not fallen for `patience` rounds; its best round is what every world keeps, the last (all
    labels) is grown to just that.
    """
    c, k = worlds.num_classes, worlds.num_folds
    present = np.unique(worlds.labels[worlds.train])
    code = np.full(c, -1)
    code[present] = np.arange(len(present))
    parameters = how.parameters(len(present), len(worlds.train))
    boosters, sizes = [], []
    for f in range(k):
        X, fits, held = columns(f), worlds.fits(f), worlds.train[worlds.fold == f]
        data = lgb.Dataset(X[fits], code[worlds.labels[fits]], params=parameters)
        booster = lgb.Booster(parameters, data)
        held_out = lgb.Dataset(
            X[held], code[worlds.labels[held]], reference=data, params=parameters
        )
        booster.add_valid(held_out, "held")
        boosters.append(booster)
        sizes.append(len(held))
    rounds, best = 1, np.inf
    for r in range(how.rounds):
        stuck = [booster.update() for booster in boosters]
        if (r + 1) % how.check and not all(stuck):
            continue
        loss = sum(
            size * booster.eval_valid()[0][2] for size, booster in zip(sizes, boosters, strict=True)
        )
        if loss < best:
            best, rounds = loss, r + 1
        elif r + 1 - rounds >= how.patience or all(stuck):
            break
    data = lgb.Dataset(
        columns(k)[worlds.train], code[worlds.labels[worlds.train]], params=parameters
    )
    boosters.append(lgb.train(parameters, data, rounds))
    out = np.full((k + 1, len(worlds.labels), c), np.log(1e-6), dtype=np.float32)
    for f, booster in enumerate(boosters):
        raw = booster.predict(columns(f), raw_score=True, num_iteration=rounds)
        if len(present) == 2:
            raw = np.stack([-raw / 2, raw / 2], axis=1)
        out[f][:, present] = raw
    return log_softmax(out, axis=2)

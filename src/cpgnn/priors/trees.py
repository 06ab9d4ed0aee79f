"""Gradient-boosted trees as a prior, cross-fitted, by LightGBM.

Missing values (NaN) are split natively. The same input and seed give the same bits: one thread, no
clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from cpgnn.engine.arrays import dense
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.priors.tree_scores import read_trees
from cpgnn.priors.tree_text import check_text

if TYPE_CHECKING:
    from lightgbm import Booster, Dataset

    from cpgnn.engine.loop import Begin

ABSENT = float(np.log(1e-6))
"""The logit of a class that no training node has."""
MANY_ROWS = 10_000
"""From so many rows on, reading the trees takes less time than it saves."""
END = "end of trees\n"
"""What follows in LightGBM's text (settings, importances) is not needed to predict."""


@dataclass(frozen=True)
class Boosting:
    """How trees are grown."""

    rounds: int = 200
    patience: int = 15
    check: int = 3
    """The honest loss is looked at every so many rounds."""
    learning_rate: float = 0.1
    leaves: int = 7
    least: int = 10
    """Training nodes in a leaf, at least (fewer where there are few nodes)."""
    feature_share: float = 0.5
    row_share: float = 0.8
    ridge: float = 1.0
    seed: int = 0

    def parameters(self, c: int, N: int) -> dict[str, Any]:
        """LightGBM's, for c classes and N training nodes."""
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
            "seed": self.seed % 2**31,
            "verbosity": -1,
            "feature_pre_filter": False,
        }


@dataclass(frozen=True, eq=False)
class Trees:
    """What is kept of a fit: all that prediction needs."""

    text: str
    """LightGBM's own text, up to the last tree; empty where there is nothing to grow them from."""
    present: tuple[int, ...]
    """The classes of training nodes, in the order of the scores; the others get `ABSENT`."""
    num_classes: int
    num_columns: int

    def __post_init__(self) -> None:
        """A ValueError where the text is not of such trees: it may be somebody else's."""
        if self.text:
            outputs = len(self.present) if len(self.present) > 2 else 1
            check_text(self.text, self.num_columns, outputs)

    def logits(self, X: Any) -> np.ndarray:
        """[n, c] float32: raw scores of X [n, F], dense (NaN: missing) or CSR."""
        return self._logits(X, self._booster)

    def contributions(self, X: Any) -> np.ndarray:
        """[n, c, F + 1]: what each column adds to each logit (TreeSHAP); last, what all start from.

        The sum over the last axis is `logits`.
        """
        out = np.zeros((X.shape[0], self.num_classes, self.num_columns + 1))
        out[:, :, -1] = ABSENT
        out[:, self.present, -1] = 0
        if self._booster is not None and X.shape[0]:
            raw = np.asarray(self._booster.predict(dense(X), pred_contrib=True, num_threads=1))
            out[:, self.present] = self._each(raw.reshape(len(raw), -1, self.num_columns + 1))
        return out

    def _logits(self, X: Any, booster: Booster | None, rounds: int = -1) -> np.ndarray:
        out = np.full((X.shape[0], self.num_classes), ABSENT, dtype=np.float32)
        if booster is None:
            out[:, self.present] = 0
        elif X.shape[0]:
            raw = _raw_scores(X, booster, rounds)
            out[:, self.present] = self._each(raw.reshape(X.shape[0], -1))
        return out

    def _each(self, raw: np.ndarray) -> np.ndarray:
        """Scores of each class [n, present, ...]; for two classes LightGBM has one, s: ± s/2."""
        return np.concatenate([-raw / 2, raw / 2], axis=1) if len(self.present) == 2 else raw

    @cached_property
    def _booster(self) -> Booster | None:
        if not self.text:
            return None
        import lightgbm

        return lightgbm.Booster(model_str=self.text)


def fit_trees(
    X: Any,
    worlds: Worlds,
    how: Boosting,
    *,
    weight: np.ndarray | None = None,
    begin: Begin | None = None,
) -> tuple[Trees, np.ndarray]:
    """The trees that know every training label, and log B [k + 1, n, c] of all worlds.

    The k folds grow side by side, a round at a time, until the honest loss over all of them has
    not fallen for `patience` rounds; its best round is what every world keeps, the last (all
    labels) is grown to just that.

    X: [n, F], dense (NaN: missing) or CSR. weight [c]: what a node of each class counts for.
    """
    c, k = worlds.num_classes, worlds.num_folds
    present = np.unique(worlds.labels[worlds.train])
    sizes = tuple(int(i) for i in present), c, X.shape[1]
    least = min(len(worlds.lesson(f)[0]) for f in range(k))
    if len(present) < 2 or least < 2:  # a share of one row is none
        trees = Trees("", *sizes)
        return trees, np.repeat(log_softmax(trees.logits(X), axis=1)[None], k + 1, axis=0)
    import lightgbm

    parameters = how.parameters(len(present), len(worlds.train))
    count = np.ones(c) if weight is None else np.asarray(weight, dtype=float)

    def data(nodes: np.ndarray, y: np.ndarray, like: Dataset | None = None) -> Dataset:
        return lightgbm.Dataset(
            _rows(X[nodes]),
            np.searchsorted(present, y),
            weight=None if weight is None else count[y],
            reference=like,
            params=parameters,
        )

    growing = []
    for f in range(k):
        fits = data(*worlds.lesson(f))
        held = worlds.train[(worlds.fold == f) & worlds.counts[: len(worlds.train)]]
        booster = lightgbm.Booster(parameters, fits)
        if len(held):
            booster.add_valid(data(held, worlds.labels[held], fits), "held")
        growing.append((booster, float(count[worlds.labels[held]].sum())))
    rounds = _grow(growing, how, begin)
    last = lightgbm.train(parameters, data(*worlds.lesson(k)), rounds)
    text = last.model_to_string()
    trees = Trees(text[: text.index(END) + len(END)], *sizes)
    grown = [*(booster for booster, _ in growing), last]
    logits = (trees._logits(X, booster, rounds) for booster in grown)
    return trees, np.stack([log_softmax(values, axis=1) for values in logits])


def _grow(growing: list[tuple[Booster, float]], how: Boosting, begin: Begin | None) -> int:
    """Grows all folds; the number of rounds with the smallest loss of what they hold out."""
    from cpgnn.engine.loop import Epoch

    observe = begin("trees", how.rounds) if begin else None
    judged = max(sum(counted for _, counted in growing), 1e-12)
    rounds, best, loss = 1, np.inf, np.nan
    for r in range(1, how.rounds + 1):
        finished = [booster.update() for booster, _ in growing]
        stuck = all(finished)
        if stuck or r % how.check == 0:
            loss = sum(
                counted * booster.eval_valid()[0][2] for booster, counted in growing if counted
            )
            if loss < best:
                best, rounds = loss, r
        if observe is not None:  # the score is the geometric mean of what the true class is given
            observe(Epoch(1, r, loss / judged, np.nan, float(np.exp(-loss / judged))))
        if stuck or r - rounds >= how.patience:
            break
    return rounds


def _raw_scores(X: Any, booster: Booster, rounds: int) -> np.ndarray:
    """[n] or [n, outputs] of the first so many rounds (-1: all)."""
    if not sp.issparse(X) and X.dtype == np.float32 and len(X) >= MANY_ROWS:
        text = booster.model_to_string(num_iteration=rounds)
        trees = read_trees(text[: text.index(END)], booster.num_model_per_iteration())
        if trees is not None:
            return trees(X)
    raw = booster.predict(_rows(X), raw_score=True, num_iteration=rounds, num_threads=1)
    return np.asarray(raw)


def _rows(X: Any) -> Any:
    """X as LightGBM takes it."""
    return sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)

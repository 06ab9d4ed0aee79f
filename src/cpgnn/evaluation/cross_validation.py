"""What to expect where labels are few: every labelled node is held out in turn, again and again.

A fifth of twenty labels is four nodes, and four nodes say nothing. Here each labelled node is
predicted by a model that was chosen, trained and validated without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from cpgnn.engine.arrays import labels_of, num_stored
from cpgnn.graph import Graph
from cpgnn.splits import Split, stratified_split

FEW, FEW_POSITIVE = 50, 10
"""With fewer test nodes than this, or fewer of the class that is looked for, the scores come from
here."""
FOLDS, REPEATS = 5, 5
SECONDS, LONGEST = 60.0, 600.0
"""What it should take and what it may take, by the size of the graph (`expected_seconds`), never by
the clock: the same run is repeated as often on a busy machine."""

Predict = Callable[[Split], dict[str, np.ndarray]]
"""Trains on a split: what `CrossValidated` holds under these names, for all nodes [n, …]."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossValidated:
    """Predictions of t labelled nodes, r times, each by a model that had not seen their labels."""

    nodes: np.ndarray
    """[t]"""
    probabilities: np.ndarray
    """[r, t, c]"""
    without_graph: np.ndarray | None = None
    """[r, t, c], by models without the graph"""
    called: np.ndarray | None = None
    called_without: np.ndarray | None = None
    """[r, t]: whether each reaches the threshold of its model, of the one without the graph"""
    folds: int
    brief: bool = False
    """Whether models trained more briefly than the one they stand for."""

    def __str__(self) -> str:
        repeats = len(self.probabilities)
        again = f", repeated {repeats} times" if repeats > 1 else ""
        again += ", models trained briefly" if self.brief else ""
        return f"labelled nodes, each held out in turn ({self.folds}-fold cross-validation{again})"


def expected_seconds(graph: Graph, epochs: int = 0) -> float:
    """Roughly what one fit and its comparison without the graph take on one core.

    Of a blend; or of one of the paper's models that is trained for so many epochs.
    """
    E, X, F = graph.num_edges, num_stored(graph.features), graph.num_features or 0
    if epochs:
        return epochs * (1e-3 + 2e-8 * X + 2e-7 * E)
    return 0.4 + 4e-5 * X + 1e-4 * E + 1e-3 * F


def affordable(seconds: float, share: float) -> tuple[int, bool]:
    """How often all folds of such a fit are repeated, and whether briefly: a fit that is too long
    to be repeated once is repeated at this `share` of its length, if that is short enough.
    """
    whole = int(min(REPEATS, SECONDS // (FOLDS * seconds)))
    if whole:
        return whole, False
    return int(FOLDS * seconds * share <= LONGEST), share < 1


def cross_validated(
    labels: np.ndarray,
    predict: Predict,
    *,
    validation: float = 0.2,
    seed: int = 0,
    repeats: int = REPEATS,
    brief: bool = False,
) -> CrossValidated | None:
    """Repeated stratified cross-validation over the labelled nodes; None if none can be held out.

    labels [n], -1 = unknown. The only label of a class is trained on every time and never held
    out. Of the labels outside a fold, the share `validation` chooses the epoch.
    """
    sizes = np.bincount(labels[labels >= 0])
    several = np.flatnonzero(sizes > 1)
    nodes = np.flatnonzero(np.isin(labels, several))
    alone = np.flatnonzero((labels >= 0) & ~np.isin(labels, several))
    folds = min(FOLDS, int(sizes[several].min(initial=FOLDS)))
    if not repeats or len(several) < 2:
        return None
    found: dict[str, np.ndarray] = {}
    for repeat in range(repeats):
        dealt = StratifiedKFold(folds, shuffle=True, random_state=(seed + repeat) % 2**32)
        for others, fold in dealt.split(nodes, labels[nodes]):
            known = labels_of(labels, np.concatenate([nodes[others], alone]))
            drawn = stratified_split(known, validation=validation, seed=seed + repeat)
            made = predict(Split(drawn.train, drawn.val, nodes[fold]))
            for name, values in made.items():
                shape = (repeats, len(nodes), *values.shape[1:])
                every = found.setdefault(name, np.zeros(shape, values.dtype))
                every[repeat, fold] = values[nodes[fold]]
    return CrossValidated(nodes=nodes, folds=folds, brief=brief, **found)

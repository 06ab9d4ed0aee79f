"""What to expect where labels are few: every labelled node is held out in turn, again and again.

A fifth of twenty labels is four nodes, and four nodes say nothing. Here each labelled node is
predicted by a model that was chosen, trained and validated without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.model_selection import StratifiedKFold

from cpgnn.engine.arrays import labels_of
from cpgnn.splits import Split, stratified_split

FEW = 50
"""With fewer test nodes than this, the scores come from here."""
FOLDS, REPEATS = 5, 5
SECONDS = 60.0
"""What it may take: repeats that would take longer are left out, and all of it if one would."""

Predict = Callable[[Split], tuple[np.ndarray, np.ndarray | None]]
"""Trains on a split: probabilities [n, c] of a model, and of one without the graph if there is."""


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """Predictions of t labelled nodes, r times, each by a model that had not seen their labels."""

    nodes: np.ndarray
    """[t]"""
    probabilities: np.ndarray
    """[r, t, c]"""
    without_graph: np.ndarray | None
    """[r, t, c]"""
    folds: int

    def __str__(self) -> str:
        repeats = len(self.probabilities)
        again = f", repeated {repeats} times" if repeats > 1 else ""
        return f"labelled nodes, each held out in turn ({self.folds}-fold cross-validation{again})"


def cross_validated(
    labels: np.ndarray,
    predict: Predict,
    *,
    validation: float = 0.2,
    seed: int = 0,
    expected: float = 0.0,
    seconds: float | None = None,
) -> CrossValidated | None:
    """Repeated stratified cross-validation over the labelled nodes; None if it takes too long.

    labels [n], -1 = unknown. The only label of a class is trained on every time and never held
    out. Of the labels outside a fold, the share `validation` chooses the epoch. One training is
    `expected` to take so many seconds; all of them may take `seconds` (`SECONDS` if None).
    """
    seconds = SECONDS if seconds is None else seconds
    sizes = np.bincount(labels[labels >= 0])
    several = np.flatnonzero(sizes > 1)
    nodes = np.flatnonzero(np.isin(labels, several))
    alone = np.flatnonzero((labels >= 0) & ~np.isin(labels, several))
    y, start = labels[nodes], perf_counter()
    folds = min(FOLDS, int(sizes[several].min(initial=FOLDS)))
    if seconds <= 0 or len(several) < 2 or expected * folds > seconds:
        return None
    repeats: list[tuple[np.ndarray, np.ndarray | None]] = []
    for repeat in range(REPEATS):
        if repeat and (perf_counter() - start) * (repeat + 1) / repeat > seconds:
            break
        parts = []
        dealt = StratifiedKFold(folds, shuffle=True, random_state=seed + repeat)
        for others, fold in dealt.split(nodes, y):
            known = labels_of(labels, np.concatenate([nodes[others], alone]))
            drawn = stratified_split(known, validation=validation, seed=seed + repeat)
            P, blind = predict(Split(drawn.train, drawn.val, nodes[fold]))
            parts.append((fold, P[nodes[fold]], None if blind is None else blind[nodes[fold]]))
            if len(parts) == 1 and not repeat and (perf_counter() - start) * folds > seconds:
                return None
        order = np.argsort(np.concatenate([fold for fold, _, _ in parts]))
        ours = np.concatenate([P for _, P, _ in parts])[order]
        blinds = [blind for _, _, blind in parts if blind is not None]
        repeats.append((ours, np.concatenate(blinds)[order] if blinds else None))
    without = [blind for _, blind in repeats if blind is not None]
    return CrossValidated(
        nodes, np.stack([P for P, _ in repeats]), np.stack(without) if without else None, folds
    )

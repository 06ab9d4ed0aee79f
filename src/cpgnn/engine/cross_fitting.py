"""Cross-fitting: labelled nodes in k folds, and a world for each in which its labels are unknown.

World f < k is the graph in which the labels of fold f were never seen; world k knows every label
that may train. Whatever is fitted is fitted k + 1 times, once a world, and gives log-beliefs
[k + 1, n, c]. What is said about a training node v is *honest* in world fold(v), about every other
node in world k. A second stage, Ĥ, a temperature or a choice that reads honest beliefs knows what
a belief is worth on nodes whose label is unknown. A node whose class nobody has in its world
counts nothing there: beliefs would be rewarded for naming no class that they know.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Worlds:
    """k folds of the training nodes.

    train [N]: nodes whose labels fit weights. val [V]: nodes whose labels only choose (may be
    empty). fold [N]: the fold of each training node. labels [n]: read on train and val only.
    """

    labels: np.ndarray
    num_classes: int
    train: np.ndarray
    val: np.ndarray
    fold: np.ndarray
    num_folds: int
    class_weight: np.ndarray
    """[c]: what a node of each class counts."""
    guessed: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """[E]: nodes that train with a guess, where their label is unknown."""
    guesses: np.ndarray = field(default_factory=lambda: np.empty((1, 0), dtype=np.int64))
    """[k + 1, E]: what each world guessed, -1 if nothing."""

    @classmethod
    def of(
        cls,
        labels: np.ndarray,
        num_classes: int,
        train: np.ndarray,
        val: np.ndarray,
        *,
        num_folds: int = 5,
        class_weight: np.ndarray | None = None,
        seed: int = 0,
    ) -> Worlds:
        """Stratified folds: the nodes of every class are shuffled and dealt in turn."""
        num_folds = max(2, min(num_folds, len(train)))
        rng = np.random.default_rng(seed)
        fold = np.empty(len(train), dtype=np.int64)
        turn = 0
        for c in np.unique(labels[train]):
            places = rng.permutation(np.flatnonzero(labels[train] == c))
            fold[places] = (turn + np.arange(len(places))) % num_folds
            turn += len(places)
        hidden = np.full_like(labels, -1)
        known = np.concatenate([train, val])
        hidden[known] = labels[known]  # no other label can leak: it is not here
        weight = np.ones(num_classes) if class_weight is None else class_weight
        return cls(hidden, num_classes, train, val, fold, num_folds, weight)

    def among(self, nodes: np.ndarray) -> Worlds:
        """The same for the part of a graph that `nodes` are, in this order; all that is known of
        others than these must be nothing."""
        at = np.full(len(self.labels), -1)
        at[nodes] = np.arange(len(nodes))
        train, val, guessed = (at[part] for part in (self.train, self.val, self.guessed))
        labels = self.labels[nodes]
        return replace(self, labels=labels, train=train, val=val, guessed=guessed)

    @property
    def num_worlds(self) -> int:
        return self.num_folds + 1

    @property
    def judged(self) -> np.ndarray:
        """[N + V] nodes whose honest beliefs can be held against a label: train, then val."""
        return np.concatenate([self.train, self.val])

    @property
    def taught(self) -> np.ndarray:
        """[N + E] nodes that train: with their labels, then with a guess."""
        return np.concatenate([self.train, self.guessed])

    @property
    def lessons(self) -> np.ndarray:
        """[k + 1, N + E]: the class that each of them teaches in each world."""
        shape = (self.num_worlds, len(self.train))
        known = np.broadcast_to(self.labels[self.train], shape)
        guesses = np.broadcast_to(self.guesses, (self.num_worlds, len(self.guessed)))
        return np.concatenate([known, guesses], axis=1)

    def lesson(self, f: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that train in world f, and the classes that they teach there."""
        kept = self.lessons[f] >= 0
        kept[: len(self.fold)] = self.fold != f
        return self.taught[kept], self.lessons[f][kept]

    @property
    def world(self) -> np.ndarray:
        """[N + V] the world in which each judged node is honest."""
        return np.concatenate([self.fold, np.full(len(self.val), self.num_folds)])

    def fits(self, f: int) -> np.ndarray:
        """The nodes that train in world f."""
        return self.train[self.fold != f]

    def weights(self) -> np.ndarray:
        """[k + 1, N + E]: what a node counts in world f, 0 in that of its fold; sums to 1."""
        M = np.where(self.lessons >= 0, self.class_weight[self.lessons], 0.0)
        M[self.fold, np.arange(len(self.train))] = 0
        return (M / np.maximum(M.sum(axis=1, keepdims=True), 1e-12)).astype(np.float32)

    @cached_property
    def counts(self) -> np.ndarray:
        """[N + V]: whether somebody has the class of a judged node in its world."""
        y = self.labels[self.train]
        known = np.array(
            [
                np.bincount(y[self.fold != f], minlength=self.num_classes)
                for f in range(self.num_worlds)
            ]
        )
        return known[self.world, self.labels[self.judged]] > 0

    def shares(self) -> np.ndarray:
        """[N + V]: what a judged node counts in a mean over all of them; 0 where nobody counts."""
        weight = self.class_weight[self.labels[self.judged]] * self.counts
        return (weight / max(weight.sum(), 1e-12)).astype(np.float32)

    def honest(self, values: np.ndarray) -> np.ndarray:
        """[N + V, ...] of values [k + 1, n, ...]: each judged node in its own world."""
        return values[self.world, self.judged]

    def with_labels(self, beliefs: np.ndarray) -> np.ndarray:
        """B̃ [k + 1, n, c]: the one-hot label where a world knows it, the belief elsewhere."""
        B = beliefs.copy()
        one_hot = np.eye(self.num_classes, dtype=B.dtype)[self.labels[self.train]]
        for f in range(self.num_worlds):
            known = self.fold != f
            B[f, self.train[known]] = one_hot[known]
        return B

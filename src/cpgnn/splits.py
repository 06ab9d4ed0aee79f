"""Splits of the labelled nodes into training, validation and test nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from cpgnn.engine.arrays import as_positions
from cpgnn.errors import check_share, must_be

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of the nodes that train the weights, choose the epoch, and are looked at last."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray

    def __post_init__(self) -> None:
        for name in PARTS:
            object.__setattr__(self, name, as_positions(f"'{name}'", getattr(self, name)))
        everything = np.concatenate([self.train, self.val, self.test])
        if len(self.train) == 0:
            raise must_be("A split", "have at least one training node", "none")
        if len(np.unique(everything)) != len(everything):
            raise must_be("The parts of a split", "not share nodes", "a node in two parts")

    @classmethod
    def from_masks(cls, train: np.ndarray, val: np.ndarray, test: np.ndarray) -> Split:
        return cls(np.flatnonzero(train), np.flatnonzero(val), np.flatnonzero(test))

    def used_for(self, num_nodes: int) -> np.ndarray:
        """What each node is for: "train", "val", "test", or "" for nothing; [n] of objects."""
        parts = np.full(num_nodes, "", dtype=object)
        for name in PARTS:
            parts[getattr(self, name)] = name
        return parts


def stratified_split(
    labels: np.ndarray, *, validation: float = 0.2, test: float = 0.0, seed: int = 0
) -> Split:
    """A share of every class for test, a share of the rest for validation, the rest for training.

    Shares are rounded to the nearest node; every class keeps at least one training node and, if it
    has two nodes, at least one validation node.
    """
    check_share("validation", validation)
    check_share("test", test)
    rng = np.random.default_rng(seed)
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for nodes in _shuffled_classes(labels, rng):
        n = len(nodes)
        num_test = min(int(n * test + 0.5), max(n - 2, 0))
        rest = n - num_test
        num_val = int(rest * validation + 0.5)
        if validation > 0 and rest >= 2:
            num_val = max(num_val, 1)
        num_val = min(num_val, rest - 1)
        _deal(parts, nodes, rest - num_val, num_val)
    return _gathered(parts)


def per_class_split(
    labels: np.ndarray, *, train: float = 0.1, test: float = 0.8, seed: int = 0
) -> Split:
    """The paper's splits: of every class ⌊train·n_c⌋ nodes, ⌊test·n_c⌋, the rest for validation."""
    check_share("train", train)
    check_share("test", test)
    if train + test > 1 + 1e-9:
        raise must_be("'train' and 'test'", "add up to at most 1", f"{train} + {test}")
    rng = np.random.default_rng(seed)
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for nodes in _shuffled_classes(labels, rng):
        num_train = int(np.floor(train * len(nodes) + 1e-9))
        num_test = int(np.floor(test * len(nodes) + 1e-9))
        _deal(parts, nodes, num_train, len(nodes) - num_train - num_test)
    return _gathered(parts)


def exchanged(split: Split, labels: np.ndarray) -> Split:
    """The split with other validation nodes: they come from the training nodes, and go there.

    Every class keeps its numbers; a validation node stays one only where its class has too few
    training nodes to replace it.
    """
    parts: tuple[list[np.ndarray], ...] = ([], [], [split.test])
    for c in np.unique(labels[np.concatenate([split.train, split.val])]):
        train, val = (part[labels[part] == c] for part in (split.train, split.val))
        nodes = np.concatenate([train, val])
        parts[1].append(nodes[: len(val)])
        parts[0].append(nodes[len(val) :])
    return _gathered(parts)


def _shuffled_classes(labels: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    classes = np.unique(labels[labels >= 0])
    return [rng.permutation(np.flatnonzero(labels == c)) for c in classes]


def _deal(parts: tuple[list[np.ndarray], ...], nodes: np.ndarray, train: int, val: int) -> None:
    parts[0].append(nodes[:train])
    parts[1].append(nodes[train : train + val])
    parts[2].append(nodes[train + val :])


def _gathered(parts: tuple[list[np.ndarray], ...]) -> Split:
    empty = [np.empty(0, dtype=np.int64)]
    return Split(*(np.sort(np.concatenate(part or empty)) for part in parts))


def check_classes(labels: np.ndarray, names: Sequence[Hashable], split: Split) -> None:
    """Raises unless the training labels are of two classes at least."""
    present = np.unique(labels[split.train])
    known = [names[i] for i in present if i >= 0]
    if len(known) < 2:
        hint = "Label some nodes of another class."
        must = "include at least two classes"
        raise must_be("The training labels", must, known or "no label", hint)

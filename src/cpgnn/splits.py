"""Splits of the labelled nodes into training, validation and test nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cpgnn.engine.arrays import as_labels, as_positions
from cpgnn.engine.text import listed
from cpgnn.errors import check_share, must_be

if TYPE_CHECKING:
    from cpgnn.graph import Graph

PARTS = ("train", "val", "test")
NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of the nodes that train the weights, choose the epoch, and are looked at last."""

    train: np.ndarray
    val: np.ndarray = field(default_factory=lambda: NOBODY)
    test: np.ndarray = field(default_factory=lambda: NOBODY)

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
    labels: Any, *, validation: float = 0.2, test: float = 0.0, seed: int = 0
) -> Split:
    """A share of every class for test, a share of the rest for validation, the rest for training.

    `labels` [n]: classes; -1, None, NaN: unknown. Shares are rounded to the nearest node; every
    class keeps at least one training node and, if it has two nodes, at least one validation node.
    """
    check_share("validation", validation)
    check_share("test", test)
    parts = []
    for nodes in _shuffled_classes(labels, seed):
        n = len(nodes)
        num_test = min(int(n * test + 0.5), max(n - 2, 0))
        rest = n - num_test
        num_val = int(rest * validation + 0.5)
        if validation > 0 and rest >= 2:
            num_val = max(num_val, 1)
        num_val = min(num_val, rest - 1)
        parts.append(np.split(nodes, [rest - num_val, rest]))
    return _joined(parts)


def per_class_split(labels: Any, *, train: float = 0.1, test: float = 0.8, seed: int = 0) -> Split:
    """The paper's splits: of every class ⌊train·n_c⌋ nodes, ⌊test·n_c⌋, the rest for validation."""
    check_share("train", train)
    check_share("test", test)
    if train + test > 1 + 1e-9:
        raise must_be("'train' and 'test'", "add up to at most 1", f"{train} + {test}")
    parts = []
    for nodes in _shuffled_classes(labels, seed):
        num_train = int(np.floor(train * len(nodes) + 1e-9))
        num_test = int(np.floor(test * len(nodes) + 1e-9))
        parts.append(np.split(nodes, [num_train, len(nodes) - num_test]))
    return _joined(parts)


def exchanged(split: Split, labels: np.ndarray) -> Split:
    """The split with other validation nodes: they come from the training nodes, and go there.

    Every class keeps its numbers; a validation node stays one only where its class has too few
    training nodes to replace it.
    """
    parts = [[NOBODY, NOBODY, split.test]]
    for c in np.unique(labels[np.concatenate([split.train, split.val])]):
        train, val = (part[labels[part] == c] for part in (split.train, split.val))
        nodes = np.concatenate([train, val])
        parts.append([nodes[len(val) :], nodes[: len(val)], NOBODY])
    return _joined(parts)


def _shuffled_classes(labels: Any, seed: int) -> list[np.ndarray]:
    labels, _ = as_labels(labels, len(labels), None)
    rng = np.random.default_rng(seed)
    classes = np.unique(labels[labels >= 0])
    return [rng.permutation(np.flatnonzero(labels == c)) for c in classes]


def _joined(parts: list[list[np.ndarray]]) -> Split:
    """Training, validation and test nodes of every class, [classes][3], as one split."""
    every = zip([NOBODY] * 3, *parts, strict=True)
    return Split(*(np.sort(np.concatenate(part)) for part in every))


def check_split(graph: Graph, split: Split) -> None:
    """Raises unless the split is of nodes of the graph, and those that train or choose have labels;
    a test node needs none."""
    used = np.concatenate([split.train, split.val])
    largest = max(used.max(), split.test.max(initial=0))
    if largest >= graph.num_nodes:
        what = f"be below the number of nodes ({graph.num_nodes})"
        raise must_be("A position in the split", what, largest)
    bare = used[graph.labels[used] < 0]
    if len(bare):
        unlabelled = f"node {graph.node_ids[bare[0]]!r}"
        raise must_be("Training and validation nodes", "be labelled", unlabelled)


def check_classes(graph: Graph, split: Split) -> None:
    """Raises unless the split fits the graph, and two classes at least have training labels."""
    check_split(graph, split)
    known = [graph.class_names[i] for i in np.unique(graph.labels[split.train])]
    if len(known) < 2:
        hint = "Label some nodes of another class."
        must = "include at least two classes"
        raise must_be("The training labels", must, listed(known) if known else "no label", hint)

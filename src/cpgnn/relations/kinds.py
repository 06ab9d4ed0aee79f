"""Kinds of nodes: accounts, cards, devices. Labels sit on one kind, and only it is predicted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from cpgnn.engine.arrays import coded
from cpgnn.errors import Message, must_be, wrong_value

OTHER = "other"
"""The kind of nodes that no file names."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """What every node is."""

    codes: np.ndarray
    """Index into `names` [n]."""
    names: tuple[str, ...]
    described: tuple[bool, ...]
    """Whether the nodes of each kind have features; the others have rows of zeros in X."""
    asked: tuple[str, ...] = ()
    """The kinds whose class is asked for, in a graph that came after the fit; (): with labels."""

    @property
    def has_features(self) -> np.ndarray:
        """Which nodes have features of their own [n]."""
        return np.array(self.described, dtype=bool)[self.codes]

    def marked(self, marks: Any) -> np.ndarray:
        """[F, kinds]: how many nodes of each kind have a mark, sparse [n, F]."""
        of_kind = np.eye(len(self.names), dtype=np.int64)[self.codes]
        return np.asarray(marks.astype(np.int64).T @ of_kind)

    def knowing(self, gaps: Any) -> np.ndarray:
        """[F, kinds]: which columns are no gap, sparse [n, F], for some node of a kind."""
        sizes = np.bincount(self.codes, minlength=len(self.names))
        return np.asarray(self.marked(gaps) < sizes)

    def counts(self) -> dict[str, int]:
        numbers = np.bincount(self.codes, minlength=len(self.names))
        return dict(zip(self.names, numbers.tolist(), strict=True))

    def labelled(self, labels: np.ndarray) -> np.ndarray:
        """The nodes of the kind that is asked for or has labels [n]; all of them if none has."""
        if self.asked:
            return np.isin(np.array(self.names)[self.codes], self.asked)
        found = np.unique(self.codes[labels >= 0])
        return np.isin(self.codes, found) if len(found) else np.ones(len(labels), dtype=bool)

    def check(self, labels: np.ndarray, otherwise: str = "give all nodes one kind.") -> None:
        """Refuse codes that fit neither nodes nor names, and labels on two kinds."""
        n, k = len(labels), len(self.names)
        if self.codes.shape != (n,):
            raise wrong_value("kinds", f"have one entry for each of {n} nodes", self.codes.shape)
        if n and not 0 <= self.codes.min() <= self.codes.max() < k:
            got = f"{self.codes.min()} to {self.codes.max()}"
            raise wrong_value("kinds", f"lie between 0 and {k - 1}", got)
        if len(self.described) != k or len(set(self.names)) != k:
            raise wrong_value("kinds", "have different names", ", ".join(self.names))
        counts = np.bincount(self.codes[labels >= 0], minlength=k)
        if (counts > 0).sum() > 1:
            shown = (f"{m:,} on {self.names[i]}" for i, m in enumerate(counts.tolist()) if m)
            hint = Message("Remove the labels of the other kinds, or ", otherwise)
            raise must_be("Labels", "sit on one kind of nodes", ", ".join(shown), hint)


def as_kinds(kinds: Any, n: int, described: Collection[str] | None = None) -> Kinds:
    """Kinds from one name for each node; `described`: those that have features (None: all)."""
    if isinstance(kinds, Kinds):
        return kinds
    values = np.asarray(kinds, dtype=object)
    if len(values) != n:
        raise wrong_value("kinds", f"have one entry for each of {n} nodes", len(values))
    codes, every, unnamed = coded(values)
    if len(unnamed):
        got = f"none for {len(unnamed):,}, node {unnamed[0]} first"
        raise wrong_value("kinds", "name a kind for every node", got)
    for unknown in sorted(set(described or ()) - set(every)):
        raise wrong_value("described", f"name kinds: {', '.join(every)}", repr(unknown))
    having = every if described is None else described
    return Kinds(codes, every, tuple(name in having for name in every))

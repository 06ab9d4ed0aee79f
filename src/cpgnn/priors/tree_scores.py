"""What boosted trees say about many rows: LightGBM's sums to the bit, five times as fast.

LightGBM walks through every tree row by row. Ours are small: all rows are compared at each split of
a tree, what came out is a number for every row, and a table has the leaf that it leads to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_SPLITS = 8
"""Of a tree: what comes out at them fits into a byte."""
ROWS = 1 << 14
"""Compared at once: few enough for their columns to stay in the cache."""
CATEGORY, LEFT, GAPS, NAN = 1, 2, 12, 8
"""Bits of `decision_type`: by category, gaps go left, what counts as a gap (0: nothing, or NaN)."""
ZERO = np.float32(1e-35)
"""LightGBM takes values that are no larger for 0."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The splits of a tree, and the value of the leaf for everything that can come out at them."""

    columns: tuple[int, ...]
    thresholds: tuple[np.float32, ...]
    gaps_left: tuple[bool, ...]
    values: np.ndarray
    """[2^splits]: bit j of the index says whether split j was compared with success."""


@dataclass(frozen=True, eq=False)
class TreeScores:
    """The trees of a model, round by round, one a round for each output."""

    trees: tuple[Tree, ...]
    outputs: int
    full: np.ndarray
    """Columns whose gaps count as 0."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """[n, outputs]: the sum of their leaves for X [n, F]; float64."""
        total = np.zeros((len(X), self.outputs))
        for start in range(0, len(X), ROWS):
            rows = slice(start, start + ROWS)
            part = np.array(X[rows].T, dtype=np.float32, order="C")
            part[self.full] = np.nan_to_num(part[self.full], nan=0, posinf=np.inf, neginf=-np.inf)
            total[rows] = self._part(part).T
        return total

    def _part(self, columns: np.ndarray) -> np.ndarray:
        """[outputs, rows] of columns [F, rows]."""
        total = np.zeros((self.outputs, columns.shape[1]))
        came_out, bit = (np.empty(columns.shape[1], dtype=np.uint8) for _ in range(2))
        for i, tree in enumerate(self.trees):
            came_out[:] = 0
            for j, column in enumerate(tree.columns):
                compare = np.greater if tree.gaps_left[j] else np.less_equal
                compare(columns[column], tree.thresholds[j], out=bit.view(bool))
                np.left_shift(bit, j, out=bit)
                np.bitwise_or(came_out, bit, out=came_out)
            total[i % self.outputs] += tree.values.take(came_out)
        return total


def read_trees(text: str, outputs: int) -> TreeScores | None:
    """The trees of LightGBM's text of a model; None where one of them is not of the small kind."""
    trees: list[Tree] = []
    full: set[int] = set()
    gappy: set[int] = set()
    for block in text.split("\nTree=")[1:]:
        lines = dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        columns = _wholes(lines["split_feature"])
        types = _wholes(lines["decision_type"])
        if len(columns) > MOST_SPLITS or any(
            kind & GAPS not in (0, NAN) or kind & CATEGORY for kind in types
        ):
            return None
        gaps = [kind & GAPS == NAN for kind in types]
        for column, gap in zip(columns, gaps, strict=True):
            (gappy if gap else full).add(column)
        left = tuple(gap and bool(kind & LEFT) for gap, kind in zip(gaps, types, strict=True))
        thresholds = (_below(float(word)) for word in lines["threshold"].split())
        trees.append(Tree((*columns,), (*thresholds,), left, _values(lines, left)))
    if full & gappy:  # not by LightGBM
        return None
    return TreeScores((*trees,), outputs, np.array(sorted(full), dtype=np.int64))


def _wholes(words: str) -> list[int]:
    return [int(word) for word in words.split()]


def _below(threshold: float) -> np.float32:
    """The largest number of float32 that is not above: x ≤ it says the same for x in float32."""
    if -ZERO <= threshold < ZERO:  # 0 decides for all of these
        return ZERO if threshold >= 0 else np.nextafter(-ZERO, np.float32(-1))
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
    return np.nextafter(near, np.float32(-np.inf)) if float(near) > threshold else near


def _values(lines: dict[str, str], gaps_left: tuple[bool, ...]) -> np.ndarray:
    left, right = (_wholes(lines[f"{side}_child"]) for side in ("left", "right"))
    leaves = np.array(lines["leaf_value"].split(), dtype=np.float64)
    came_out = np.arange(2 ** len(left))
    values = np.empty(len(came_out))

    def fill(at: int, reached: np.ndarray) -> None:
        if at < 0:
            values[reached] = leaves[~at]
            return
        to_left = (came_out >> at & 1).astype(bool) != gaps_left[at]
        fill(left[at], reached & to_left)
        fill(right[at], reached & ~to_left)

    fill(0 if left else -1, np.ones(len(came_out), dtype=bool))
    return values

"""LightGBM's text of a model, checked before LightGBM sees it.

LightGBM trusts its text: a wrong size reads beyond the memory it has, a child that points upwards
never ends. A model folder may be somebody else's, so what is in it must be what LightGBM itself
writes for trees of ours, line by line: the keys and their order, how many numbers follow each, that
the children form a tree, that features exist, and that every size is bounded. Ours have no splits
by category.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_CHARACTERS = 2**26
MAX_LEAVES = 255
MAX_WORK = 10**8
"""Leaves times squared depth, summed over all trees: what the contributions of one row cost."""
LARGEST, LARGEST_LEAF = 1e30, 1e6
"""No number is beyond float32, and no leaf so large that the rounding of sums would show."""

_NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?(e[+-]\d{1,3})?", re.ASCII)
_THRESHOLD = re.compile(rf"{_NUMBER.pattern}|inf", re.ASCII)
"""inf: everything that is not missing goes left."""
_RANGE = re.compile(rf"\[{_NUMBER.pattern}:{_NUMBER.pattern}\]", re.ASCII)
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,9})", re.ASCII)
_NATURAL = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)

SPLITS = (0, 2, 4, 6, 8, 10)
"""`decision_type`: 2 if gaps go left, 4 or 8 for what counts as a gap."""


class _Lines:
    """The lines that are still to come."""

    def __init__(self, text: str) -> None:
        self._lines: Iterator[str] = iter(text.split("\n"))

    def expect(self, line: str) -> None:
        if next(self._lines, None) != line:
            raise ValueError(f"{line[:60]!r} is missing" if line else "an empty line is missing")

    def end(self, after: str) -> None:
        if next(self._lines, None) is not None:
            raise ValueError(f"something follows {after!r}")

    def value(self, key: str) -> str:
        name, _, value = next(self._lines, "").partition("=")
        if name != key:
            raise ValueError(f"{key!r} is missing")
        return value

    def numbers(self, key: str, count: int, largest: float = LARGEST) -> None:
        """That many numbers, none larger."""
        if any(abs(float(word)) > largest for word in self._words(key, count, _NUMBER)):
            raise ValueError(f"{key!r} has a number that is too large")

    def thresholds(self, count: int) -> None:
        self._words("threshold", count, _THRESHOLD)

    def wholes(self, key: str, count: int, least: int, most: int) -> list[int]:
        """That many whole numbers within bounds."""
        found = [int(word) for word in self._words(key, count, _WHOLE)]
        if not all(least <= value <= most for value in found):
            raise ValueError(f"{key!r} must lie in [{least}, {most}]")
        return found

    def whole(self, key: str, least: int, most: int) -> int:
        return self.wholes(key, 1, least, most)[0]

    def _words(self, key: str, count: int, form: re.Pattern[str]) -> list[str]:
        value = self.value(key)
        words = value.split(" ") if value else []
        if len(words) != count:
            raise ValueError(f"{key!r} must have {count} numbers, not {len(words)}")
        if not all(map(form.fullmatch, words)):
            raise ValueError(f"{key!r} has something that is not a number")
        return words


def check_text(text: str, num_columns: int, num_outputs: int) -> None:
    """Raises a ValueError with a short reason unless this is a model of that many columns.

    num_outputs: trees in a round, one for each class, or 1 for two classes.
    """
    if not text.isascii() or len(text) > MAX_CHARACTERS:
        raise ValueError(f"it must be at most {MAX_CHARACTERS:,} ASCII characters")
    head, mark, rest = text.partition("\n\nTree=0\n")
    if not mark:
        raise ValueError("it has no tree")
    sizes = _check_header(_Lines(head), num_columns, num_outputs)
    if len(sizes) % num_outputs:
        raise ValueError(f"{len(sizes)} trees are not whole rounds of {num_outputs}")
    trees, place, work = "Tree=0\n" + rest, 0, 0
    for i, size in enumerate(sizes):
        block = trees[place : place + size]
        if len(block) != size or not block.endswith("\n\n\n"):
            raise ValueError(f"tree {i} is not as long as 'tree_sizes' says")
        try:
            work += _check_tree(_Lines(block), i, num_columns)
        except ValueError as error:
            raise ValueError(f"tree {i}: {error}") from None
        if work > MAX_WORK:
            raise ValueError("the trees are too many or too deep")
        place += size
    if trees[place:] != "end of trees\n":
        raise ValueError("it does not end after the last tree")


def _check_header(lines: _Lines, num_columns: int, num_outputs: int) -> list[int]:
    """The length of each tree."""
    for line in (
        "tree",
        "version=v4",
        f"num_class={num_outputs}",
        f"num_tree_per_iteration={num_outputs}",
        "label_index=0",
        f"max_feature_idx={num_columns - 1}",
        "objective="
        + ("binary sigmoid:1" if num_outputs == 1 else f"multiclass num_class:{num_outputs}"),
        "feature_names=" + " ".join(f"Column_{j}" for j in range(num_columns)),
    ):
        lines.expect(line)
    infos = lines.value("feature_infos").split(" ")
    if len(infos) != num_columns:
        raise ValueError(f"'feature_infos' must have {num_columns} columns, not {len(infos)}")
    if not all(info == "none" or _RANGE.fullmatch(info) for info in infos):
        raise ValueError("'feature_infos' has something that is not a range")
    words = lines.value("tree_sizes").split(" ")
    if not all(map(_NATURAL.fullmatch, words)):
        raise ValueError("'tree_sizes' has something that is not a size")
    lines.end("tree_sizes")
    return [int(word) for word in words]


def _check_tree(lines: _Lines, i: int, num_columns: int) -> int:
    """What its contributions cost."""
    lines.expect(f"Tree={i}")
    leaves = lines.whole("num_leaves", 1, MAX_LEAVES)
    lines.expect("num_cat=0")
    splits, most = leaves - 1, 2**31 - 1
    lines.wholes("split_feature", splits, 0, num_columns - 1)
    lines.numbers("split_gain", splits)
    lines.thresholds(splits)
    if not set(lines.wholes("decision_type", splits, 0, max(SPLITS))) <= {*SPLITS}:
        raise ValueError("'decision_type' has an impossible split")
    left = lines.wholes("left_child", splits, -leaves, splits - 1)
    right = lines.wholes("right_child", splits, -leaves, splits - 1)
    lines.numbers("leaf_value", leaves, LARGEST_LEAF)
    lines.numbers("leaf_weight", leaves if splits else 0)
    leaf_count = lines.wholes("leaf_count", leaves, min(splits, 1), most)
    lines.numbers("internal_value", splits)
    lines.numbers("internal_weight", splits)
    internal_count = lines.wholes("internal_count", splits, 0, most)
    depth = _depth(list(zip(left, right, strict=True)), leaf_count, internal_count)
    lines.expect("is_linear=0")
    lines.numbers("shrinkage", 1)
    for _ in range(3):
        lines.expect("")
    lines.end("shrinkage")
    return leaves * (depth + 1) ** 2


def _depth(children: list[tuple[int, int]], leaf_count: list[int], count: list[int]) -> int:
    """The depth of the deepest leaf; every node but the root is the child of one before it."""
    depth, leaves_found = [0] * len(children), set()
    deepest, seen = 0, {0}
    for j, pair in enumerate(children):
        total = 0
        for child in pair:
            if child < 0:
                leaves_found.add(~child)
                deepest = max(deepest, depth[j] + 1)
                total += leaf_count[~child]
            else:
                if child <= j or child in seen:
                    raise ValueError("its children do not form a tree")
                seen.add(child)
                depth[child] = depth[j] + 1
                total += count[child]
        if total != count[j]:
            raise ValueError("its counts do not add up")
    if children and len(leaves_found) != len(leaf_count):
        raise ValueError("its leaves do not form a tree")
    return deepest

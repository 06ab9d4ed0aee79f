"""LightGBM's text of a model, checked before LightGBM sees it.

LightGBM trusts its text: a wrong size reads beyond the memory it has, a child that points upwards
never ends. A model folder may be somebody else's, so what is in it must be what LightGBM itself
writes for trees of ours, line by line: the keys and their order, how many numbers follow each, that
the children form a tree, that features and categories exist, and that every size is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

MAX_CHARACTERS = 2**26
MAX_LEAVES = 255
MAX_WORK = 10**8
"""Leaves times squared depth, summed over all trees: what the contributions of one row cost."""
MAX_CODE = 2**20
"""The largest category."""
LARGEST, LARGEST_LEAF = 1e30, 1e6
"""No number is beyond float32, and no leaf so large that the rounding of sums would show."""

_NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?(e[+-]\d{1,3})?", re.ASCII)
_THRESHOLD = re.compile(rf"{_NUMBER.pattern}|inf", re.ASCII)
"""inf: everything that is not missing goes left."""
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,9})", re.ASCII)
_NATURAL = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)

NUMERIC_SPLITS = (0, 2, 4, 6, 8, 10)
CATEGORY_SPLITS = (1, 5, 9)
"""`decision_type`: 1 if by category, 2 if gaps go left, 4 or 8 for what counts as a gap."""


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

    def numbers(self, key: str, count: int, largest: float = LARGEST) -> list[float]:
        """That many numbers, none larger."""
        found = [float(word) for word in self._words(key, count, _NUMBER)]
        if any(abs(value) > largest for value in found):
            raise ValueError(f"{key!r} has a number that is too large")
        return found

    def thresholds(self, count: int) -> list[float]:
        return [float(word) for word in self._words("threshold", count, _THRESHOLD)]

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
    largest, sizes = _check_header(_Lines(head), num_columns, num_outputs)
    if len(sizes) % num_outputs:
        raise ValueError(f"{len(sizes)} trees are not whole rounds of {num_outputs}")
    trees, place, work = "Tree=0\n" + rest, 0, 0
    for i, size in enumerate(sizes):
        block = trees[place : place + size]
        if len(block) != size or not block.endswith("\n\n\n"):
            raise ValueError(f"tree {i} is not as long as 'tree_sizes' says")
        try:
            work += _check_tree(_Lines(block), i, largest)
        except ValueError as error:
            raise ValueError(f"tree {i}: {error}") from None
        if work > MAX_WORK:
            raise ValueError("the trees are too many or too deep")
        place += size
    if trees[place:] != "end of trees\n":
        raise ValueError("it does not end after the last tree")


def _check_header(
    lines: _Lines, num_columns: int, num_outputs: int
) -> tuple[list[int | None], list[int]]:
    """The largest category of each column (None: a column of numbers), the length of each tree."""
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
    words = lines.value("tree_sizes").split(" ")
    if not all(map(_NATURAL.fullmatch, words)):
        raise ValueError("'tree_sizes' has something that is not a size")
    lines.end("tree_sizes")
    return [_largest_category(info) for info in infos], [int(word) for word in words]


def _largest_category(info: str) -> int | None:
    """`none` and `[least:most]` are numbers, `-1:3:0` categories by how frequent they are."""
    if info == "none":
        return None
    if info.startswith("[") and info.endswith("]"):
        ends = info[1:-1].split(":")
        if len(ends) != 2 or not all(map(_NUMBER.fullmatch, ends)):
            raise ValueError("'feature_infos' has something that is not a range")
        return None
    words = info.split(":")
    if not all(map(_WHOLE.fullmatch, words)):
        raise ValueError("'feature_infos' has something that is not a category")
    codes = [int(word) for word in words]
    if min(codes) < -1 or max(codes) > MAX_CODE or len(set(codes)) < len(codes):
        raise ValueError("'feature_infos' has categories that cannot be")
    return max(codes)


def _check_tree(lines: _Lines, i: int, largest: list[int | None]) -> int:
    """What its contributions cost."""
    lines.expect(f"Tree={i}")
    leaves = lines.whole("num_leaves", 1, MAX_LEAVES)
    num_cat = lines.whole("num_cat", 0, leaves - 1)
    splits, most = leaves - 1, 2**31 - 1
    feature = lines.wholes("split_feature", splits, 0, len(largest) - 1)
    lines.numbers("split_gain", splits)
    threshold = lines.thresholds(splits)
    kind = lines.wholes("decision_type", splits, 0, max(NUMERIC_SPLITS))
    left = lines.wholes("left_child", splits, -leaves, splits - 1)
    right = lines.wholes("right_child", splits, -leaves, splits - 1)
    lines.numbers("leaf_value", leaves, LARGEST_LEAF)
    lines.numbers("leaf_weight", leaves if splits else 0)
    leaf_count = lines.wholes("leaf_count", leaves, min(splits, 1), most)
    lines.numbers("internal_value", splits)
    lines.numbers("internal_weight", splits)
    internal_count = lines.wholes("internal_count", splits, 0, most)
    depth = _depth(list(zip(left, right, strict=True)), leaf_count, internal_count)
    by_category = [j for j in range(splits) if kind[j] in CATEGORY_SPLITS]
    if any(kind[j] not in NUMERIC_SPLITS for j in range(splits) if j not in by_category):
        raise ValueError("'decision_type' has a split that cannot be")
    if any((largest[feature[j]] is None) == (kind[j] in CATEGORY_SPLITS) for j in range(splits)):
        raise ValueError("'decision_type' does not fit its column")
    if sorted(threshold[j] for j in by_category) != list(range(num_cat)):
        raise ValueError("'threshold' does not name each set of categories once")
    if num_cat:
        _check_sets(lines, num_cat, {int(threshold[j]): largest[feature[j]] for j in by_category})
    lines.expect("is_linear=0")
    lines.numbers("shrinkage", 1)
    for _ in range(3):
        lines.expect("")
    lines.end("shrinkage")
    return leaves * (depth + 1) ** 2


def _check_sets(lines: _Lines, num_cat: int, largest: dict[int, int | None]) -> None:
    """Sets of categories, as bits of 32-bit words one after the other."""
    words = MAX_CODE // 32 + 1
    bounds = lines.wholes("cat_boundaries", num_cat + 1, 0, num_cat * words)
    sizes = [after - before for before, after in pairwise(bounds)]
    if bounds[0] != 0 or any(
        not 1 <= size <= (largest[j] or 0) // 32 + 1 for j, size in enumerate(sizes)
    ):
        raise ValueError("'cat_boundaries' does not fit the categories")
    lines.wholes("cat_threshold", bounds[-1], 0, 2**32 - 1)


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

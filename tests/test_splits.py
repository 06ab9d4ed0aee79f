"""Splits: the paper's floors, and what every stratified split must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.errors import InputError
from cpgnn.splits import Split, exchanged, per_class_split, stratified_split

LABELS = st.lists(st.integers(-1, 3), min_size=1, max_size=60).map(np.array)
SHARES = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9])


def assert_partition(split: Split, labels: np.ndarray) -> None:
    """Every labelled node is in one part, and no other node in any."""
    everything = np.concatenate([split.train, split.val, split.test])
    np.testing.assert_array_equal(np.sort(everything), np.flatnonzero(labels >= 0))
    for part in (split.train, split.val, split.test):
        np.testing.assert_array_equal(part, np.sort(part))


def sizes(split: Split, labels: np.ndarray, c: int) -> tuple[int, int, int]:
    return tuple(int((labels[part] == c).sum()) for part in (split.train, split.val, split.test))


def test_training_nodes_alone_are_a_split():
    split = Split(np.array([2, 0]))
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([2, 0], [], [])


@given(LABELS.filter(lambda y: (y >= 0).any()), SHARES, SHARES, st.integers(0, 5))
def test_stratified_splits(labels, validation, test, seed):
    split = stratified_split(labels, validation=validation, test=test, seed=seed)
    assert_partition(split, labels)
    for c in np.unique(labels[labels >= 0]):
        n = int((labels == c).sum())
        num_train, num_val, num_test = sizes(split, labels, c)
        assert num_train >= 1
        assert num_val >= (1 if validation > 0 and n >= 2 else 0)
        if validation == 0:
            assert num_val == 0
        assert num_test <= n * test + 0.5
        assert abs(num_test - n * test) <= 0.5 or num_train + num_val <= 2
        rest = n - num_test
        assert abs(num_val - rest * validation) <= 0.5 or num_val in (1, rest - 1)


def test_shares_of_large_classes_are_the_shares_asked_for():
    labels = np.repeat([0, 1, 2], [1000, 500, 100])
    split = stratified_split(labels, validation=0.25, test=0.2)
    assert [sizes(split, labels, c) for c in range(3)] == [
        (600, 200, 200),
        (300, 100, 100),
        (60, 20, 20),
    ]


def test_small_classes_train_first_then_validate_then_test():
    labels = np.repeat([0, 1, 2, 3], [1, 2, 3, 4])
    split = stratified_split(labels, validation=0.2, test=0.5)
    assert [sizes(split, labels, c) for c in range(4)] == [
        (1, 0, 0),
        (1, 1, 0),
        (1, 1, 1),
        (1, 1, 2),
    ]


def test_texas():
    """METHOD.md: 17/22/144, and the class with a single node has no training node."""
    labels = np.repeat(np.arange(5), [33, 1, 18, 101, 30])
    np.random.default_rng(0).shuffle(labels)
    split = per_class_split(labels)
    assert (len(split.train), len(split.val), len(split.test)) == (17, 22, 144)
    assert sizes(split, labels, 1) == (0, 1, 0)
    assert_partition(split, labels)


@given(st.integers(10, 400), st.integers(0, 400))
def test_the_paper_floors_both_shares(n, m):
    """In whole numbers: ⌊n/10⌋ and ⌊8n/10⌋ exactly, whatever 0.1 and 0.8 are in binary."""
    labels = np.repeat([0, 1], [n, m])
    split = per_class_split(labels)
    for c, count in ((0, n), (1, m)):
        expected = (count // 10, count - count // 10 - 8 * count // 10, 8 * count // 10)
        assert sizes(split, labels, c) == expected


def test_floors_do_not_stumble_over_binary_fractions():
    """0.29 · 100 is 28.999999999999996 in floating point, and 0.57 · 100 is 56.99999999999999."""
    labels = np.zeros(100, dtype=np.int64)
    assert sizes(per_class_split(labels, train=0.29, test=0.57), labels, 0) == (29, 14, 57)


@pytest.mark.parametrize("make", [stratified_split, per_class_split])
def test_the_seed_decides_and_nothing_else(make):
    labels = np.arange(100) % 3
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one, same, other = (make(labels, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.train, same.train)
    np.testing.assert_array_equal(one.val, same.val)
    assert (one.train != other.train).any()
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_a_label_elsewhere_does_not_reshuffle_a_class():
    """Unknown labels are not drawn: hiding one node of class 1 leaves class 0 as it was."""
    labels = np.arange(40) % 2
    hidden = labels.copy()
    hidden[39] = -1
    before, after = stratified_split(labels), stratified_split(hidden)
    for part in ("train", "val"):
        a, b = getattr(before, part), getattr(after, part)
        np.testing.assert_array_equal(a[labels[a] == 0], b[labels[b] == 0])


def test_from_masks():
    split = Split.from_masks(
        np.array([True, False, True, False]),
        np.array([False, True, False, False]),
        np.array([False, False, False, True]),
    )
    assert [p.tolist() for p in (split.train, split.val, split.test)] == [[0, 2], [1], [3]]


def test_lists_will_do_and_empty_ones_too():
    split = Split([0, 2], [], [1])
    assert split.val.dtype == np.int64
    assert len(split.val) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Split([], [0], [1]), r"A split must have at least one training node\. Got none\."),
        (lambda: Split([0, 1], [1], [2]), r"must not share nodes\. Got a node in two parts\."),
        (lambda: Split([0, 0], [1], [2]), r"must not share nodes"),
        (lambda: Split([0.5], [1], [2]), r"'train' must be a list of integer node positions"),
        (lambda: Split([0], [-1], [2]), r"'val' must hold positions of at least 0\. Got -1"),
        (
            lambda: stratified_split(np.zeros(9, dtype=int), validation=20),
            r"'validation' must lie in \[0, 1\)\. Got 20\. Did you mean 0\.2\?",
        ),
        (
            lambda: stratified_split(np.zeros(9, dtype=int), test=-0.1),
            r"'test' must lie in \[0, 1\)\. Got -0\.1\.",
        ),
        (
            lambda: stratified_split(np.zeros(9, dtype=int), test=float("nan")),
            r"'test' must lie in \[0, 1\)\. Got nan\.",
        ),
        (lambda: stratified_split(np.full(9, -1)), r"at least one training node\. Got none"),
        (
            lambda: per_class_split(np.zeros(10, dtype=int), train=10),
            r"'train' must lie in \[0, 1\)\. Got 10\. Did you mean 0\.1\?",
        ),
        (
            lambda: per_class_split(np.zeros(10, dtype=int), train=0.5, test=0.8),
            r"'train' and 'test' must add up to at most 1\. Got 0\.5 \+ 0\.8\.",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InputError, match=message):
        make()


@given(LABELS.filter(lambda labels: (labels >= 0).any()), SHARES, SHARES, st.integers(0, 99))
def test_exchanged_validation_nodes(labels, validation, test, seed):
    before = stratified_split(labels, validation=validation, test=test, seed=seed)
    after = exchanged(before, labels)
    assert_partition(after, labels)
    np.testing.assert_array_equal(after.test, before.test)
    for c in range(4):
        train, val = (part[labels[part] == c] for part in (before.train, before.val))
        assert (labels[after.train] == c).sum() == len(train)
        assert (labels[after.val] == c).sum() == len(val)
        kept = np.isin(val, after.val).sum()
        assert kept == max(len(val) - len(train), 0)

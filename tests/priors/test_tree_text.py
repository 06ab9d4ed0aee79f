"""Texts of trees: what LightGBM writes is accepted, what it would choke on is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.priors import tree_text
from cpgnn.priors.tree_text import check_text
from cpgnn.priors.trees import Boosting, Trees, fit_trees

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz"


def grown(classes: int, *, n: int = 800, leaves: int = 7, top: int = 40, seed: int = 0) -> Trees:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[:, 2] = rng.integers(0, top, n)
    labels = (X[:, 2] % classes).astype(np.int64)
    X[rng.random(X.shape) < 0.1] = np.nan
    worlds = Worlds.of(labels, classes, np.arange(n), np.arange(0), num_folds=2)
    how = Boosting(rounds=2, check=2, leaves=leaves, feature_share=1, seed=seed)
    return fit_trees(X, worlds, how)[0]


@pytest.mark.parametrize("seed", range(6))
def test_what_lightgbm_writes_is_accepted(seed):
    """Few nodes and many, stumps and bushes: fits check their text."""
    for classes in (2, 4):
        n, leaves, top = [(12, 2, 2), (50, 7, 5), (400, 31, 300), (900, 255, 40)][seed % 4]
        assert grown(classes, n=n, leaves=leaves, top=top, seed=seed).text


@pytest.fixture(scope="module")
def text() -> str:
    return grown(2).text


def changed(text: str, key: str, change) -> str:
    """The first line with the key changed, sizes put right again."""
    sys.path.insert(0, str(FUZZ))
    from tree_texts import resized

    line = re.search(rf"^{key}=(.*)$", text, re.MULTILINE)
    assert line is not None
    return resized(text[: line.start(1)] + change(line[1]) + text[line.end(1) :])


def first(word: str):
    return lambda line: " ".join([word, *line.split(" ")[1:]])


@pytest.mark.parametrize(
    ("key", "change", "reason"),
    [
        ("num_class", lambda _: "2", "'num_class=1' is missing"),
        ("max_feature_idx", lambda _: "3", "max_feature_idx"),
        ("objective", lambda _: "regression", "objective"),
        ("feature_infos", lambda line: line + " none", "3 columns, not 4"),
        ("feature_infos", lambda _: "none none -1:5:0", "not a range"),
        ("feature_infos", lambda _: "none none [0:1:2]", "not a range"),
        ("num_leaves", lambda line: str(int(line) + 1), r"must have \d numbers, not \d"),
        ("num_leaves", lambda _: "99999", r"lie in \[1, 255\]"),
        ("num_cat", lambda _: "1", "'num_cat=0' is missing"),
        ("split_feature", first("3"), r"lie in \[0, 2\]"),
        ("split_feature", first("-1"), r"lie in \[0, 2\]"),
        ("threshold", first("nan"), "not a number"),
        ("decision_type", first("1"), "impossible split"),
        ("decision_type", first("3"), "impossible split"),
        ("left_child", first("0"), "do not form a tree"),
        ("left_child", first("-7"), "tree|add up"),
        ("leaf_value", first("inf"), "not a number"),
        ("leaf_value", first("1e+20"), "too large"),
        ("leaf_count", first("0"), "lie in"),
        ("internal_count", first("7"), "do not add up"),
        ("is_linear", lambda _: "1", "'is_linear=0' is missing"),
        ("shrinkage", lambda line: line + "\nleaf_const=1", "an empty line is missing"),
        ("shrinkage", lambda line: "\u0663", "ASCII"),
    ],
)
def test_what_lightgbm_never_writes_is_refused(text, key, change, reason):
    with pytest.raises(ValueError, match=reason):
        check_text(changed(text, key, change), 3, 1)


def test_sizes_are_those_of_the_blocks_and_rounds_are_whole(text):
    check_text(text, 3, 1)
    sizes = re.search(r"^tree_sizes=(.*)$", text, re.MULTILINE)
    assert sizes is not None
    for wrong in ("1", "999999999 1", sizes[1] + " 5", ""):
        with pytest.raises(ValueError, match=r"tree_sizes|does not end"):
            check_text(text[: sizes.start(1)] + wrong + text[sizes.end(1) :], 3, 1)
    with pytest.raises(ValueError, match="does not end"):
        check_text(text + "parameters:\n", 3, 1)
    with pytest.raises(ValueError, match="no tree"):
        check_text("tree\n", 3, 1)
    three = grown(3).text
    assert three.count("Tree=") == 6
    one_less = three[: three.index("Tree=5\n")] + "end of trees\n"
    with pytest.raises(ValueError, match="whole rounds of 3"):
        check_text(changed(one_less, "version", str), 3, 3)


def test_sizes_are_bounded(text, monkeypatch):
    monkeypatch.setattr(tree_text, "MAX_WORK", 10)
    with pytest.raises(ValueError, match="too many or too deep"):
        check_text(text, 3, 1)
    monkeypatch.setattr(tree_text, "MAX_CHARACTERS", 100)
    with pytest.raises(ValueError, match="at most 100"):
        check_text(text, 3, 1)


def test_trees_of_a_changed_text_cannot_be_made(text):
    with pytest.raises(ValueError, match="children"):
        Trees(changed(text, "left_child", first("0")), (0, 1), 2, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and resource limits")
def test_mutated_texts_neither_crash_nor_hang(tmp_path):
    results = tmp_path / "results.json"
    words = [sys.executable, str(FUZZ / "tree_texts.py"), "40", "--results", str(results)]
    subprocess.run(words, check=True, capture_output=True)
    found = json.loads(results.read_text())["checked first"]
    assert found.keys() == {"command", "texts", "accepted", "refused"}, found
    assert found["accepted"] + found["refused"] == 40

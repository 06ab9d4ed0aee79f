import re

import lightgbm
import numpy as np
import pytest

from cpgnn.priors.tree_scores import read_trees
from cpgnn.priors.trees import END, MANY_ROWS, Boosting, Trees


def grown(*, classes, gaps, leaves=7):
    """Trees on columns of all kinds, as text, and rows to ask them about."""
    rng = np.random.default_rng(0)
    n, F = 3_000, 9
    X = rng.standard_normal((n, F)).astype(np.float32)
    y = rng.integers(0, classes, n)
    X[:, 0] += y
    X[:, 1] = rng.integers(0, 4, n) - y  # many rows lie on a threshold
    X[:, 2] = np.nan
    X[rng.random(n) < gaps, 3] = np.nan
    parameters = Boosting(leaves=leaves).parameters(classes, n)
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y, params=parameters), 40)
    return booster, X


def text_of(booster):
    text = booster.model_to_string()
    return text[: text.index(END) + len(END)]


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_the_sums_are_those_of_lightgbm_to_the_bit(classes, gaps):
    booster, X = grown(classes=classes, gaps=gaps)
    later = X.copy()
    later[:100, [0, 1, 5]] = np.nan  # where the fit saw no gaps
    later[100:200, :4] = np.inf
    later[200:300, :4] = -np.inf
    outputs = booster.num_model_per_iteration()
    trees = read_trees(text_of(booster), outputs)
    for asked in (X, later):
        expected = booster.predict(asked, raw_score=True).reshape(len(asked), outputs)
        assert np.array_equal(trees(asked), expected)
        assert len(np.unique(expected)) > 100


def test_thresholds_between_two_floats_decide_as_lightgbm_does():
    booster, X = grown(classes=2, gaps=0)
    words = [line for line in text_of(booster).split("\n") if line.startswith("threshold=")]
    values = np.array(" ".join(words).replace("threshold=", "").split(), dtype=np.float64)
    near = values.astype(np.float32)
    columns = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    on = np.concatenate([near, *columns])
    asked = np.tile(on[:, None], X.shape[1])
    expected = booster.predict(asked, raw_score=True)[:, None]
    assert np.array_equal(read_trees(text_of(booster), 1)(asked), expected)


def test_trees_that_are_too_large_for_it_are_left_to_lightgbm():
    booster, X = grown(classes=3, gaps=0.3, leaves=31)
    assert read_trees(text_of(booster), 3) is None
    many = np.tile(X, (1 + MANY_ROWS // len(X), 1))
    made = Trees(text_of(booster), (0, 1, 2), 3, X.shape[1])
    expected = booster.predict(many, raw_score=True).astype(np.float32)
    assert np.array_equal(made.logits(many), expected)


def test_many_rows_are_told_what_few_are():
    booster, X = grown(classes=3, gaps=0.3)
    made = Trees(text_of(booster), (0, 1, 2), 3, X.shape[1])
    many = np.tile(X, (1 + MANY_ROWS // len(X), 1))
    assert np.array_equal(made.logits(many)[: len(X)], made.logits(X))


def test_a_column_whose_gaps_count_twice_is_left_to_lightgbm():
    booster, _ = grown(classes=2, gaps=0.3)
    text = text_of(booster)
    kinds = [line for line in text.split("\n") if line.startswith("decision_type=")]
    assert any("8" in kind or "10" in kind for kind in kinds)  # NaN is a gap of some column
    one = re.sub(r"(decision_type=.*?)(8|10)\b", r"\g<1>2", text, count=1)
    assert read_trees(text, 1) is not None
    assert read_trees(one, 1) is None

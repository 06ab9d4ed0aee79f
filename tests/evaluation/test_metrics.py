"""Scores with intervals: scikit-learn for the points, closed forms for the ends."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from cpgnn.evaluation.metrics import _weighted_ranking, evaluate, share
from toys import softmax

NAMES = ["a", "b", "c"]


def predictions(seed: int, n: int = 80, c: int = 3, digits: int = 8) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    P = softmax(rng.normal(size=(n, c)) + 1.2 * np.eye(c)[y])
    return np.round(P, digits), y


# -- shares ----------------------------------------


@given(st.integers(1, 500), st.data())
def test_wilsons_ends_are_where_the_score_test_is_just_passed(n, data):
    """The ends p solve (p̂ - p)² = z² p(1 - p)/n, with z the 97.5 % point of the normal."""
    hits = data.draw(st.integers(0, n))
    scored = share(hits, n)
    assert scored.n == n
    assert scored.value == hits / n
    assert 0 <= scored.low <= scored.value <= scored.high <= 1
    z = 1.959963984540054
    for p in (scored.low, scored.high):
        assert (hits / n - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / n, abs=1e-9)


def test_wilson_by_the_book():
    """81 of 263: Newcombe (1998), table I, method 3: 0.2553 to 0.3662."""
    scored = share(81, 263)
    assert (scored.low, scored.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_no_nodes_no_share():
    scored = share(0, 0)
    assert scored.n == 0
    assert scored.as_dict() == {"value": None, "n": 0, "low": None, "high": None}


# -- evaluation ----------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_point_values_are_scikit_learns(seed):
    P, y = predictions(seed)
    predicted = P.argmax(axis=1)
    scores = evaluate(P, y, NAMES)
    assert scores.accuracy.value == pytest.approx(accuracy_score(y, predicted))
    assert scores.macro_f1.value == pytest.approx(f1_score(y, predicted, average="macro"))
    assert scores.majority.value == np.bincount(y).max() / len(y)
    np.testing.assert_array_equal(scores.confusion, confusion_matrix(y, predicted))
    precision = precision_score(y, predicted, average=None)
    recall = recall_score(y, predicted, average=None)
    for i, name in enumerate(NAMES):
        assert scores.precision[name].value == pytest.approx(precision[i])
        assert scores.precision[name].n == (predicted == i).sum()
        assert scores.recall[name].value == pytest.approx(recall[i])
        assert scores.recall[name].n == (y == i).sum()
    assert scores.roc_auc is None


@pytest.mark.parametrize("digits", [8, 1])
@pytest.mark.parametrize("positive", [0, 1, 2])
def test_ranking_scores_are_scikit_learns_with_ties_too(positive, digits):
    P, y = predictions(7, digits=digits)
    scores = evaluate(P, y, NAMES, positive=positive)
    hit, score = y == positive, P[:, positive]
    assert scores.positive == NAMES[positive]
    assert scores.roc_auc.value == pytest.approx(roc_auc_score(hit, score))
    assert scores.average_precision.value == pytest.approx(average_precision_score(hit, score))


@given(st.integers(2, 15), st.integers(0, 2**16), st.sampled_from([0, 1, 8]))
def test_resampled_rankings_are_scikit_learns_with_sample_weights(n, seed, digits):
    rng = np.random.default_rng(seed)
    hit = rng.random(n) < 0.4
    score = np.round(rng.random(n), digits)
    weight = rng.multinomial(n, np.full(n, 1 / n))
    order = np.argsort(-score, kind="stable")
    tied = score[order]
    last_of_tie = np.append(tied[1:] != tied[:-1], True)
    ours = _weighted_ranking(hit[order], last_of_tie, weight[order])
    if (weight * hit).sum() in (0, weight.sum()):
        assert ours is None
        return
    assert ours[0] == pytest.approx(roc_auc_score(hit, score, sample_weight=weight))
    assert ours[1] == pytest.approx(average_precision_score(hit, score, sample_weight=weight))


def test_intervals_hold_the_point_and_shrink_with_n():
    widths = []
    for n in (50, 200, 3200):
        P, y = predictions(3, n=n, c=2)
        scores = evaluate(P, y, ["no", "yes"], positive=1)
        row = []
        for scored in (
            scores.accuracy,
            scores.macro_f1,
            scores.roc_auc,
            scores.average_precision,
        ):
            assert scored.n == n
            assert scored.low < scored.value < scored.high
            row.append(scored.high - scored.low)
        widths.append(row)
    small, middle, large = np.array(widths)
    assert (middle < small).all()
    assert (large < middle / 2).all()  # sixteen times the nodes: a quarter of the width


def test_the_bootstrap_of_auc_agrees_with_hanley_and_mcneil():
    """Their closed form for the standard error, for scores that are normal in each class."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], [700, 300])
    score = 1 / (1 + np.exp(-rng.normal(y * 1.0)))
    scores = evaluate(np.stack([1 - score, score], axis=1), y, ["no", "yes"], positive=1)
    A = scores.roc_auc.value
    q1, q2 = A / (2 - A), 2 * A**2 / (1 + A)
    variance = (A * (1 - A) + 299 * (q1 - A**2) + 699 * (q2 - A**2)) / (300 * 700)
    width = 2 * 1.96 * np.sqrt(variance)
    assert scores.roc_auc.high - scores.roc_auc.low == pytest.approx(width, rel=0.2)


def test_precision_at_k_counts_the_first_k():
    P, y = predictions(1, n=120, c=2)
    scores = evaluate(P, y, ["no", "yes"], positive=1)
    order = np.argsort(-P[:, 1], kind="stable")
    assert set(scores.precision_at) == {10, 50, 100, int((y == 1).sum())}
    for k, scored in scores.precision_at.items():
        assert scored.value == pytest.approx((y[order[:k]] == 1).mean())
        assert scored.n == k


def test_a_class_that_is_absent_from_the_test_nodes():
    P, y = predictions(2)
    keep = y != 2
    scores = evaluate(P[keep], y[keep], NAMES, positive=2)
    assert scores.roc_auc is None  # nothing to rank
    assert np.isnan(scores.recall["c"].value)
    assert scores.precision["c"].value == 0.0
    expected = f1_score(y[keep], P[keep].argmax(axis=1), labels=[0, 1], average="macro")
    assert scores.macro_f1.value == pytest.approx(expected)


def test_the_same_seed_gives_the_same_intervals():
    P, y = predictions(4)
    one, same, other = (evaluate(P, y, NAMES, positive=0, seed=s).as_dict() for s in (0, 0, 1))
    assert one == same
    assert one["roc_auc"]["low"] != other["roc_auc"]["low"]


def test_as_dict_is_strict_json():
    P, y = predictions(2)
    keep = y != 2
    text = json.dumps(evaluate(P[keep], y[keep], NAMES, positive=0).as_dict(), allow_nan=False)
    parsed = json.loads(text)
    assert parsed["per_class"]["c"]["recall"] == {"value": None, "n": 0, "low": None, "high": None}
    assert parsed["positive"] == "a"
    assert parsed["average_precision"]["n"] == int(keep.sum())

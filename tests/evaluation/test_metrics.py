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

from cpgnn.engine.records import plain
from cpgnn.errors import InputError
from cpgnn.evaluation.calibration import reliability
from cpgnn.evaluation.metrics import Evaluation, Scored, difference, evaluate, share
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
    assert plain(scored) == {"value": None, "n": 0, "low": None, "high": None}


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
            assert scored.low < scored.value < scored.high
            row.append(scored.high - scored.low)
        widths.append(row)
    small, middle, large = np.array(widths)
    assert (middle < small).all()
    assert (large < middle / 2).all()  # sixteen times the nodes: a quarter of the width


def test_the_width_of_auc_agrees_with_hanley_and_mcneil():
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


def test_precision_of_a_class_that_is_called_less_than_once_a_repeat():
    """1.4 hits in 1.4 calls were written as 1.4 of 1."""
    y = np.array([0, 0, 0, 0, 1, 1])
    P = np.zeros((5, 6, 2))
    for repeat, called in enumerate([[4], [4, 5], [4, 5], [4], [5]]):
        P[repeat, :, 0] = 1
        P[repeat, called] = [0, 1]
    made = evaluate(P, y, ["a", "b"]).precision["b"]
    assert (made.value, made.n) == (1.0, 1)
    assert 0 < made.low < made.high == 1.0


def test_repeats_are_averaged_and_add_no_nodes():
    P, y = predictions(4)
    other = np.roll(P, 1, axis=0)
    both = evaluate(np.stack([P, other]), y, NAMES, positive=0)
    one, two = evaluate(P, y, NAMES, positive=0), evaluate(other, y, NAMES, positive=0)
    for name in ("accuracy", "roc_auc", "average_precision"):
        values = [getattr(scores, name).value for scores in (one, two)]
        assert getattr(both, name).value == pytest.approx(np.mean(values))
        assert getattr(both, name).n == getattr(one, name).n
    np.testing.assert_allclose(both.confusion, (one.confusion + two.confusion) / 2)
    assert both.accuracy.high - both.accuracy.low > 0.1  # as wide as 80 nodes make it, not 160


# -- intervals ----------------------------------------


def every_score(scores: Evaluation) -> list[Scored]:
    ranking = [scores.roc_auc, scores.average_precision, *(scores.precision_at or {}).values()]
    named = [*scores.precision.values(), *scores.recall.values(), *ranking, scores.chance]
    plain = [scores.accuracy, scores.macro_f1, scores.majority, scores.over_majority]
    return [scored for scored in [*plain, *named] if scored is not None and scored.n]


@given(st.integers(1, 40), st.integers(2, 12), st.floats(0, 8), st.integers(0, 2**16))
def test_every_interval_holds_its_value(n, c, skill, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    P = softmax(rng.normal(size=(n, c)) + skill * np.eye(c)[y])
    for scored in every_score(evaluate(P, y, [f"c{i}" for i in range(c)], positive=0)):
        assert -1 <= scored.low <= scored.value <= scored.high <= 1


def test_twelve_right_answers_for_twelve_classes():
    """A bootstrap put 1.0 into (0.50, 0.83): resamples lack classes, and an absent one counts 0."""
    scores = evaluate(np.eye(12), np.arange(12), list("abcdefghijkl"), positive=0)
    for scored in every_score(scores):
        assert scored.low <= scored.value <= scored.high
    assert scores.macro_f1.value == 1.0
    assert 0.6 < scores.macro_f1.low < 0.9


@pytest.mark.parametrize(
    ("n", "shares", "skill"), [(60, [0.6, 0.3, 0.1], 1.5), (400, [0.95, 0.05], 2.5)]
)
def test_intervals_cover_what_many_more_nodes_show(n, shares, skill):
    """Drawn 200 times; the truth from 200,000 nodes of the same kind."""

    def drawn(n: int, rng: np.random.Generator) -> Evaluation:
        y = rng.choice(len(shares), n, p=shares)
        P = softmax(rng.normal(size=(n, len(shares))) + skill * np.eye(len(shares))[y])
        return evaluate(P, y, NAMES[: len(shares)], positive=len(shares) - 1)

    truth = drawn(200_000, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    sample = [drawn(n, rng) for _ in range(200)]
    for name in ("accuracy", "macro_f1", "over_majority", "roc_auc", "average_precision", "chance"):
        true = getattr(truth, name).value
        made = [getattr(scores, name) for scores in sample if getattr(scores, name)]
        held = np.mean([scored.low <= true <= scored.high for scored in made])
        assert held >= 0.91, name


def test_the_difference_of_two_models_covers():
    """Right together 50 times in 100, the first alone 20 times, the second alone 10 times."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(400):
        kind = rng.choice(4, 40, p=[0.5, 0.2, 0.1, 0.2])
        gain = difference((kind == 0) | (kind == 1), (kind == 0) | (kind == 2))
        held += gain.low <= 0.1 <= gain.high
    assert 0.92 <= held / 400 <= 0.99


def test_as_dict_is_strict_json():
    P, y = predictions(2)
    keep = y != 2
    text = json.dumps(evaluate(P[keep], y[keep], NAMES, positive=0).as_dict(), allow_nan=False)
    parsed = json.loads(text)
    assert parsed["per_class"]["c"]["recall"] == {"value": None, "n": 0, "low": None, "high": None}
    assert parsed["positive"] == "a"
    assert parsed["average_precision"]["n"] == int((y[keep] == 0).sum())
    assert parsed["chance"]["value"] == (y[keep] == 0).mean()


@pytest.mark.parametrize("labels", [np.array(["a", "b"]), np.array([0, -1]), np.array([0, 2])])
def test_labels_that_are_no_positions_of_classes_are_refused(labels):
    """Names of classes were compared with positions, and all answers were wrong."""
    for score in (lambda P: evaluate(P, labels, ["a", "b"]), lambda P: reliability(P, labels)):
        with pytest.raises(InputError, match="'labels' must be positions of classes, 0 to 1"):
            score(np.eye(2))

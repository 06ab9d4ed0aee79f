import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from cpgnn.errors import InputError
from cpgnn.evaluation.thresholds import Goal, call_scores, choose_threshold, threshold_scores

P = np.array([0.9, 0.8, 0.7, 0.7, 0.4, 0.1])
HIT = np.array([1, 0, 1, 1, 0, 1], dtype=bool)


def test_by_hand():
    best = choose_threshold(P, HIT)  # F1: 2/5, 2/6, 6/8, 6/9, 8/10
    assert best.value == 0.1
    assert (best.goal, best.positives) == ("best F1", 4)
    precise = choose_threshold(P, HIT, Goal("precision", 0.75))
    assert (precise.value, precise.precision, precise.recall) == (0.7, 0.75, 0.75)
    assert choose_threshold(P, HIT, Goal("recall", 0.5)).value == 0.7
    assert choose_threshold(P, HIT, Goal("recall", 0.2)).value == 0.9


def test_a_goal_out_of_reach_says_so():
    made = choose_threshold(np.array([0.9, 0.5]), np.array([False, True]), Goal("precision", 0.8))
    assert not made.reached
    assert (made.value, made.precision) == (0.5, 0.5)


@given(
    st.integers(0, 10_000), st.sampled_from([Goal(), Goal("precision", 0.6), Goal("recall", 0.7)])
)
def test_against_every_threshold_tried_with_scikit_learn(seed, goal):
    rng = np.random.default_rng(seed)
    p, hit = rng.integers(0, 12, size=30) / 12, rng.random(30) < 0.3
    hit[0] = True
    made = choose_threshold(p, hit, goal)
    tried = []
    for value in np.unique(p)[::-1]:
        called = p >= value
        precision, recall, f1, _ = precision_recall_fscore_support(hit, called, average="binary")
        allowed = (
            goal.kind == "f1" or {"precision": precision, "recall": recall}[goal.kind] >= goal.least
        )
        score = {"f1": f1, "precision": recall, "recall": precision}[goal.kind]
        if allowed:
            tried.append((score, value))
    assert made.reached == bool(tried)
    if tried:
        top = max(score for score, _ in tried)
        assert made.value == max(value for score, value in tried if score == pytest.approx(top))


def test_scores_on_other_nodes():
    scores = threshold_scores(0.7, P, HIT)
    assert (scores["precision"].value, scores["precision"].n) == (0.75, 4)
    assert (scores["recall"].value, scores["recall"].n) == (0.75, 4)
    assert scores["recall"].low < 0.75 < scores["recall"].high


def test_scores_of_repeated_calls_are_means():
    called = np.array([[True, True, False, False], [True, False, False, False]])
    scores = call_scores(called, np.array([True, False, True, False]))
    assert scores["precision"].value == pytest.approx(1 / 1.5)
    assert (scores["recall"].value, scores["recall"].n) == (0.5, 2)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InputError, match=r"least precision must lie in .* Did you mean 0\.8"):
        Goal("precision", 80)
    with pytest.raises(InputError, match="include a node of the positive class"):
        choose_threshold(P, np.zeros(6, dtype=bool))

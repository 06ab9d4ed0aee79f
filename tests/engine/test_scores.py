"""Validation scores against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from cpgnn.engine.scores import accuracy, average_precision, macro_f1, validation_score
from cpgnn.errors import InputError
from toys import softmax


@st.composite
def predictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Logits with many ties, and labels that may leave classes out."""
    n, c = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    logits = rng.integers(-2, 3, (n, c)) + (rng.random((n, c)) if draw(st.booleans()) else 0)
    return logits.astype(np.float64), rng.integers(0, draw(st.integers(1, c)), n)


@given(predictions())
def test_accuracy_and_macro_f1(drawn):
    logits, y = drawn
    predicted = logits.argmax(axis=1)
    tensors = torch.from_numpy(logits), torch.from_numpy(y)
    assert accuracy(*tensors) == pytest.approx(accuracy_score(y, predicted))
    expected = f1_score(y, predicted, labels=np.unique(y), average="macro", zero_division=0.0)
    assert macro_f1(*tensors) == pytest.approx(expected)


@given(predictions())
def test_average_precision(drawn):
    logits, y = drawn
    P = softmax(logits)
    c = P.shape[1]
    classes = [1] if c == 2 else range(c)
    values = [average_precision_score(y == k, P[:, k]) for k in classes if (y == k).any()]
    ours = average_precision(torch.from_numpy(logits), torch.from_numpy(y))
    np.testing.assert_allclose(ours, np.mean(values) if values else np.nan, rtol=1e-6)


def test_average_precision_by_hand():
    """Ranked: hit, miss, hit → (1/1 + 2/3) / 2."""
    logits = torch.tensor([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0]])
    assert average_precision(logits, torch.tensor([1, 0, 1])) == pytest.approx(5 / 6)


def test_naming_only_the_majority_is_accurate_but_not_macro_f1():
    y = torch.tensor([0] * 95 + [1] * 5)
    majority = torch.tensor([[1.0, 0.0]]).expand(100, 2)
    assert accuracy(majority, y) == 0.95
    assert macro_f1(majority, y) == pytest.approx((2 * 95 / (2 * 95 + 5)) / 2)
    assert average_precision(majority, y) == pytest.approx(0.05)


def test_no_nodes_no_score():
    none = torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)
    assert accuracy(*none) == 0.0
    assert np.isnan(macro_f1(*none))
    assert np.isnan(average_precision(*none))


def test_scores_by_name():
    assert validation_score("accuracy") is accuracy
    assert validation_score("macro_f1") is macro_f1
    assert validation_score("average_precision") is average_precision
    with pytest.raises(InputError, match=r"'select_by' must be 'accuracy', .*\. Got 'f1'"):
        validation_score("f1")

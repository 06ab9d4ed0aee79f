"""The sentences above the matrices say what is known, and no more."""

from __future__ import annotations

import numpy as np

from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.report.grids import confusion_grid, share_grid


def frequency(edges: np.ndarray) -> EdgeFrequency:
    share = np.array([[0.2, 0.8], [0.6, 0.4]])
    none = np.full((2, 2), np.nan)
    return EdgeFrequency(share, none, none, edges, 0.9, "mixed", None, False)


def test_no_sentence_repeats_a_guess():
    names = ("shop", "bank")
    both = share_grid("", frequency(np.array([[1.0, 4.0], [4.0, 2.0]])), names)
    assert both.text.startswith("80 % of the edges of “shop” lead to “bank”; 60 % of")
    one = share_grid("", frequency(np.array([[1.0, 4.0], [0.0, 0.0]])), names)
    known, _, guess = one.text.partition("; ")
    assert known == "80 % of the edges of “shop” lead to “bank”"
    assert guess == "no edge between labelled nodes is known for “bank”."
    assert one.rows[1][0].small == "no evidence"


def test_counts_that_are_means_say_so():
    whole = confusion_grid(np.array([[5.0, 1.0], [2.0, 4.0]]), ("a", "b"), "12 nodes")
    assert whole.caption == "12 nodes"
    mean = confusion_grid(np.array([[5.4, 0.6], [2.0, 4.0]]), ("a", "b"), "12 nodes")
    assert mean.caption == "12 nodes; counts are means over the repeats"

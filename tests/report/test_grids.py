"""The sentences above the matrices say what is known, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.engine.formatting import SHARED_NODE_LINKS, shortened
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.report.grids import Grid, confusion_grid, share_grid


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


def test_shares_of_shared_nodes_are_not_called_edges():
    names, made = ("shop", "bank"), frequency(np.array([[1.0, 4.0], [4.0, 2.0]]))
    grid = share_grid("", made, names, counted="shared-node links")
    assert grid.text.startswith("80 % of the shared-node links of “shop” lead to “bank”; 60 % of")
    assert grid.text.endswith(f"“shop”. {SHARED_NODE_LINKS}")


def test_counts_that_are_means_say_so():
    whole = confusion_grid(np.array([[5.0, 1.0], [2.0, 4.0]]), ("a", "b"), "12 nodes")
    assert whole.caption == "12 nodes"
    mean = confusion_grid(np.array([[5.4, 0.6], [2.0, 4.0]]), ("a", "b"), "12 nodes")
    assert mean.caption == "12 nodes; counts are means over the repeats"


@pytest.mark.parametrize(
    ("names", "headers"),
    [
        (("bad", "good"), ""),
        (("0", "1", "2", "3", "4"), ""),
        (("honest", "accomplice", "fraudster", "merchant", "courier"), "slim"),
        (("Donaudampfschifffahrtsgesellschaft", "bank"), "slim upright"),
        (("a bank that lends small sums to people in the country", "shop"), "slim upright"),
        (tuple(f"class number {i}" for i in range(20)), ""),
    ],
)
def test_headers_turn_where_words_would_break(names, headers):
    assert Grid("", "", "", names, ()).headers == headers


def test_long_names_keep_both_ends():
    names = [f"urn:example:customer-relationship:{i:05d}" for i in range(10)]
    short = {shortened(name, 20) for name in names}
    assert len(short) == 10
    assert {len(name) for name in short} == {20}
    assert shortened("account-1") == "account-1"

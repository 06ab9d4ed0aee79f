"""One number, one rounding."""

from __future__ import annotations

import math

import pytest

from cpgnn.engine.formatting import (
    between,
    carried,
    percent,
    probability,
    quoted,
    what_decides,
    whole_percent,
)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (percent(0.7325), "73.2 %"),
        (percent(math.nan), "–"),
        (between(0.701, 0.7634), "70.1–76.3 %"),
        (between(math.nan, math.nan), "–"),
        (between(0.1, 0.25, 0), "10–25 %"),
        (whole_percent(0.0), "0 %"),
        (whole_percent(0.004), "under 1 %"),
        (whole_percent(0.714), "71 %"),
        (whole_percent(0.995), "over 99 %"),
        (whole_percent(1.0), "100 %"),
        (probability(0.97312), "97.31 %"),
        (probability(0.999951), "> 99.99 %"),
        (probability(0.00004), "< 0.01 %"),
        (carried({"own": 0.4, "pays (out)": 0.6}, "pays (out)"), "60 % of the evidence"),
        (carried({"own": 0.4, "pays (out)": 0.6}, "pays (in)"), "not heard by the model"),
        (what_decides({"own": 0.4, "uses (shared)": 0.6}), "its own part 40 %, uses (shared) 60 %"),
        (quoted("a" * 50), f"“{'a' * 26}…{'a' * 13}”"),
    ],
)
def test_as_people_read_it(made, text):
    assert made == text

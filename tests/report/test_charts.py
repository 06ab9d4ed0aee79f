"""Numbers land where the axes say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cpgnn.engine.loop import Epoch
from cpgnn.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    POINTS,
    RIGHT,
    TOP,
    WIDTH,
    Series,
    line_chart,
    thinned,
    ticks,
)
from cpgnn.report.learning import learning_charts


def test_points_reach_the_corners():
    chart = line_chart(
        "t", "w", [Series("a", "a", np.array([10.0, 20.0]), np.array([0.0, 5.0]))], x_name="x"
    )
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    assert chart.lines[0].points == ((f"{left}", f"{bottom}"), (f"{right}", f"{top}"))
    assert chart.y_ticks[0][0] == bottom
    assert chart.y_ticks[-1][1] == "5"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.037), (0, 812), (120, 121), (0, 1e-4)])
def test_ticks_are_few_and_inside(low, high):
    found = ticks(low, high)
    assert 3 <= len(found) <= 11
    assert low <= found[0] < found[-1] <= high
    np.testing.assert_allclose(np.diff(found), found[1] - found[0])


def test_long_lines_are_thinned_without_losing_their_ends():
    x = np.arange(5000.0)
    y = np.where(x % 10 == 0, x, np.nan)
    thin_x, thin_y = thinned(x, y)
    assert len(thin_x) <= POINTS
    assert (thin_x[0], thin_x[-1]) == (0, 4990)
    np.testing.assert_array_equal(thin_x, thin_y)


def test_epochs_are_counted_through_both_phases():
    history = pd.DataFrame(
        {
            "phase": [1, 1, 2, 2],
            "epoch": [1, 2, 1, 2],
            "loss": [2.0, 1.0, 0.5, 0.25],
            "train_accuracy": [0.5, 0.6, 0.7, 0.8],
            "score": [0.4, 0.5, 0.6, 0.6],
            "compatibility_error": [np.nan, np.nan, 0.2, 0.1],
        }
    )
    loss, accuracy, error = learning_charts(history, Epoch(2, 1, 0.5, 0.7, 0.6), "F1")
    assert [word for _, word, _ in loss.marks] == ["propagation starts", "kept"]
    assert loss.marks[0][0] == pytest.approx(LEFT + (WIDTH - LEFT - RIGHT) / 3, abs=0.1)
    assert loss.marks[1][0] == pytest.approx(LEFT + (WIDTH - LEFT - RIGHT) * 2 / 3, abs=0.1)
    assert [line.name for line in accuracy.lines] == [
        "F1, validation nodes",
        "accuracy, training nodes",
    ]
    assert "from 0.200 to 0.100" in error.text
    assert len(learning_charts(history.drop(columns="compatibility_error"), None, "F1")) == 2
    assert learning_charts(history[:0], None, "F1") == ()

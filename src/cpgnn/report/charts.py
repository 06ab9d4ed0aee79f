"""Geometry of the line charts of a report: numbers to points, ticks and labels of an SVG.

By hand: matplotlib's SVG brings colours and fonts of its own, so it neither turns dark with the
page nor shrinks with it, and takes a second and ten times the bytes for the four charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 42, 14, 32, 34
POINTS = 240
"""Points of a line at most: more than one in two pixels is not seen."""

Tick = tuple[float, str]
"""A place on an axis and what stands there."""


@dataclass(frozen=True, eq=False)
class Series:
    """What a line shows: y over x. With `dots`, each point is marked too."""

    name: str
    style: str
    """Its CSS class."""
    x: np.ndarray
    y: np.ndarray
    dots: bool = False
    points: tuple[tuple[str, str], ...] = ()
    """Where it is drawn, once it is in a chart."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A line chart. `text` says in words what it shows."""

    title: str
    text: str
    lines: tuple[Series, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_name: str
    marks: tuple[tuple[float, str, str], ...]
    """Vertical lines: where, the word beside them, and whether they "start" or "end" it."""


def line_chart(
    title: str,
    text: str,
    series: Sequence[Series],
    *,
    x_name: str,
    marks: Sequence[tuple[float, str]] = (),
    top: float | None = None,
    percent: str = "",
) -> Chart:
    """A chart of the series; its y axis starts at 0 and ends at `top`, or at the highest point.

    `percent` names the axes ("y", "xy") whose numbers are shares.
    """
    low = min(float(s.x.min()) for s in series)
    high = max(max(float(s.x.max()) for s in series), low + 1e-9)
    ceiling = top or max(float(np.nanmax(s.y)) for s in series) or 1.0

    def across(x: Any) -> Any:
        return np.round(LEFT + (WIDTH - LEFT - RIGHT) * (x - low) / (high - low), 1)

    def up(y: Any) -> Any:
        return np.round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / ceiling, 1)

    def drawn(s: Series) -> Series:
        x, y = thinned(s.x, s.y)
        points = ((f"{a:g}", f"{b:g}") for a, b in zip(across(x), up(y), strict=True))
        return replace(s, points=tuple(points))

    def named(value: float, axis: str) -> str:
        return f"{100 * value:.0f} %" if axis in percent else f"{value:,g}"

    middle = (low + high) / 2
    return Chart(
        title,
        text,
        tuple(map(drawn, series)),
        tuple((float(across(x)), named(x, "x")) for x in ticks(low, high)),
        tuple((float(up(y)), named(y, "y")) for y in ticks(0.0, ceiling)),
        x_name,
        tuple((float(across(x)), word, "end" if x > middle else "start") for x, word in marks),
    )


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most POINTS of the points, the first and the last among them; NaN left out."""
    known = np.flatnonzero(~np.isnan(y))
    at = np.unique(np.linspace(0, len(known) - 1, min(POINTS, len(known))).round().astype(int))
    return x[known[at]], y[known[at]]


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers in [low, high], about `wanted` of them.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if high <= low:
        return [low]
    rough = (high - low) / wanted
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(power * min((m for m in (1, 2, 5, 10) if m * power >= 0.8 * rough), default=10))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(k * step, 12) for k in range(first, last + 1)]

"""Pictures with matplotlib, drawn without a display."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cpgnn.evaluation.calibration import Reliability
from cpgnn.evaluation.metrics import Scored
from cpgnn.io import atomic_write

INK, BAR, BEST = "#222222", "#9db4c0", "#c1666b"


def figure(width: float, height: float) -> Figure:
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def save(picture: Figure, path: Path, description: str | None = None) -> None:
    """Writes the picture in the format of its ending, with a description for those who need one."""
    kind = path.suffix.removeprefix(".").lower() or "png"
    about = {"Description": description} if description else None
    with atomic_write(path) as file:
        picture.savefig(file, format=kind, dpi=150, metadata=about)


def heatmap(
    axes: Axes,
    matrix: np.ndarray,
    names: Sequence[str],
    title: str,
    top: float | None = None,
    size: float = 8,
) -> None:
    """A class matrix: darker cells are larger, every cell says its value.

    `top` is the value of the darkest colour: give matrices to be compared the same.
    """
    top = top or max(float(np.nanmax(matrix)), 1e-9)
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=top)
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(matrix):
        text = "–" if np.isnan(value) else f"{value:.2f}"
        color = "white" if value > 0.6 * top else INK
        axes.text(j, i, text, ha="center", va="center", fontsize=size, color=color)


def score_bars(axes: Axes, scores: dict[str, Scored], title: str) -> None:
    """One bar per method with its interval; the best one stands out."""
    names, values = list(scores), [100 * scored.value for scored in scores.values()]
    best = int(np.argmax(values))
    colors = [BEST if i == best else BAR for i in range(len(names))]
    below = [100 * (s.value - s.low) for s in scores.values()]
    above = [100 * (s.high - s.value) for s in scores.values()]
    bars: Any = axes.barh(names, values, color=colors, xerr=[below, above], ecolor=INK, capsize=3)
    axes.bar_label(bars, [f"{value:.1f} %" for value in values], padding=6, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_title(title, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)


def plot_reliability(axes: Axes, made: Reliability, title: str) -> None:
    """How often the model is right, by how confident it is; on the diagonal it is as right as it
    says."""
    bins = len(made.count)
    middle = (np.arange(bins) + 0.5) / bins
    some = made.count > 0
    axes.bar(middle[some], made.accuracy[some], width=0.9 / bins, color=BAR, label="right")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--")
    axes.plot(made.confidence[some], made.accuracy[some], "o", color=BEST, markersize=4)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="how sure", ylabel="share that is right")
    axes.set_title(f"{title}: error {made.error:.3f}", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)

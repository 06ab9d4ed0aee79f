"""Pictures with matplotlib, drawn without a display."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.utils.validation import check_is_fitted

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.formatting import shortened
from cpgnn.errors import must_be
from cpgnn.evaluation.calibration import Reliability
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.evaluation.metrics import Scored
from cpgnn.io import atomic_write
from cpgnn.report.learning import counted_through

INK, BAR, BEST = "#222222", "#9db4c0", "#c1666b"
LINE = 40
"""Letters that stand beside each other below a matrix."""
NAMES = {"score": "validation score", "train_accuracy": "accuracy, training nodes"}


def figure(width: float, height: float) -> Figure:
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def save(picture: Figure, path: Path, description: str | None = None) -> None:
    """Writes the picture in the format of its ending, with a description for those who need one."""
    kind = path.suffix.removeprefix(".").lower() or "png"
    about = {"Description": description} if description else None
    with atomic_write(path) as file, warnings.catch_warnings():
        # Names in scripts that the font lacks become boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        picture.savefig(file, format=kind, dpi=150, metadata=about)


def own(axes: Axes | None, width: float = 5, height: float = 4) -> Axes:
    """These axes, or those of a new figure of pyplot's, which notebooks show."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return made


def plot_matrix(
    of: CPGNNClassifier | EdgeFrequency | np.ndarray,
    names: Sequence[Hashable] = (),
    *,
    title: str | None = None,
    top: float | None = None,
    size: float = 8,
    axes: Axes | None = None,
) -> Axes:
    """A class matrix [c, c]: darker cells are larger, every cell says its value.

    Of a fitted classifier, where the edges of each class lead, with intervals. `names` are of the
    classes; `top` is the value of the darkest colour: give matrices to be compared the same.
    """
    axes = own(axes)
    if isinstance(of, CPGNNClassifier):
        check_is_fitted(of)
        names = names or of.classes_.tolist()
        of = of.edge_frequency_interval_
        title = (
            "Share of a class's edges (row) that leads to each class" if title is None else title
        )
    matrix = of.share if isinstance(of, EdgeFrequency) else np.asarray(of)
    if matrix.ndim != 2:
        must = "be a fitted classifier or a matrix"
        raise must_be("What is drawn", must, type(of).__name__)
    shown = [shortened(name, 20) for name in names] or [str(i) for i in range(len(matrix))]
    top = top or max(float(np.nanmax(matrix)), 1e-9)
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=top)
    heading = axes.set_title(title or "", fontsize=10, color=INK)
    upright = 90 if len(shown) * max(map(len, shown), default=0) > LINE else 0
    axes.set_xticks(range(len(shown)), shown, fontsize=8, rotation=upright)
    axes.set_yticks(range(len(shown)), shown, fontsize=8)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(matrix):
        text = "–" if np.isnan(value) else f"{value:.2f}"
        if isinstance(of, EdgeFrequency) and not np.isnan(of.low[i, j]):
            text += f"\n{of.low[i, j]:.2f}–{of.high[i, j]:.2f}"
        color = "white" if value > 0.6 * top else INK
        axes.text(j, i, text, ha="center", va="center", fontsize=size, color=color)
    as_they_are(heading, *axes.get_xticklabels(), *axes.get_yticklabels())
    return axes


def as_they_are(*texts: Text) -> None:
    """A '$' in a name is a '$', not the beginning of a formula."""
    for text in texts:
        text.set_parse_math(False)


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


def _tried(trials: pd.DataFrame, axes: Axes) -> Axes:
    """The score of every candidate."""
    names = [shortened(name, 40) for name in trials["candidate"]]
    kept = next(iter(np.flatnonzero(trials["note"] == "")), -1)  # the best way comes first
    colors = [BEST if i == kept else BAR for i in range(len(names))]
    axes.barh(range(len(names)), trials["score"], color=colors)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("score on labels not seen")
    axes.spines[["top", "right"]].set_visible(False)
    as_they_are(*axes.get_yticklabels())
    return axes


def plot_reliability(
    made: Reliability, *, title: str = "Reliability", axes: Axes | None = None
) -> Axes:
    """How often the model is right, by how confident it is; on the diagonal it is as right as it
    says."""
    given: Any = made
    if not isinstance(given, Reliability):
        hint = "Try cpgnn.reliability(model.predict_proba()[nodes], graph.labels[nodes])."
        raise must_be("What is drawn", "be a Reliability", type(made).__name__, hint)
    axes = own(axes)
    bins = len(made.count)
    middle = (np.arange(bins) + 0.5) / bins
    some = made.count > 0
    axes.bar(middle[some], made.accuracy[some], width=0.9 / bins, color=BAR, label="right")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--")
    axes.plot(made.confidence[some], made.accuracy[some], "o", color=BEST, markersize=4)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="how sure", ylabel="share that is right")
    axes.set_title(f"{title}: error {made.error:.3f}", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def plot_history(
    of: CPGNNClassifier | pd.DataFrame,
    *,
    columns: Sequence[str] = ("score", "train_accuracy"),
    axes: Axes | None = None,
) -> Axes:
    """Columns of `history_` over the epochs, counted through both phases; where propagation starts
    and, of a classifier, which epoch was kept. `columns=["loss"]` draws the loss. Of a blend, which
    has no epochs, the scores of what was tried. Of a loaded run: its `history` or `trials`."""
    if not isinstance(of, pd.DataFrame | CPGNNClassifier):
        raise must_be("What is drawn", "be a fitted classifier or its history_", type(of).__name__)
    if isinstance(of, CPGNNClassifier):
        check_is_fitted(of)
        if not hasattr(of, "history_"):
            must, hint = "be the one that was fitted", "Draw run.history, or run.trials of a blend."
            raise must_be("The classifier", must, "one that was loaded", hint)
    axes = own(axes, 7, 3.5)
    history = of if isinstance(of, pd.DataFrame) else of.history_
    if isinstance(of, CPGNNClassifier) and not len(history):
        return _tried(of.trials_, axes)
    if "candidate" in history:
        return _tried(history, axes)
    epochs, marks = counted_through(history, None if of is history else of.kept_)
    for column in columns:
        axes.plot(epochs, history[column], label=NAMES.get(column, column), linewidth=1.2)
    for line, (where, word) in enumerate(marks):
        axes.axvline(where, color=INK, linewidth=0.8, linestyle=":")
        axes.annotate(
            word,
            (where, 1),
            (3, -3 - 10 * line),  # below each other: they may stand side by side
            xycoords=("data", "axes fraction"),
            va="top",
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xlabel("epoch")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return axes

"""How a model was learned, as charts over its epochs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from cpgnn.engine.formatting import percent
from cpgnn.engine.loop import Epoch
from cpgnn.report.charts import Chart, Series, line_chart


def learning_charts(
    history: pd.DataFrame, kept: Epoch | None, score_name: str
) -> tuple[Chart, ...]:
    """Loss, accuracy and, where the truth is known, the error of H; epochs are counted through."""
    if history.empty:
        return ()
    epochs, marks = counted_through(history, kept)
    loss, train, score = (
        history[name].to_numpy(dtype=float) for name in ("loss", "train_accuracy", "score")
    )
    drawn = partial(line_chart, x_name="epoch", marks=marks)
    charts = [
        drawn(
            "Loss on the training nodes",
            f"From {loss[0]:.2f} to {loss[-1]:.2f} in {len(history):,} epochs.",
            [Series("loss", "a", epochs, loss)],
        )
    ]
    series = [Series("accuracy, training nodes", "b", epochs, train)]
    text = f"Accuracy on the training nodes reached {percent(np.nanmax(train))}"
    if kept is not None and np.isfinite(kept.score) and np.isfinite(score).all():
        series.insert(0, Series(f"{score_name}, validation nodes", "a", epochs, score))
        text += f"; {score_name} on the validation nodes {percent(kept.score)} at the kept epoch"
    charts.append(drawn("Accuracy", text + ".", series, top=1.0, percent="y"))
    if "compatibility_error" in history:
        error = history["compatibility_error"].to_numpy(dtype=float)
        known = error[~np.isnan(error)]
        if len(known) > 1:
            charts.append(
                drawn(
                    "Distance of the propagation matrix from the truth",
                    f"Per cell on average, from {known[0]:.3f} to {known[-1]:.3f}; both matrices "
                    "doubly stochastic. All labels are known here, so the truth can be drawn; it "
                    "was not used.",
                    [Series("distance", "a", epochs, error)],
                )
            )
    return tuple(charts)


def counted_through(
    history: pd.DataFrame, kept: Epoch | None
) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """Epochs of both phases as one count, and what to mark there."""
    phase = history["phase"].to_numpy()
    first = int((phase == 1).sum())
    epochs = history["epoch"].to_numpy() + np.where(phase == 2, first, 0)
    marks = [] if not first or first == len(history) else [(float(first), "propagation starts")]
    if kept is not None:
        marks.append((float(kept.epoch + (first if kept.phase == 2 else 0)), "kept"))
    return epochs, marks

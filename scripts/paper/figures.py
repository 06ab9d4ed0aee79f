"""The paper's figures, drawn from result lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cpgnn.experiments.config import Experiment, load_experiment
from cpgnn.experiments.matrices import tracked
from cpgnn.experiments.tables import cells
from cpgnn.report.plots import INK, figure, plot_matrix

OURS = ("#c1666b", "#e0a458", "#48639c", "#4c9f70", "#7a5ea8")
THEIRS = ("#8d99a6", "#5c677d", "#b09478", "#9a97c0", "#6b705c", "#b7b7a4")
MARKS = "osD^vPX*"


def accuracy_over_h(folder: Path | None = None) -> Figure:
    """Every method over the homophily ratio: ours, and the paper's numbers beside them."""
    return _beside_the_paper(load_experiment("synthetic"), folder)


def ablations_over_h(folder: Path | None = None) -> Figure:
    """CPGNN-MLP-1 with one part removed at a time."""
    return _beside_the_paper(load_experiment("ablation"), folder)


def _beside_the_paper(experiment: Experiment, folder: Path | None) -> Figure:
    picture = figure(10, 4.2)
    ours, theirs = picture.subplots(1, 2, sharey=True)
    _over_h(ours, experiment, folder, "ours (Gaussian features)")
    _over_h(theirs, experiment, None, experiment.published_title, published=True)
    theirs.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    ours.set_ylabel("test accuracy (%)")
    return picture


def _over_h(
    axes: Axes,
    experiment: Experiment,
    folder: Path | None,
    title: str,
    *,
    published: bool = False,
) -> None:
    found = {} if published else cells(experiment, folder)
    palettes = {True: iter(OURS), False: iter(THEIRS)}
    for i, method in enumerate(experiment.methods):
        points = []
        for dataset in experiment.datasets:
            h = float(dataset.removeprefix("h="))
            if published:
                mean, std = experiment.published["features"][dataset][method.name]
                points.append((h, mean, std))
            elif cell := found.get(("features", dataset, method.name, method.presets[0])):
                points.append((h, cell.mean, cell.std))
        is_ours = method.name.startswith("CPGNN")
        color = next(palettes[is_ours])
        if not points:
            continue
        h, mean, std = np.array(points).T
        axes.errorbar(
            h,
            mean,
            yerr=std,
            label=method.name,
            color=color,
            linestyle="-" if is_ours else "--",
            marker=MARKS[i % len(MARKS)],
            markersize=4,
            linewidth=1.4 if is_ours else 1,
            capsize=2,
        )
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_xlabel("homophily ratio h")
    axes.set_ylim(0, 102)
    axes.spines[["top", "right"]].set_visible(False)


def compatibility_at_h0(folder: Path | None = None) -> Figure:
    """The true, initial and learned matrix of one graph with h = 0, and δ̄_H over the epochs."""
    lines = tracked(folder)["h=0.0"]
    first = lines[0]
    names = [str(i) for i in range(len(first["true"]))]
    picture = figure(15, 4)
    *maps, curve = picture.subplots(1, 4, width_ratios=[1, 1, 1, 1.1])
    top = np.max([_matrix(first[key]) for key in ("true", "initial", "learned")])
    for axes, key in zip(maps, ("true", "initial", "learned"), strict=True):
        plot_matrix(_matrix(first[key]), names, title=f"{key} H", top=float(top), size=5, axes=axes)
    for i, line in enumerate(lines):
        epochs, errors = np.array(line["curve"]).T
        curve.plot(epochs, errors, color=OURS[i % len(OURS)], label=f"graph {i}")
    _curve_axes(curve, "error of H during training")
    curve.legend(fontsize=8, frameon=False)
    return picture


def compatibility_on_real_graphs(folder: Path | None = None) -> Figure:
    """The three matrices of every real graph (split 0) and δ̄_H over the epochs (all splits)."""
    graphs = {name: lines for name, lines in tracked(folder).items() if not name.startswith("h=")}
    picture = figure(14, 3 * max(len(graphs), 1))
    grid = picture.subplots(max(len(graphs), 1), 4, squeeze=False)
    for (name, lines), (*maps, curve) in zip(graphs.items(), grid, strict=False):
        first = lines[0]
        names = [str(i) for i in range(len(first["true"]))]
        top = np.nanmax([_matrix(first[key]) for key in ("true", "initial", "learned")])
        for axes, key in zip(maps, ("true", "initial", "learned"), strict=True):
            plot_matrix(
                _matrix(first[key]), names, title=f"{name}: {key} H", top=float(top), axes=axes
            )
        for i, line in enumerate(lines):
            epochs, errors = np.array(line["curve"]).T
            curve.plot(epochs, errors, color=OURS[i % len(OURS)])
        _curve_axes(curve, f"{name}: error of H")
    return picture


def _matrix(rows: list[list[float | None]]) -> np.ndarray:
    return np.array(rows, dtype=np.float64)


def _curve_axes(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_xlabel("epochs end to end")
    axes.set_ylabel("mean absolute error of H")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)

"""Pictures for the docs from the committed results: `python plots.py`.

speed.png: time per epoch and memory over |E|. sets.png: coverage and size of sets of classes.
labels-to-ask.png: accuracy while labels are asked for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from cpgnn.report.plots import figure, save
from measuring import RESULTS

DOCS = Path(__file__).parent.parent / "docs" / "pictures"
OURS, SECOND, GREY = "#c1666b", "#48639c", "#7a7a7a"


def lines_of(*names: str) -> list[dict[str, Any]]:
    paths = (RESULTS / f"{name}.jsonl" for name in names)
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def speed() -> None:
    colors = {"ours": OURS, "PyG, CSR": SECOND, "PyG, edge_index": GREY}
    rows = json.loads((RESULTS / "scale.json").read_text())["rows"]
    picture = figure(10, 4)
    panels = {"epoch, CPU s": "CPU seconds per epoch", "peak, GB": "peak memory, GB"}
    for axes, (column, title) in zip(picture.subplots(1, 2), panels.items(), strict=True):
        for method, color in colors.items():
            part = [row for row in rows if row["method"] == method]
            edges = [row["edges"] for row in part]
            axes.loglog(edges, [row[column] for row in part], "o-", color=color, label=method)
        axes.set_xlabel("edges")
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
    picture.axes[0].legend(frameon=False)
    save(picture, DOCS / "speed.png")


def sets() -> None:
    """Bars: means over graphs or splits; whiskers: standard deviation."""
    runs = lines_of("prediction_sets", "prediction_sets_paper")
    names = list(dict.fromkeys(run["graph"] for run in runs))
    picture = figure(10, 5)
    ways = {"plain": GREY, "averaged": SECOND, "through H": OURS}
    for axes, what in zip(picture.subplots(2, 1), ("coverage", "size"), strict=True):
        for i, (way, color) in enumerate(ways.items()):
            values = [[run[what][way] for run in runs if run["graph"] == name] for name in names]
            at = np.arange(len(names)) + 0.27 * (i - 1)
            means, errors = [np.mean(v) for v in values], [np.std(v, ddof=1) for v in values]
            axes.bar(at, means, 0.25, yerr=errors, color=color, label=way, ecolor="#222222")
        axes.set_xticks(range(len(names)), names)
        axes.set_title(f"{what}, mean over graphs or splits ± standard deviation", fontsize=10)
    first, second = picture.axes
    first.set_ylim(0.8, 1.0)
    first.axhspan(0.88, 0.92, color="#222222", alpha=0.12, lw=0)
    second.set_title("classes in a set" + second.get_title().removeprefix("size"), fontsize=10)
    second.legend(frameon=False)
    save(picture, DOCS / "sets.png")


def labels_to_ask() -> None:
    """The default model: means over draws."""
    runs = lines_of("suggestions_default_paper")
    names = list(dict.fromkeys(run["graph"] for run in runs))
    picture = figure(10, 5.5)
    for axes, name in zip(picture.subplots(2, 3).ravel(), names, strict=False):
        mine = [run for run in runs if run["graph"] == name]
        for rule, label, color in ("cover", "suggest", OURS), ("random", "random", "#222222"):
            curves = [run["accuracy"] for run in mine if run["rule"] == rule]
            if curves:
                y = np.mean(curves, axis=0)
                axes.plot(20 * np.arange(len(y)), y, color=color, lw=2, label=label)
        axes.set_title(f"{name}, n = {len({run['seed'] for run in mine})}", fontsize=10)
        axes.set_xlabel("labels asked for")
        axes.grid(alpha=0.3)
    picture.axes[0].set_ylabel("accuracy")
    picture.axes[0].legend(frameon=False)
    save(picture, DOCS / "labels-to-ask.png")


def main() -> None:
    DOCS.mkdir(exist_ok=True)
    speed()
    sets()
    labels_to_ask()


if __name__ == "__main__":
    main()

"""Pictures for the docs from the committed results: time per epoch and memory over |E|."""

from __future__ import annotations

import json
from pathlib import Path

from cpgnn.report.plots import figure, save
from measuring import RESULTS

DOCS = Path(__file__).parent.parent / "docs" / "pictures"
COLORS = {"ours": "#c1666b", "PyG, CSR": "#48639c", "PyG, edge_index": "#7a7a7a"}


def main() -> None:
    rows = json.loads((RESULTS / "scale.json").read_text())["rows"]
    picture = figure(10, 4)
    panels = {"epoch, CPU s": "CPU seconds per epoch", "peak, GB": "peak memory, GB"}
    for axes, (column, title) in zip(picture.subplots(1, 2), panels.items(), strict=True):
        for method, color in COLORS.items():
            part = [row for row in rows if row["method"] == method]
            edges = [row["edges"] for row in part]
            axes.loglog(edges, [row[column] for row in part], "o-", color=color, label=method)
        axes.set_xlabel("edges")
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
    picture.axes[0].legend(frameon=False)
    DOCS.mkdir(exist_ok=True)
    save(picture, DOCS / "speed.png")


if __name__ == "__main__":
    main()

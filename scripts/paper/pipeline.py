"""The pipeline as a picture (the paper's first figure), with the numbers of a real propagation.

Eight nodes: green ones link to green ones, orange ones to purple ones. Their prior beliefs are
made up, vague for three nodes; what follows is computed with `cpgnn.propagate`.
"""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cpgnn.propagation import propagate
from cpgnn.report.plots import INK, figure, plot_matrix

COLORS = ("#4c9f70", "#e08e45", "#7a5ea8")
NAMES = ("green", "orange", "purple")
PLACES = np.array(
    [(0.0, 2.0), (1.1, 2.7), (1.2, 1.5), (2.3, 2.2), (2.4, 0.9), (3.4, 1.6), (3.3, 0.1), (1.3, 0.3)]
)
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (4, 6), (5, 6), (4, 7), (2, 7)]
PRIOR = np.array(
    [
        (0.80, 0.10, 0.10),
        (0.70, 0.20, 0.10),
        (0.40, 0.35, 0.25),
        (0.10, 0.75, 0.15),
        (0.15, 0.15, 0.70),
        (0.30, 0.36, 0.34),
        (0.20, 0.20, 0.60),
        (0.34, 0.32, 0.34),
    ]
)
H = np.array([(0.80, 0.10, 0.10), (0.10, 0.15, 0.75), (0.10, 0.75, 0.15)])


def pipeline() -> Figure:
    """S1 prior beliefs → H → S2 propagated beliefs."""
    A = np.zeros((len(PLACES), len(PLACES)))
    for u, v in EDGES:
        A[u, v] = A[v, u] = 1
    B_0, H_bar = torch.from_numpy(PRIOR - 1 / 3), torch.from_numpy(H - 1 / 3)
    B = propagate(torch.from_numpy(A), B_0, H_bar, 1).numpy()
    final = np.exp(B) / np.exp(B).sum(axis=1, keepdims=True)
    picture = figure(13, 3.9)
    one, two, three, four = picture.subplots(1, 4, width_ratios=[1.1, 1.1, 0.8, 1.1])
    labels = np.full_like(PRIOR, np.nan)
    labels[[0, 3, 4]] = np.eye(3)
    _graph(one, labels, "A graph, some features, few labels")
    _graph(two, PRIOR, "S1  Prior belief of every node\n(MLP or Chebyshev GCN)")
    plot_matrix(H, NAMES, title="Compatibility H\n(estimated, then learned)", top=1.0, axes=three)
    _graph(
        four,
        final,
        "S2  Neighbours speak through H\n" + r"$\bar B \leftarrow \bar B_0 + A\,\bar B\,\bar H$",
    )
    return picture


def _graph(axes: Axes, beliefs: np.ndarray, title: str) -> None:
    """Nodes in the colour of their likeliest class, beside each its belief as a stacked bar."""
    for u, v in EDGES:
        axes.plot(*PLACES[[u, v]].T, color="#b8c0c8", linewidth=1.3, zorder=1)
    for (x, y), belief in zip(PLACES, beliefs, strict=True):
        known = not np.isnan(belief).any()
        color = COLORS[int(np.argmax(belief))] if known else "#d7dce1"
        axes.scatter(x, y, s=230, color=color, edgecolor=INK, linewidth=0.8, zorder=2)
        if known:
            below = y - 0.28
            for share, shade in zip(belief, COLORS, strict=True):
                axes.bar(x + 0.33, 0.56 * share, 0.16, bottom=below, color=shade, zorder=3)
                below += 0.56 * share
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_xlim(-0.5, 4.0)
    axes.set_ylim(-0.5, 3.2)
    axes.set_axis_off()

"""A node among its neighbours, as a picture: who they are, and for which class they speak."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.formatting import shortened, signed, whole_percent
from cpgnn.explanation.contributions import explain
from cpgnn.explanation.explanation import Explanation
from cpgnn.explanation.terms import others
from cpgnn.graph import Graph
from cpgnn.report.explanation_picture import check_picture
from cpgnn.report.plots import BEST, INK, as_they_are, figure, own, save

FOR, LINK = "#4f7f93", "#bbbbbb"


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A node, first, and its weightiest neighbours: m nodes in all."""

    ids: tuple[str, ...]
    called: np.ndarray
    """The most probable class of each as an index, -1 for a kind without classes, [m]."""
    probability: float
    """Of the class of the first."""
    labels: np.ndarray
    """The known label of each as an index, -1 = unknown, [m]."""
    margins: np.ndarray
    """How much each neighbour speaks for the class of the first, [m]; 0 for the first itself."""
    links: tuple[tuple[int, int], ...]
    """Edges between neighbours, as positions in `ids`."""
    others: int
    """Neighbours that are left out."""
    class_names: tuple[str, ...]

    @property
    def text(self) -> str:
        """What the picture shows, for people who cannot see it."""
        listed = [
            f"{shortened(self.ids[j])}{self._like(j)} {signed(self.margins[j])}"
            for j in range(1, len(self.ids))
        ]
        if self.others:
            listed.append(others(self.others))
        return f"{self.title} Neighbours: {'; '.join(listed) or 'none'}."

    @property
    def title(self) -> str:
        share = whole_percent(self.probability)
        return f"{shortened(self.ids[0], 30)}: {self._class(0)} ({share})."

    def _like(self, j: int) -> str:
        return f" (like {self._class(j)})" if self.called[j] >= 0 else ""

    def _class(self, j: int) -> str:
        return shortened(self.class_names[self.called[j]], 30)


def neighbourhood(
    of: Explanation, i: int, graph: Graph, P: np.ndarray, *, top: int = 10
) -> Neighbourhood:
    """The i-th explained node in its graph; P [n, c], the probabilities of all its nodes."""
    at = int(graph.positions([of.node_ids[i]])[0])
    A = graph.adjacency
    row = slice(A.indptr[at], A.indptr[at + 1])
    near, weights = A.indices[row], A.data[row]
    heard = graph.positions(of.neighbours[of.of(i)])  # more than once, by several relations
    said = np.bincount(heard, of.margin(of.contributions[of.of(i)], i), minlength=len(P))
    called, margins = np.where(graph.predicted, P.argmax(axis=1), -1), said[near]
    order = np.lexsort((-weights, -np.abs(margins)))[:top]
    order = order[np.lexsort((margins[order], called[near[order]]))]
    nodes = np.concatenate([[at], near[order]]).astype(np.int64)
    inside = A[nodes[1:]][:, nodes[1:]].tocoo()
    pairs = zip(inside.row + 1, inside.col + 1, strict=True)
    return Neighbourhood(
        ids=tuple(str(graph.node_ids[v]) for v in nodes),
        called=called[nodes],
        probability=float(P[at].max()),
        labels=graph.labels[nodes],
        margins=np.concatenate([[0.0], margins[order]]),
        links=tuple((int(u), int(v)) for u, v in pairs if u < v),
        others=len(near) - len(order),
        class_names=of.class_names,
    )


def plot_neighbourhood(
    model: CPGNNClassifier,
    node: Any,
    graph: Graph | None = None,
    *,
    top: int = 10,
    axes: Axes | None = None,
) -> Axes:
    """A node of the fitted graph (or of another) among the `top` neighbours that say most.

    The colour of a node is its most probable class, a dark rim a known label. Blue edges speak for
    the class of the node in the middle, red ones against it, the wider the more; grey ones join
    neighbours.
    """
    prediction = model.prediction(graph)
    of = explain(model, graph, [node])
    made = neighbourhood(of, 0, prediction.graph, prediction.probabilities, top=top)
    return draw(made, own(axes, 6, 5))


def draw_neighbourhoods(
    of: Explanation, graph: Graph, P: np.ndarray, path: Path, top: int = 10
) -> None:
    """Writes a PNG or SVG, one panel for each explained node, with a description in it."""
    check_picture(path, len(of))
    made = [neighbourhood(of, i, graph, P, top=top) for i in range(len(of))]
    columns = min(len(made), 2)
    rows = -(-len(made) // columns)
    picture = figure(6 * columns, 5 * rows)
    places = picture.subplots(rows, columns, squeeze=False).ravel()
    for place in places[len(made) :]:
        place.set_axis_off()
    for panel, place in zip(made, places, strict=False):
        draw(panel, place)
    save(picture, path, " ".join(panel.text for panel in made))


def draw(of: Neighbourhood, axes: Axes) -> Axes:
    """The picture."""
    m = len(of.ids) - 1
    angle = 2 * np.pi * np.arange(m) / max(m, 1) + np.pi / 2
    where = np.vstack([[0.0, 0.0], np.column_stack([np.cos(angle), np.sin(angle)])])
    for u, v in of.links:
        axes.plot(*where[[u, v]].T, color=LINK, linewidth=1, zorder=1)
    largest = max(float(np.abs(of.margins).max()), 1e-12)
    for j in range(1, m + 1):
        margin = of.margins[j]
        color = INK if margin == 0 else FOR if margin > 0 else BEST
        width = 1 + 5 * abs(margin) / largest
        axes.plot(*where[[0, j]].T, color=color, linewidth=width, zorder=2, alpha=0.8)
    palette = colormaps["tab20" if len(of.class_names) > 10 else "tab10"]
    colors = [palette(int(c) % palette.N) if c >= 0 else LINK for c in of.called]
    rims = [INK if label >= 0 else "white" for label in of.labels]
    sizes = [700, *[330] * m]
    x, y = where.T
    axes.scatter(x, y, s=sizes, c=colors, edgecolors=rims, linewidths=2, zorder=3)
    texts = [axes.set_title(of.title, fontsize=10, color=INK)]
    for j in range(1, m + 1):
        at, up = where[j]
        side = "center" if abs(at) < 0.35 else "left" if at > 0 else "right"
        name, away = shortened(of.ids[j], 16), 15 * where[j]  # points: clear of the dot at any size
        texts.append(
            axes.annotate(
                name, (at, up), away, textcoords="offset points", ha=side, va="center", fontsize=8
            )
        )
    if of.others:
        axes.text(0, -1.45, f"and {others(of.others)}", ha="center", fontsize=8, color=INK)
    legend = axes.legend(
        handles=_legend(of, palette),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.02),
        ncols=3,
        fontsize=8,
        frameon=False,
    )
    as_they_are(*texts, *legend.get_texts())
    axes.set(xlim=(-2.1, 2.1), ylim=(-1.6, 1.35), aspect="equal")
    axes.set_axis_off()
    return axes


def _legend(of: Neighbourhood, palette: Any) -> list[Line2D]:
    shown = np.unique(of.called)
    dots = [_dot(of.class_names[c], palette(int(c) % palette.N), "white") for c in shown if c >= 0]
    if shown[0] < 0:
        dots.append(_dot("no class", LINK, "white"))
    if (of.labels >= 0).any():
        dots.append(_dot("label known", "white", INK))
    for word, some, color in (("for", of.margins > 0, FOR), ("against", of.margins < 0, BEST)):
        if some.any():
            name = f"speaks {word} {shortened(of.class_names[of.called[0]], 16)}"
            dots.append(Line2D([], [], color=color, linewidth=3, label=name))
    return dots


def _dot(name: str, face: Any, rim: str) -> Line2D:
    return Line2D(
        [], [], marker="o", linestyle="", color=face, markeredgecolor=rim, markersize=8,
        markeredgewidth=1.5, label=shortened(name, 20),
    )  # fmt: skip

"""Explanations as a picture: one panel a node, one bar a term."""

from __future__ import annotations

import warnings
from pathlib import Path

from matplotlib.axes import Axes

from cpgnn.errors import must_be
from cpgnn.explanation.bars import Bar, bars
from cpgnn.explanation.explanation import Explanation
from cpgnn.explanation.sentences import percent
from cpgnn.io.places import wrong
from cpgnn.report.plots import BAR, BEST, INK, figure, save

MOST_NODES = 6
"""Nodes that share a picture; more cannot be read."""


def check_picture(path: Path, nodes: int) -> None:
    """Raises unless `path` ends in .png or .svg and the nodes fit into one picture."""
    if path.suffix.lower() not in (".png", ".svg"):
        got = repr(path.suffix or path.name)
        raise wrong(path, "The ending of a picture", "be '.png' or '.svg'", got)
    if nodes > MOST_NODES:
        raise must_be("A picture", f"show at most {MOST_NODES} nodes", f"{nodes:,}")


def draw_explanation(of: Explanation, path: Path, top: int = 10) -> None:
    """Writes a PNG or SVG whose description is `alternative_text`."""
    check_picture(path, len(of))
    panels = [bars(of, i, top) for i in range(len(of))]
    heights = [len(panel) + 2.5 for panel in panels]
    picture = figure(8, 0.32 * sum(heights))
    axes = picture.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for i, (place, panel) in enumerate(zip(axes, panels, strict=True)):
        _draw(place, of, i, panel)
    text = " ".join(alternative_text(of, i, top) for i in range(len(of)))
    with warnings.catch_warnings():  # names in scripts that the font lacks become boxes
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        save(picture, path, text)


def alternative_text(of: Explanation, i: int, top: int = 10) -> str:
    """What the picture of the i-th node shows, for those who do not see it."""
    listed = "; ".join(f"{_title(bar)} {bar.margin:+.2f}" for bar in bars(of, i, top))
    return f"Bar chart. {_verdict(of, i)} Terms: {listed}."


def _verdict(of: Explanation, i: int) -> str:
    best, second = (of.class_names[j] for j in (of.predicted[i], of.runner_up[i]))
    share = percent(of.probabilities[i, of.predicted[i]])
    return f"{_short(of.node_ids[i])}: why {_short(best)} ({share}) rather than {_short(second)}."


def _title(bar: Bar) -> str:
    return f"{_short(bar.name)} (like {_short(bar.looks_like)})" if bar.looks_like else bar.name


def _draw(axes: Axes, of: Explanation, i: int, panel: list[Bar]) -> None:
    margins = [bar.margin for bar in panel]
    colors = [BEST if margin < 0 else BAR for margin in margins]
    drawn = axes.barh(range(len(panel)), margins, color=colors)
    labels = [f"{margin:+.2f}" for margin in margins]
    axes.bar_label(drawn, labels, padding=4, fontsize=8, color=INK)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(panel)), [_title(bar) for bar in panel], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    title = axes.set_title(_verdict(of, i), fontsize=10, color=INK, loc="left")
    best, second = (_short(of.class_names[j]) for j in (of.predicted[i], of.runner_up[i]))
    below = axes.set_xlabel(f"← for {second}      for {best} →", fontsize=8)
    for text in (title, below, *axes.get_yticklabels()):
        text.set_parse_math(False)  # a '$' in a name is a '$'
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= 30 else f"{text[:29]}…"

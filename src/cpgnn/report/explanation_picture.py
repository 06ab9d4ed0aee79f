"""Explanations as a picture: one panel per node, one bar per term."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes

from cpgnn.engine.formatting import shortened, signed, whole_percent
from cpgnn.errors import must_be
from cpgnn.explanation.explanation import Explanation
from cpgnn.explanation.terms import Term, terms
from cpgnn.io.presence import PICTURES, check_ending
from cpgnn.report.plots import BAR, BEST, INK, as_they_are, figure, own, save

LONGEST, LINE = 30, 48
"""Letters of a name, and of a line above the bars."""
MOST_NODES = 6
"""Nodes that share a picture; more cannot be read."""


def check_picture(path: Path, nodes: int) -> None:
    """Raises unless `path` ends in .png or .svg and the nodes fit into one picture."""
    check_ending(path, *PICTURES)
    if nodes > MOST_NODES:
        raise must_be("A picture", f"show at most {MOST_NODES} nodes", f"{nodes:,}")


def draw_explanation(of: Explanation, path: Path, top: int = 10) -> None:
    """Writes a PNG or SVG whose description is `alternative_text`."""
    check_picture(path, len(of))
    heights = [len(terms(of, i, top)) + 2.5 for i in range(len(of))]
    picture = figure(8, 0.32 * sum(heights))
    axes = picture.subplots(len(of), 1, squeeze=False, height_ratios=heights)[:, 0]
    for i, place in enumerate(axes):
        plot_explanation(of, i, top=top, axes=place)
    save(picture, path, " ".join(alternative_text(of, i, top) for i in range(len(of))))


def alternative_text(of: Explanation, i: int, top: int = 10) -> str:
    """What the picture of the i-th node shows, for people who cannot see it."""
    listed = "; ".join(f"{_title(term)} {signed(term.margin)}" for term in terms(of, i, top))
    return f"Bar chart. {_verdict(of, i)} Terms: {listed}."


def _verdict(of: Explanation, i: int) -> str:
    best, second = _two_best(of, i)
    share = whole_percent(of.probabilities[i, of.predicted[i]])
    return f"{_short(of.node_ids[i])}: why {best} ({share}) rather than {second}."


def _title(term: Term) -> str:
    name = term.short(LONGEST)
    return f"{name} (like {_short(term.looks_like)})" if term.looks_like else name


def plot_explanation(
    of: Explanation, i: int = 0, *, top: int = 10, axes: Axes | None = None
) -> Axes:
    """The terms of the i-th node as bars: its own prior, the `top` weightiest neighbours, the
    others together."""
    given: Any = of
    if not isinstance(given, Explanation):
        hint = "Try cpgnn.explain(model, nodes=[…])."
        raise must_be("What is drawn", "be an Explanation", type(of).__name__, hint)
    panel = terms(of, i, top)
    axes = own(axes, 8, 0.32 * len(panel) + 0.8)
    margins = [term.margin for term in panel]
    colors = [BEST if margin < 0 else BAR for margin in margins]
    drawn = axes.barh(range(len(panel)), margins, color=colors)
    axes.bar_label(drawn, list(map(signed, margins)), padding=4, fontsize=8, color=INK)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(panel)), [_title(term) for term in panel], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    if max(map(abs, margins)) < 0.005:  # nothing that could be seen
        axes.set_xlim(-1, 1)
    verdict = "\n".join(wrap(_verdict(of, i), LINE))
    title = axes.set_title(verdict, fontsize=10, color=INK, loc="left")
    best, second = _two_best(of, i)
    below = axes.set_xlabel(f"← for {second}      for {best} →", fontsize=8)
    as_they_are(title, below, *axes.get_yticklabels())
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes


def _two_best(of: Explanation, i: int) -> tuple[str, str]:
    best, second = (_short(of.class_names[j]) for j in (of.predicted[i], of.runner_up[i]))
    return best, second


def _short(name: object) -> str:
    return shortened(name, LONGEST)

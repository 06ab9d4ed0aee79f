"""Class matrices of a report as tables whose cells are shaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpgnn.engine.formatting import (
    SHARED_NODE_LINKS,
    Counted,
    between,
    lead,
    matrix_title,
    percent,
    quoted,
    whole_percent,
)
from cpgnn.engine.text import count
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.relations.derived import counted as counted_in

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier

SIDE_BY_SIDE, UPRIGHT = 3, 8
"""Classes up to which two matrices stand side by side, and beyond which headers stand upright."""
WIDE, LINES, LONGEST = 12, 3, 40
"""Letters above a column on a wide page, lines of a header, and letters of a word that count."""

OPTIMISTIC = (
    "The intervals may be too narrow: the model is right on fewer than 80 % of the labels that it "
    "had not seen, or a class has few known edges, or a few edges hold most of the weight."
)


@dataclass(frozen=True)
class Cell:
    """What a cell says, a smaller line below it, and how dark it is, from 0 to 1."""

    text: str
    small: str
    shade: float
    title: str


@dataclass(frozen=True)
class Grid:
    """A matrix with names; `text` says in words what stands out."""

    caption: str
    text: str
    corner: str
    names: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def size(self) -> str:
        c = len(self.names)
        return "few" if c <= SIDE_BY_SIDE else "many" if c > UPRIGHT else ""

    @property
    def headers(self) -> str:
        """Where headers would be broken inside words or cut: "upright" on every page, "slim" on
        narrow ones only. There, columns stand upright and rows have a line of their own."""
        n = len(self.names)
        narrow = WIDE if n == 1 else 8 if n <= SIDE_BY_SIDE else max(3, 37 // n)
        if n > UPRIGHT or _fits(self.names, narrow):
            return ""
        return "slim" if _fits(self.names, WIDE) else "slim upright"

    @property
    def longest_word(self) -> int:
        """In letters, as far as they count."""
        return min(LONGEST, _longest_word(self.names))


def _longest_word(names: tuple[str, ...]) -> int:
    return max((len(word) for name in names for word in re.split(r"[\s-]+", name)), default=0)


def _fits(names: tuple[str, ...], room: int) -> bool:
    """Whether headers of so many letters a line need not break words or leave any out."""
    return _longest_word(names) <= room and max(map(len, names), default=0) <= LINES * room * 0.8


def share_grid(
    caption: str,
    H: np.ndarray | EdgeFrequency,
    names: tuple[str, ...],
    *,
    counted: Counted = "edges",
) -> Grid:
    """Where edges lead, in percent; with intervals, and rows without evidence marked, if known."""
    made = H if isinstance(H, EdgeFrequency) else None
    F = made.share if made else np.asarray(H)
    top = max(float(np.nan_to_num(F).max(initial=0.0)), 1e-9)

    def cell(i: int, j: int) -> Cell:
        says, text, shade = f"{names[i]} to {names[j]}", f"{100 * F[i, j]:.0f}", F[i, j] / top
        if np.isnan(F[i, j]):
            return Cell("–", "", 0.0, f"{says}: no edge is known")
        says += f": {percent(F[i, j])}"
        if made and not made.evidence[i]:
            alone = f"{says} by predictions alone, no labelled edge"
            return Cell(f"{text}?", "no evidence", shade, alone)
        if not made or np.isnan(made.low[i, j]):
            return Cell(text, "", shade, says)
        low, high = made.low[i, j], made.high[i, j]
        says += f", {percent(made.confidence, 0)} interval {between(low, high)}"
        return Cell(text, between(low, high, 0).removesuffix(" %"), shade, says)

    words = in_words(F, names, counted, made.evidence if made else None)
    return Grid(caption, words, "from ↓ to →", names, _cells(len(names), cell))


def first_classes(fitted: CPGNNClassifier, most: int) -> Grid:
    """Where edges lead, of the first `most` classes; words and evidence are those of all."""
    made, names = fitted.edge_frequency_interval_, tuple(map(str, fitted.classes_))
    what = counted_in(fitted.graph_) if hasattr(fitted, "graph_") else "edges"
    share, low, high = (M[:most, :most] for M in (made.share, made.low, made.high))
    first = replace(made, share=share, low=low, high=high, edges=made.edges[:most])
    caption, words = matrix_title(what), in_words(made.share, names, what, made.evidence)
    if not np.isnan(made.low).all():
        caption += f"; small: {percent(made.confidence, 0)} interval"
    grid = share_grid(caption, first, names[:most], counted=what)
    return replace(grid, text=f"{words} {OPTIMISTIC}" if made.optimistic else words)


def confusion_grid(C: np.ndarray, names: tuple[str, ...], caption: str) -> Grid:
    """Counts, shaded by their share of the row."""
    total = C.sum(axis=1, keepdims=True)
    share = np.divide(C, total, out=np.zeros(C.shape), where=total > 0)
    caption += "" if np.array_equal(C, C.round()) else "; counts are means over the repeats"

    def cell(i: int, j: int) -> Cell:
        says = f"{_number(C[i, j])} of {_number(total[i, 0])} {names[i]} nodes called {names[j]}"
        small = percent(share[i, j], 0) if total[i, 0] else ""
        return Cell(_number(C[i, j]), small, float(share[i, j]), says)

    wrong = np.where(np.eye(len(C), dtype=bool), -1, C)
    i, j = np.unravel_index(wrong.argmax(), C.shape)
    text = "None of these nodes was given a wrong class."
    if wrong[i, j] > 0:
        labelled = count(round(total[i, 0]), "node")
        text = (
            f"The most frequent mistake: {_number(C[i, j])} of {labelled} labelled "
            f"{quoted(names[i])} {'was' if C[i, j] == 1 else 'were'} called {quoted(names[j])}."
        )
    return Grid(caption, text, "label ↓ called →", names, _cells(len(names), cell))


def _number(nodes: float) -> str:
    """A count, or the mean of some over repeats."""
    return f"{nodes:,.0f}" if nodes == round(nodes) else f"{nodes:,.1f}"


def in_words(
    H: np.ndarray,
    names: tuple[str, ...],
    what: Counted = "edges",
    evidence: np.ndarray | None = None,
) -> str:
    """The strongest cell of every row, in a sentence; of at most six rows. A row without `evidence`
    [c] is a guess, which no sentence repeats."""
    parts = []
    for i, row in enumerate(H[:6]):
        if np.isnan(row).all():
            parts.append(f"nothing is known about the {what} of {quoted(names[i])}")
            continue
        if evidence is not None and not evidence[i]:
            parts.append(f"no edge between labelled nodes is known for {quoted(names[i])}")
            continue
        j = int(np.nanargmax(row))
        to = quoted(names[j]) + (" itself" if i == j else "")
        parts.append(
            f"{whole_percent(row[j])} of the {what} of {quoted(names[i])} {lead(what)} to {to}"
        )
    text = "; ".join(parts)
    said = text[:1].upper() + text[1:] + ("; and so on." if len(H) > 6 else ".")
    return said if what != "shared-node links" else f"{said} {SHARED_NODE_LINKS}"


def _cells(c: int, cell: Callable[[int, int], Cell]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(cell(i, j) for j in range(c)) for i in range(c))

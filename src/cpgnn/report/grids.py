"""Class matrices of a report as tables whose cells are shaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MANY = 8
"""From this many classes on, cells hold one number and headers stand upright."""


@dataclass(frozen=True)
class Cell:
    """What a cell says, a smaller line below it, and how dark it is, from 0 to 1."""

    text: str
    small: str
    shade: float
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """A matrix with names; `text` says in words what stands out."""

    title: str
    text: str
    rows_are: str
    columns_are: str
    names: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def many(self) -> bool:
        return len(self.names) > MANY


def share_grid(
    title: str,
    H: np.ndarray,
    names: tuple[str, ...],
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    evidence: np.ndarray | None = None,
) -> Grid:
    """Shares in percent with their intervals; rows without `evidence` [c] are marked as such."""
    top = max(float(np.nan_to_num(H).max(initial=0.0)), 1e-9)

    def cell(i: int, j: int) -> Cell:
        if np.isnan(H[i, j]):
            return Cell("–", "", 0.0, f"{names[i]} to {names[j]}: no edge is known")
        says = f"{names[i]} to {names[j]}: {H[i, j]:.1%}"
        if evidence is not None and not evidence[i]:
            unseen = f"{says} by predictions alone, no labelled edge"
            return Cell(f"{100 * H[i, j]:.0f}?", "no evidence", float(H[i, j]) / top, unseen)
        if low is None or high is None or np.isnan(low[i, j]):
            return Cell(f"{100 * H[i, j]:.0f}", "", float(H[i, j]) / top, says)
        between = f"{100 * low[i, j]:.0f}–{100 * high[i, j]:.0f}"
        says += f", 90 % interval {low[i, j]:.1%} to {high[i, j]:.1%}"
        return Cell(f"{100 * H[i, j]:.0f}", between, float(H[i, j]) / top, says)

    return Grid(title, in_words(H, names), "edges of", "lead to", names, _cells(len(names), cell))


def confusion_grid(C: np.ndarray, names: tuple[str, ...]) -> Grid:
    """Counts, shaded by their share of the row."""
    total = C.sum(axis=1, keepdims=True)
    share = np.divide(C, total, out=np.zeros(C.shape), where=total > 0)

    def cell(i: int, j: int) -> Cell:
        says = f"{C[i, j]:,} of {total[i, 0]:,} {names[i]} nodes were called {names[j]}"
        small = f"{100 * share[i, j]:.0f} %" if total[i, 0] else ""
        return Cell(f"{C[i, j]:,}", small, float(share[i, j]), says)

    wrong = np.where(np.eye(len(C), dtype=bool), -1, C)
    i, j = np.unravel_index(wrong.argmax(), C.shape)
    text = "No held-out node was given a wrong class."
    if wrong[i, j] > 0:
        text = (
            f"The most frequent mistake: {C[i, j]:,} of {total[i, 0]:,} nodes labelled "
            f"{quoted(names[i])} were called {quoted(names[j])}."
        )
    return Grid("Confusion matrix", text, "label", "called", names, _cells(len(names), cell))


def quoted(name: str) -> str:
    """A name in quotation marks, cut where it would fill a line."""
    return f"“{name if len(name) <= 40 else name[:39] + '…'}”"


def in_words(H: np.ndarray, names: tuple[str, ...]) -> str:
    """The strongest cell of every row, in a sentence; of at most six rows."""
    parts = []
    for i, row in enumerate(H[:6]):
        if np.isnan(row).all():
            parts.append(f"nothing is known about the edges of {quoted(names[i])}")
            continue
        j = int(np.nanargmax(row))
        to = quoted(names[j]) + (" itself" if i == j else "")
        parts.append(f"{100 * row[j]:.0f} % of the edges of {quoted(names[i])} lead to {to}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + ("; and so on." if len(H) > 6 else ".")


def _cells(c: int, cell: Callable[[int, int], Cell]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(cell(i, j) for j in range(c)) for i in range(c))

"""Tables of numbers and text, with gaps: as networks read them, and as they were.

X is numbers only, so that any network can read it: a gap holds the median of its column, a text
column is one 0/1 column for each of its values. `Mixed` remembers which cells and columns these
are, for trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import scipy.sparse as sp

from cpgnn.errors import wrong_value


@dataclass(frozen=True)
class Category:
    """A text column, and where its 0/1 columns are in X: from `start`, one for each value."""

    name: str
    start: int
    values: tuple[str, ...]

    @property
    def columns(self) -> range:
        return range(self.start, self.start + len(self.values))


@dataclass(frozen=True, eq=False)
class Mixed:
    """What the cells of X were before they became numbers."""

    gaps: sp.csr_array
    """[n, F] bool: the cells that were empty. A category without a 1 is empty, too."""
    categories: tuple[Category, ...] = ()

    @classmethod
    def of(cls, gaps: Any, categories: tuple[Category, ...] = ()) -> Mixed | None:
        """None where there is nothing to remember."""
        gaps = sp.csr_array(gaps, dtype=bool)
        gaps.eliminate_zeros()
        return cls(gaps, categories) if gaps.nnz or categories else None

    def check(self, n: int, F: int) -> None:
        if self.gaps.shape != (n, F):
            raise wrong_value("mixed", f"have gaps [{n}, {F}]", list(self.gaps.shape))
        taken = [j for category in self.categories for j in category.columns]
        if len(set(taken)) < len(taken) or not all(0 <= j < F for j in taken):
            raise wrong_value("mixed", f"give each of {F} columns to one category", taken[:8])

    def reordered(self, order: list[int]) -> Mixed:
        """The same for X[:, order], where the columns of a category stay together."""
        at = {j: i for i, j in enumerate(order)}
        kept = []
        for category in self.categories:
            places = [at.get(j, -1) for j in category.columns]
            if places != list(range(places[0], places[0] + len(places))) or places[0] < 0:
                continue  # numbers of their own from now on
            kept.append(replace(category, start=places[0]))
        return Mixed(sp.csr_array(self.gaps[:, order]), tuple(kept))

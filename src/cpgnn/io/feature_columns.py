"""What the columns of a feature file became, so that a later file can be read the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.mixed import Category
from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import listed
from cpgnn.io.readings import Reading
from cpgnn.io.tables import TableFile

FORMAT = 3
"""Goes up when an older version could not read what `as_dict` returns: 2 has readings, 3 has
categories that are more than their 0/1 columns."""


@dataclass(frozen=True)
class FeatureColumns:
    """The columns of a feature file, ids left out, in the order of the file.

    The matrix has the numeric columns first, then one 0/1 column for each value of a text column.
    """

    names: tuple[str, ...] | None
    """None if the file has no names, or a name twice: columns are then matched by position."""
    categories: tuple[tuple[str, ...] | None, ...]
    """The values of each text column; None for a numeric one, none for one that is not used."""
    medians: tuple[float, ...] | None = None
    """What fills a gap in each column of the matrix; None where they are not known."""
    impute: bool = False
    """Whether a filled gap is a number like any other; otherwise trees see that it is missing."""
    readings: tuple[Reading | None, ...] = ()
    """How each column of numbers in other formats is read; None for the others, () if there are
    none."""
    one_hot: bool = True
    """Whether 0/1 columns are numbers like any others; otherwise trees see the category."""

    @classmethod
    def numeric(cls, names: Sequence[str] | None, width: int) -> FeatureColumns:
        return cls(unique(names), (None,) * width)

    @property
    def matrix_names(self) -> tuple[str, ...] | None:
        """The columns of the matrix: `age`, `colour=red`."""
        if self.names is None:
            return None
        pairs = list(zip(self.names, self.categories, strict=True))
        numeric = [name for name, values in pairs if values is None]
        coded = [f"{name}={value}" for name, values in pairs for value in values or ()]
        return unique((*numeric, *coded))

    @property
    def is_category(self) -> np.ndarray:
        """Which columns of the matrix are 0/1 columns of a category."""
        numeric = sum(values is None for values in self.categories)
        coded = sum(len(values or ()) for values in self.categories)
        return np.arange(numeric + coded) >= numeric

    @property
    def groups(self) -> tuple[Category, ...]:
        """The text columns that trees see as categories, and where they are in the matrix."""
        found, start = [], int((~self.is_category).sum())
        names = self.names or tuple(f"column {i}" for i in range(1, len(self.categories) + 1))
        for name, values in zip(names, self.categories, strict=True):
            if values and not self.one_hot:
                found.append(Category(name, start, values))
            start += len(values or ())
        return tuple(found)

    def reading(self, i: int) -> Reading | None:
        return self.readings[i] if self.readings else None

    @property
    def written(self) -> dict[str, str]:
        """What was a date, a time, yes or no, or a percentage before it became a number."""
        found = zip(self.names or (), self.readings, strict=False)
        kinds = {name: "percent" if r.percent else r.kind for name, r in found if r is not None}
        return {name: kind for name, kind in kinds.items() if kind != "number"}

    def text_columns(self, header: Sequence[str] | None, typed: bool = False) -> set[int]:
        """The positions, ids counted, of what was text in the first file.

        In a `typed` file (Parquet) numbers are numbers, however the first one wrote them.
        """
        text = [
            i
            for i, values in enumerate(self.categories)
            if values is not None or (self.reading(i) and not typed)
        ]
        if self.names is None or header is None:
            return {i + 1 for i in text}
        wanted = {self.names[i] for i in text}
        return {i for i, name in enumerate(header) if i and name in wanted}

    def positions(self, file: TableFile) -> tuple[list[int], list[str]]:
        """Where each column stands in another file, and what to say about it."""
        width = file.table.num_columns
        if self.names is None or file.header is None:
            wanted = len(self.categories)
            if width - 1 != wanted:
                must = f"have an id and the {wanted:,} columns that the model was fitted with"
                raise file.wrong("Features", must, f"{width - 1:,} besides the id")
            return list(range(1, width)), [f"{file.path}: columns are matched by their position."]
        found, extra = match_names(self.names, file.header[1:], str(file.path))
        return [i + 1 for i in found], unknown_columns(file.path, extra)

    def matrix_places(self, which: Sequence[int]) -> np.ndarray:
        """Where the columns of the matrix stand that come from these columns, in their order."""
        numeric = [i for i in which if self.categories[i] is None]
        widths = [0 if values is None else len(values) for values in self.categories]
        starts = np.cumsum([sum(values is None for values in self.categories), *widths])
        rank = np.cumsum([values is None for values in self.categories]) - 1
        coded = [np.arange(starts[i], starts[i] + widths[i]) for i in which]
        return np.concatenate([rank[numeric].astype(np.int64), *coded]).astype(np.int64)

    def part(self, names: Sequence[str]) -> FeatureColumns:
        """Those of the columns that have one of these names."""
        which = [i for i, name in enumerate(self.names or ()) if name in names]
        places = self.matrix_places(which)
        return FeatureColumns(
            tuple((self.names or ())[i] for i in which),
            tuple(self.categories[i] for i in which),
            None if self.medians is None else tuple(self.medians[i] for i in places),
            self.impute,
            tuple(self.readings[i] for i in which) if self.readings else (),
        )

    def with_medians_of(self, X: Any) -> FeatureColumns:
        """The same, with the medians of the matrix where none are known (0 for categories)."""
        if self.medians is not None:
            return self
        medians = np.where(self.is_category, 0, column_medians(X))
        return replace(self, medians=tuple(medians.tolist()))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        values: dict[str, Any] = {
            "format": FORMAT if not self.one_hot else 2 if self.readings else 1,
            "names": None if self.names is None else list(self.names),
            "categories": [None if v is None else list(v) for v in self.categories],
            "medians": None if self.medians is None else list(self.medians),
            "impute": self.impute,
        }
        if not self.one_hot:
            values["one_hot"] = False
        if self.readings:
            values["readings"] = [None if r is None else asdict(r) for r in self.readings]
        return values

    @classmethod
    def from_dict(cls, values: Any) -> FeatureColumns:
        """What `as_dict` wrote; a ValueError where it is something else."""
        if values["format"] > FORMAT:
            raise ValueError(f"format {values['format']} is newer than {FORMAT}")
        names, medians = values["names"], values["medians"]
        columns = cls(
            None if names is None else _texts(names),
            tuple(None if v is None else _texts(v) for v in values["categories"]),
            None if medians is None else tuple(float(value) for value in medians),
            bool(values["impute"]),
            tuple(None if r is None else Reading(**r) for r in values.get("readings", ())),
            bool(values.get("one_hot", True)),
        )
        if columns.names is not None and len(columns.names) != len(columns.categories):
            raise ValueError("one name per column is needed")
        if medians is not None and len(medians) != len(columns.is_category):
            raise ValueError("a median for each column is needed")
        if not np.isfinite(columns.medians or ()).all():
            raise ValueError("a median is not finite")
        if columns.readings and len(columns.readings) != len(columns.categories):
            raise ValueError("a reading for each column is needed")
        return columns


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("a list of text is needed")
    return tuple(values)


def unknown_columns(path: object, names: list[str]) -> list[str]:
    """What to say about columns that the model was not fitted with."""
    return [f"{path}: the model was not fitted with {listed(names)}; not used."] if names else []


def unique(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names, if no two columns share one."""
    return None if names is None or len(set(names)) < len(names) else tuple(names)


def column_medians(X: Any) -> np.ndarray:
    """The median of each column, float32 [F]."""
    if X.shape[0] == 0:
        return np.zeros(X.shape[1], dtype=np.float32)
    if not sp.issparse(X):
        return np.median(X, axis=0).astype(np.float32)
    columns = sp.csc_array(X)
    medians = np.zeros(X.shape[1], dtype=np.float32)
    full = np.flatnonzero(2 * np.diff(columns.indptr) >= X.shape[0])  # others: mostly 0
    for j in full:
        medians[j] = np.median(columns[:, [j]].toarray())
    return medians

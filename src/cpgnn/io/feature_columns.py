"""What the columns of a feature file became, so that a later file can be read the same way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from pydantic import model_validator

from cpgnn.engine.mixed import Category
from cpgnn.engine.records import Record
from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import listed
from cpgnn.io.readings import Reading
from cpgnn.io.tables import TableFile

FORMAT = 3
"""Goes up when an older version could not read what `as_dict` returns: 2 has readings, 3 has
categories that are more than their 0/1 columns."""


@dataclass(frozen=True)
class FeatureColumn:
    """One column of a feature file."""

    name: str | None = None
    categories: tuple[str, ...] | None = None
    """The values of a text column; None for a numeric one, none for one that is not used."""
    reading: Reading | None = None
    """How numbers in another format are read."""
    median: float | None = None
    """What fills a gap among numbers; None where it is not known."""

    @property
    def is_numeric(self) -> bool:
        return self.categories is None


@dataclass(frozen=True)
class FeatureColumns:
    """The columns of a feature file, ids left out, in the order of the file.

    The matrix has the numeric columns first, then one 0/1 column for each value of a text column.
    """

    columns: tuple[FeatureColumn, ...]
    impute: bool = False
    """Whether a filled gap is a number like any other; otherwise trees see that it is missing."""
    one_hot: bool = True
    """Whether 0/1 columns are numbers like any others; otherwise trees see the category."""
    of_kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The columns of each kind of nodes that has features; none where there is one kind. The graph
    tells it, so it is not saved."""

    @classmethod
    def numeric(cls, names: Sequence[str] | None, width: int) -> FeatureColumns:
        return cls(tuple(map(FeatureColumn, unique(names) or [None] * width)))

    def __iter__(self) -> Iterator[FeatureColumn]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...] | None:
        """None if the file has no names, or a name twice: columns are then matched by position."""
        names = tuple(column.name for column in self if column.name is not None)
        return names if len(names) == len(self.columns) else None

    def used(self, header: Sequence[str]) -> list[str]:
        """The names of those that are in the matrix; of columns without names, as in `header`."""
        named = zip(self.names or header, self, strict=True)
        return [name for name, column in named if column.categories != ()]

    @property
    def places(self) -> list[range]:
        """Where each column is in the matrix."""
        number, coded, places = 0, sum(column.is_numeric for column in self), []
        for column in self:
            if column.categories is None:
                places.append(range(number, number + 1))
                number += 1
            else:
                places.append(range(coded, coded + len(column.categories)))
                coded += len(column.categories)
        return places

    @property
    def is_category(self) -> np.ndarray:
        """Which columns of the matrix are 0/1 columns of a category."""
        coded = sum(len(column.categories or ()) for column in self)
        return np.repeat([False, True], [sum(column.is_numeric for column in self), coded])

    @property
    def medians(self) -> tuple[float, ...] | None:
        """What fills a gap in each column of the matrix; None where they are not known."""
        numbers = [column.median for column in self if column.is_numeric]
        known = [median for median in numbers if median is not None]
        if len(known) < len(numbers):
            return None
        return (*known, *[0.0] * (len(self.is_category) - len(known)))

    @property
    def matrix_names(self) -> tuple[str, ...] | None:
        """The columns of the matrix: `age`, `colour=red`."""
        if self.names is None:
            return None
        numbers = [str(column.name) for column in self if column.is_numeric]
        coded = [f"{column.name}={value}" for column in self for value in column.categories or ()]
        return unique((*numbers, *coded))

    @property
    def groups(self) -> tuple[Category, ...]:
        """The text columns that trees see as categories, and where they are in the matrix."""
        names = self.names or [f"column {i}" for i in range(1, len(self.columns) + 1)]
        return tuple(
            Category(name, place.start, column.categories)
            for name, column, place in zip(names, self, self.places, strict=True)
            if column.categories and not self.one_hot
        )

    @property
    def written(self) -> dict[str, str]:
        """What was a date, a time, yes or no, or a percentage before it became a number."""
        read = {column.name: column.reading for column in self if column.name and column.reading}
        kinds = {name: "percent" if how.percent else how.kind for name, how in read.items()}
        return {name: kind for name, kind in kinds.items() if kind != "number"}

    def text_columns(self, header: Sequence[str] | None, typed: bool = False) -> set[int]:
        """The positions, ids counted, of what was text in the first file.

        In a `typed` file (Parquet) numbers are numbers, however the first one wrote them.
        """
        text = {
            i: column.name
            for i, column in enumerate(self, start=1)
            if not column.is_numeric or (column.reading and not typed)
        }
        if self.names is None or header is None:
            return set(text)
        return {i for i, name in enumerate(header) if i and name in text.values()}

    def positions(self, file: TableFile) -> tuple[list[int], list[str]]:
        """Where each column stands in another file, and what to say about it."""
        width = file.table.num_columns
        if self.names is None or file.header is None:
            wanted = len(self.columns)
            if width - 1 != wanted:
                must = f"have an id and the {wanted:,} columns that the model was fitted with"
                raise file.wrong("Features", must, f"{width - 1:,} besides the id")
            return list(range(1, width)), [f"{file.path}: columns are matched by their position."]
        found, extra = match_names(self.names, file.header[1:], str(file.path))
        return [i + 1 for i in found], unknown_columns(file.path, extra)

    def part(self, names: Collection[str]) -> FeatureColumns:
        """Those of the columns that have one of these names."""
        return replace(self, columns=tuple(column for column in self if column.name in names))

    def with_medians(self, numbers: Iterable[float]) -> FeatureColumns:
        """The same with the medians of the numeric columns."""
        rest = iter(numbers)
        made = (replace(of, median=float(next(rest))) if of.is_numeric else of for of in self)
        return replace(self, columns=tuple(made))

    def with_medians_of(self, X: Any) -> FeatureColumns:
        """The same, with the medians of the matrix where none are known."""
        return self if self.medians is not None else self.with_medians(column_medians(X))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        names, medians = self.names, self.medians
        readings = [column.reading and asdict(column.reading) for column in self]
        values: dict[str, Any] = {
            "format": FORMAT if not self.one_hot else 2 if any(readings) else 1,
            "names": None if names is None else list(names),
            "categories": [
                None if column.categories is None else list(column.categories) for column in self
            ],
            "medians": None if medians is None else list(medians),
            "impute": self.impute,
        }
        if not self.one_hot:
            values["one_hot"] = False
        if any(readings):
            values["readings"] = readings
        return values

    @classmethod
    def from_dict(cls, values: Any) -> FeatureColumns:
        """What `as_dict` wrote; a ValueError where it is something else."""
        return FeaturesRecord.model_validate(values, strict=False).made()


class FeaturesRecord(Record, extra="ignore"):
    """`FeatureColumns.as_dict`, as config.json holds it."""

    format: int
    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...]
    medians: tuple[float, ...] | None
    impute: bool
    one_hot: bool = True
    readings: tuple[Reading | None, ...] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.format > FORMAT:
            raise ValueError(f"format {self.format} is newer than {FORMAT}")
        n, width = len(self.categories), sum(1 if c is None else len(c) for c in self.categories)
        if any(len(part) != n for part in (self.names, self.readings) if part is not None):
            raise ValueError("a name and a reading for each column are needed")
        if self.medians is not None and len(self.medians) != width:
            raise ValueError("a median for each column is needed")
        return self

    def made(self) -> FeatureColumns:
        nothing = [None] * len(self.categories)
        names, readings = self.names or nothing, self.readings or nothing
        columns = tuple(map(FeatureColumn, names, self.categories, readings))
        made = FeatureColumns(columns, self.impute, self.one_hot)
        return made if self.medians is None else made.with_medians(self.medians)


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

"""Which columns a table must have, told from its schema alone: no job runs.

The rules are those of files on one machine: columns count by position, and a well-known name in
the wrong place is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from cpgnn.engine.text import count
from cpgnn.io.files import wrong
from cpgnn.io.headers import ENDS, ID, LABEL, SPLIT, WEIGHT, misplaced

INTEGER = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
TEXT = (T.StringType, T.VarcharType, T.CharType)


@dataclass(frozen=True)
class Kind:
    """Types that a column may have."""

    types: tuple[type[T.DataType], ...]
    called: str
    hint: str


NAMES = Kind((*TEXT, *INTEGER), "text or integers", "Convert the column first.")
NUMBERS = Kind(
    (*INTEGER, T.FloatType, T.DoubleType, T.DecimalType),
    "numbers",
    "Convert the column to numbers, or leave it out.",
)


@dataclass(frozen=True)
class Layout:
    """The columns of a table, by position. The last one stands for all that follow."""

    what: str
    must: str
    """What a table with too few or too many columns is told."""
    order: str
    columns: tuple[tuple[str, frozenset[str], Kind], ...]
    """For each position: what it holds, well-known names, types."""
    most: int | None = None
    """The largest number of columns."""


EDGES = Layout(
    "Edges",
    "have 2 or 3 columns: source, target[, weight]",
    "source, target[, weight]",
    (("Ids", ENDS, NAMES), ("Ids", ENDS, NAMES), ("Weights", WEIGHT, NUMBERS)),
    most=3,
)
LABELS = Layout(
    "Labels",
    "have 2 or 3 columns: id, label[, split]",
    "id, label[, split]",
    (("Ids", ID, NAMES), ("Labels", LABEL | {"target"}, NAMES), ("Splits", SPLIT, NAMES)),
    most=3,
)
FEATURES = Layout(
    "Features",
    "have an id column and at least one more",
    "the id column first",
    (("Ids", ID, NAMES), ("Features", frozenset(), NUMBERS)),
)


def check_columns(schema: T.StructType, name: str, layout: Layout) -> None:
    """Raises if the table called `name` does not have the columns of its layout."""
    width = len(schema.fields)
    listed = f"{count(width, 'column')}: {', '.join(schema.names[:8])}"
    if width < 2 or (layout.most is not None and width > layout.most):
        raise wrong(name, layout.what, layout.must, listed, "Select those columns first.")
    known = [names for _, names, _ in layout.columns if names]
    if misplaced(schema.names, known):
        hint = "Check that it is the right table, and the order of its columns."
        raise wrong(name, "The columns", f"name {layout.order}", listed, hint)
    for position, field in enumerate(schema.fields):
        what, _, kind = layout.columns[min(position, len(layout.columns) - 1)]
        if not isinstance(field.dataType, kind.types):
            what, got = f"{what} (column {field.name!r})", field.dataType.simpleString()
            raise wrong(name, what, f"be {kind.called}", got, kind.hint)

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
NAMES = ((T.StringType, T.VarcharType, T.CharType, *INTEGER), "text or integers")
NUMBERS = ((*INTEGER, T.FloatType, T.DoubleType, T.DecimalType), "numbers")


@dataclass(frozen=True)
class Layout:
    """The columns of a table, by position. The last one stands for all that follow."""

    what: str
    have: str
    """What a table with too few or too many columns must have."""
    order: str
    columns: tuple[tuple[str, frozenset[str], tuple[tuple[type[T.DataType], ...], str]], ...]
    """For each position: what it holds, well-known names, types and what they are called."""
    most: float = 3


EDGES = Layout(
    "Edges",
    "2 or 3 columns: source, target[, weight]",
    "source, target[, weight]",
    (("Ids", ENDS, NAMES), ("Ids", ENDS, NAMES), ("Weights", WEIGHT, NUMBERS)),
)
LABELS = Layout(
    "Labels",
    "2 or 3 columns: id, label[, split]",
    "id, label[, split]",
    (("Ids", ID, NAMES), ("Labels", LABEL | {"target"}, NAMES), ("Splits", SPLIT, NAMES)),
)
FEATURES = Layout(
    "Features",
    "an id column and at least one more",
    "the id column first",
    (("Ids", ID, NAMES), ("Features", frozenset(), NUMBERS)),
    most=float("inf"),
)
KINDS = Layout(
    "Kinds",
    "2 columns: id, kind",
    "id, kind",
    (("Ids", ID, NAMES), ("Kinds", frozenset(), NAMES)),
    most=2,
)


def check_columns(schema: T.StructType, name: str, layout: Layout) -> None:
    """Raises if the table called `name` does not have the columns of its layout."""
    width = len(schema.fields)
    listed = f"{count(width, 'column')}: {', '.join(schema.names[:8])}"
    if not 2 <= width <= layout.most:
        hint = "Select those columns first."
        raise wrong(name, layout.what, f"have {layout.have}", listed, hint)
    if misplaced(schema.names, [names for _, names, _ in layout.columns if names]):
        hint = "Check that it is the right table, and the order of its columns."
        raise wrong(name, "The columns", f"name {layout.order}", listed, hint)
    for position, field in enumerate(schema.fields):
        what, _, (types, called) = layout.columns[min(position, len(layout.columns) - 1)]
        if not isinstance(field.dataType, types):
            what, got = f"{what} (column {field.name!r})", field.dataType.simpleString()
            raise wrong(name, what, f"be {called}", got, "Convert the column, or leave it out.")

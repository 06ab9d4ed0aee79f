"""Columns with a word for every row: what an edge means, what a node is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.text import count, listed
from cpgnn.errors import advise
from cpgnn.io.column_choice import Columns
from cpgnn.io.names import check_names
from cpgnn.io.tables import TableFile, as_array, known_cells
from cpgnn.relations.edge_types import MOST_TYPES


def take_types(
    file: TableFile, columns: Columns
) -> tuple[TableFile, pd.Categorical | None, list[str]]:
    """The table without the column of types, the types by row, and what to say about them."""
    place = columns.find_relation(file.path, file.header)
    if place is None or not file.table.num_rows:
        return file, None, []
    name = file.column(place)
    rest, codes, values = _taken(file, place)
    if len(values) > MOST_TYPES:
        found = f"{len(values):,} different values"
        if columns.relation_column is not None:
            raise file.wrong(f"Column {name}", f"hold at most {MOST_TYPES} types", found)
        return rest, None, [f"{file.path}: column {name} not used as the type: {found}."]
    bad = codes < 0
    if bad.any():
        got = f"{count(int(bad.sum()), 'empty cell')} in {len(codes):,} rows"
        hint = advise("Fill them, or use {} to read no types.", relation_column="")
        row = int(np.argmax(bad))
        raise file.wrong(f"Column {name}", "give every edge a type", got, hint, row=row)
    said = f"{file.path}: column {name} is used as the type of an edge ({listed(values)})."
    return rest, pd.Categorical.from_codes(codes, values), [said]


def take_kinds(
    file: TableFile,
    columns: Columns,
    labelled: np.ndarray | None,
    *,
    sure: bool = False,
    partly: bool = False,
) -> tuple[TableFile, np.ndarray | None]:
    """The table without the column of kinds, and the kinds by row (None where a cell is empty).

    A column that is merely called `kind` counts if `labelled` rows are of one kind and others of
    another; otherwise it stays where it is. In labels, and where an earlier graph had kinds
    (`sure`), it is nothing else; in one of several feature files (`partly`), one kind in all rows
    counts too.
    """
    place = columns.find_kind(file.path, file.header)
    if place is None or not file.table.num_rows:
        return file, None
    rest, codes, values = _taken(file, place)
    if columns.kind_column is None:
        with_labels = np.unique(codes[labelled]) if labelled is not None else codes[:0]
        one = len(with_labels) == 1 and with_labels[0] >= 0
        alone = partly and len(values) == 1
        if not alone and (len(values) < 2 or not (one or sure)):
            return file, None
    return rest, np.array([*values, None], dtype=object)[codes]


def _taken(file: TableFile, place: int) -> tuple[TableFile, np.ndarray, list[str]]:
    """A table without one of its columns; the codes (-1: empty) and the values of that column."""
    column = file.table.column(place)
    text = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
    coded = pc.dictionary_encode(as_array(known_cells(text)))
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    values = coded.dictionary.to_pylist()
    if len(values) <= MOST_TYPES:
        check_names(f"A value of column {file.column(place)}", values, file.path)
    return file.without(place), codes, values

"""The column of an edge file that says what each edge means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from cpgnn.engine.text import count, listed
from cpgnn.errors import advise
from cpgnn.io.column_choice import Columns
from cpgnn.io.tables import TableFile, as_array, known_cells

MOST_TYPES = 50
"""More values than this are no types: each would have a matrix of its own."""


def take_types(
    file: TableFile, columns: Columns
) -> tuple[TableFile, pd.Categorical | None, list[str]]:
    """The table without the column of types, the types by row, and what to say about them."""
    place = columns.find_relation(file.path, file.header)
    if place is None or not file.table.num_rows:
        return file, None, []
    name = file.column(place)
    coded = pc.dictionary_encode(as_array(known_cells(file.table.column(place))))
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    header = file.header and tuple(n for i, n in enumerate(file.header) if i != place)
    rest = replace(file, table=file.table.remove_column(place), header=header)
    values = coded.dictionary.to_pylist()
    if len(values) > MOST_TYPES:
        found = f"{len(values):,} different values"
        if columns.relation_column is not None:
            raise file.wrong(f"Column {name}", f"hold at most {MOST_TYPES} types", found)
        return rest, None, [f"{file.path}: column {name} not used as the type: {found}."]
    if (codes < 0).any():
        bad = codes < 0
        got = f"{count(int(bad.sum()), 'empty cell')} in {len(codes):,} rows"
        hint = advise("Fill them, or use {} to read no types.", relation_column="")
        row = int(np.argmax(bad))
        raise file.wrong(f"Column {name}", "give every edge a type", got, hint, row=row)
    said = f"{file.path}: column {name} is used as the type of an edge ({listed(values)})."
    return rest, pd.Categorical.from_codes(codes, values), [said]

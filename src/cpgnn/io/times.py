"""When edges and labels came: a column of dates, times or numbers that grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cpgnn.engine.text import count, shorten
from cpgnn.io.column_choice import Columns
from cpgnn.io.readings import find_reading, read_numbers
from cpgnn.io.tables import TableFile
from cpgnn.relations.edge_types import Directed


@dataclass(frozen=True, eq=False)
class TimedEdges:
    """The rows of an edge file with their times, for graphs of an earlier moment."""

    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    relation: object
    directed: Directed
    times: np.ndarray


@dataclass(frozen=True, eq=False)
class Times:
    """When nodes came, and their edges."""

    column: str
    nodes: np.ndarray
    """[n]: when each was labelled, or had its first edge; NaN if nothing says so."""
    is_date: bool
    """Whether times are days after 1970-01-01; otherwise they are plain numbers."""
    edges: TimedEdges | None = None
    """None if only labels have times."""

    def said(self, time: float) -> str:
        """A time as people write it."""
        if not self.is_date:
            return f"{time:.15g}"
        return str(np.datetime64(round(time * 86400), "s")).removesuffix("T00:00:00")


def take_times(file: TableFile, columns: Columns) -> tuple[TableFile, np.ndarray | None, bool]:
    """The table without its column of times, the times by row, and whether they are dates."""
    place = columns.find_time(file.header)
    if place is None or not file.table.num_rows:
        return file, None, False
    cells, what, is_date = file.table.column(place), f"Column {file.column(place)}", False
    if pa.types.is_floating(cells.type):
        times = np.asarray(cells.to_numpy(), dtype=np.float64)
    else:
        reading = find_reading(file, place)
        if reading is None or reading.kind == "yes/no":
            got = shorten(str(cells[0].as_py()))
            hint = "Write dates with the year first: 2024-12-31."
            raise file.wrong(what, "hold dates or times", got, hint, row=0)
        times, is_date = read_numbers(file, place, reading), reading.kind == "date"
    if (bad := np.isnan(times)).any():
        got = f"{count(int(bad.sum()), 'empty cell')} in {len(times):,} rows"
        raise file.wrong(what, "hold a time in every row", got, row=int(np.argmax(bad)))
    return file.without(place), times, is_date

"""An edge list on its way to a `Graph`: node positions, ids, and what a graph file brings along."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.arrays import unequal_ways
from cpgnn.engine.text import count
from cpgnn.errors import Mention, Message, advise
from cpgnn.io.address import Place
from cpgnn.io.by_content import edge_order, find_ends
from cpgnn.io.column_choice import Columns, Header, UnclearColumnsError
from cpgnn.io.headers import AMOUNT, ENDS, NUMBER, WEIGHT, is_word, misplaced, near_name, plain
from cpgnn.io.ids import check_ids, encode_pair, whole_ends
from cpgnn.io.problems import MOST, Problems
from cpgnn.io.readings import find_reading, read_numbers, reading_notices
from cpgnn.io.tables import TableFile, known_cells, read_table
from cpgnn.io.times import take_times
from cpgnn.io.word_columns import take_types
from cpgnn.relations.edge_types import Directed
from cpgnn.relations.edge_weights import is_wide, weight_range
from cpgnn.relations.kinds import Kinds

LEAST_ROWS = 10
"""With fewer rows than this, a pair of nodes that occurs once is nothing unusual."""


@dataclass(frozen=True)
class EdgeList:
    """Edges between node positions 0 … n-1."""

    path: Place
    ids: pa.Array
    """The distinct node ids as text, [n]."""
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None = None
    notices: tuple[str, ...] = ()
    file: TableFile | None = None
    """The table the edges came from, one row each; None for a graph file."""
    nodes: TableFile | None = None
    """One row for every node, where the file declares nodes (GraphML)."""
    index: pd.Index | None = None
    """The ids as a graph file stores them, where they are not text."""
    labels: np.ndarray | None = None
    class_names: tuple[Hashable, ...] = ()
    split: np.ndarray | None = None
    self_loops: np.ndarray | tuple[()] = ()
    relation: np.ndarray | pd.Categorical | None = None
    """The type of every edge, by name."""
    directed: Directed = False
    kinds: Kinds | None = None
    times: np.ndarray | None = None
    """When every edge came; dates as days after 1970-01-01, if `dated`."""
    dated: bool = False
    guessed: dict[str, str] = field(default_factory=dict)
    """Columns that were found by what they hold, by parameter."""

    def listed(self) -> np.ndarray:
        """The ends of every row and, where edges have types, their codes [2 or 3, m]."""
        rows = [self.source, self.target]
        if self.relation is not None:
            rows.append(np.asarray(pd.Categorical(self.relation).codes))
        return np.stack(rows)

    def place_of(self, position: int) -> str:
        """Where a node is first named, for a message."""
        if self.nodes is not None:
            return f"{self.path}, {self.nodes.place(position)}"
        if self.file is None:
            return str(self.path)
        return f"{self.path}, {self.file.place(int(self.rows_of(position)[0]))}"

    def rows_of(self, position: int) -> np.ndarray:
        """The rows that name a node."""
        return np.flatnonzero((self.source == position) | (self.target == position))


def read_edges(path: Place, columns: Columns) -> EdgeList:
    """Edges from a table: source, target[, weight][, type]."""
    file, columns, guessed = _found(path, columns)
    file, times, dated = take_times(file, columns)
    file, relation, told_types = take_types(file, columns)
    if columns.weight is None and (last := (file.header or ())[2:]) and plain(last[0]) in AMOUNT:
        file = file.without(2, unused=(*file.unused, last[0]))  # offered below
    width = file.table.num_columns
    if width not in (2, 3):
        raise file.wrong_width("Edges", "have 2 or 3 columns: source, target[, weight]")
    file = whole_ends(file)
    notices = list(file.notices)
    if guessed:
        ends = "{source!r} and {target!r}".format(**guessed)
        notices.append(f"{path}: {ends} share their ids, so they are taken as source and target.")
    notices += [*file.moved(("source", "target", "weight")[:width]), *told_types]
    if names := file.header:
        known = columns.source is None and columns.target is None
        if known and misplaced(names, (ENDS, ENDS, WEIGHT)):
            hint = "Check that it is the edge file, and the order of its columns."
            raise file.wrong_header("name source, target[, weight]", hint)
    file.need_rows("Edges")
    source, target, ids = encode_pair(file.table.column(0), file.table.column(1))
    edges = EdgeList(path, ids, source, target, file=file, guessed=guessed)
    edges = replace(edges, relation=relation, directed=one_way(columns, relation))
    edges = replace(edges, times=times, dated=dated)
    notices += _offered_weight(file, columns)
    weights, problems = None, Problems()
    with problems.noted():
        check_ids(file, ids, edges.rows_of)
        if columns.header is None:
            _check_spelling(edges)
    with problems.noted():
        if width == 3:
            weights, told = _weights(file, columns)
            notices += [*told, *_wide(file, weights, later=bool(columns.optional))]
            if columns.directed is None:
                _check_ways(replace(edges, weights=weights))
    problems.stop()
    return replace(edges, weights=weights, notices=tuple(notices))


def _found(path: Place, columns: Columns) -> tuple[TableFile, Columns, dict[str, str]]:
    """The table with source and target in front: by name, by position, or as its content tells;
    which columns these are, and those of them that only their content told."""

    def types(header: Header) -> set[int]:
        place = columns.find_relation(path, header)
        return set() if place is None else {place}

    read = partial(read_table, path, columns, ids=(0, 1), numbers=True, text=types)
    guessed: dict[str, str] = {}
    try:
        file = read(pick=columns.edges)
    except UnclearColumnsError:
        whole = read(numbers=False)
        _check_list(whole)
        ends = find_ends(whole)
        if ends is None or whole.header is None:
            raise
        guessed = {"source": whole.header[ends[0]], "target": whole.header[ends[1]]}
        columns = replace(columns, source=guessed["source"], target=guessed["target"])
        file = read(pick=columns.edges)
    if order := edge_order(file, columns):
        file = read(pick=lambda *_: order)
    return file, columns, guessed


def _check_list(file: TableFile) -> None:
    """Refuse a matrix: nodes in the header that are the ids of the first column, too."""
    names = pa.array((file.header or ())[1:], pa.string())
    known = int(pc.sum(pc.is_in(names, value_set=file.table.column(0))).as_py() or 0)
    if known >= 3 and 2 * known >= len(names):
        hint = "Write one row for every edge."
        raise file.wrong("Edges", "be a list: source, target[, weight]", "a matrix", hint)


def one_way(columns: Columns, types: pd.Categorical | None) -> Directed:
    """The types that have a direction; of those of an earlier file, the ones that occur here."""
    if columns.directed is None:
        return False
    if isinstance(columns.directed, bool) or "directed" not in columns.optional:
        return columns.directed
    return [] if types is None else [t for t in types.categories if t in columns.directed]


def _check_ways(edges: EdgeList) -> None:
    """Refuse pairs with edges both ways that weigh differently, unless an option explains them.

    Added up, as in a graph without directions, they would lose what may be meant.
    """
    if edges.weights is None or edges.file is None:
        return
    types = edges.relation
    if not isinstance(types, pd.Categorical):
        types = pd.Categorical.from_codes(np.zeros(len(edges.source), dtype=np.int8), ["edges"])
    for code in range(len(types.categories)):
        of = types.codes == code
        ends = edges.source[of], edges.target[of], edges.weights[of]
        if pairs := unequal_ways(*ends, len(edges.ids)):
            got = f"different weights in {count(pairs, 'pair')}"
            ways = [Mention("directed", (way,)) for way in (True, False)]
            hint = Message("Use ", ways[0], ", or ", ways[1], " to add them up.")
            raise edges.file.wrong("Edges in both directions", "have the same weight", got, hint)


def _offered_weight(file: TableFile, columns: Columns) -> list[str]:
    """A notice about a column that may be meant as the weight, which is not used."""
    likely = [name for name in file.unused if plain(name) in AMOUNT]
    if not likely or file.table.num_columns == 3 or columns.weight is not None:
        return []
    hint = advise("use {}", weight=likely[0])
    return [Message(f"{file.path}: to weigh the edges by {likely[0]!r}, ", hint, ".")]


def _weights(file: TableFile, columns: Columns) -> tuple[np.ndarray | None, list[str]]:
    """The third column, if it is numeric; None if its name says that it is something else."""
    column, name = file.table.column(2), file.header[2] if file.header else None
    named = name is not None and plain(name) not in WEIGHT and columns.weight is None
    used = [f"{file.path}: column {name!r} is used as the edge weight."] if named else []
    if pa.types.is_floating(column.type):
        column, told = _without_minus(file, column)
        return edge_weights(file, column), [*used, *told]
    reading = find_reading(file, 2, columns.decimal)
    if reading is not None and reading.kind == "number":
        numbers = pa.chunked_array([read_numbers(file, 2, reading)])
        numbers, told = _without_minus(file, numbers)
        return edge_weights(file, numbers), [*used, *reading_notices(file, {2: reading}), *told]
    if named:
        return None, [f"{file.path}: column {name!r} not used: it is not numeric."]
    return edge_weights(file, column), []


def _without_minus(file: TableFile, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[str]]:
    """Debits are written with a minus sign, which says nothing if no weight is above 0."""
    low, high = (pc.min_max(column)[end].as_py() for end in ("min", "max"))
    if low is None or not low < 0 or high > 0:
        return column, []
    return pc.abs(column), [f"{file.path}: no weight is above 0, so minus signs are ignored."]


def _wide(file: TableFile, weights: np.ndarray | None, *, later: bool) -> list[str]:
    """Amounts seldom measure importance: a notice if a few edges would drown out the others.

    later: the file comes after a fit, which has tried what to make of weights.
    """
    if weights is None or not is_wide(weights):
        return []
    low, high = weight_range(weights)
    name = file.header[2] if file.header else "weight"
    return [
        f"{file.path}: the weights ({name}) span a factor of {high / low:,.0f}: a few edges may "
        "drown out the others."
        + ("" if later else " The default model also tries logarithms and no weights.")
    ]


def edge_weights(file: TableFile, column: pa.ChunkedArray) -> np.ndarray:
    """Finite numbers of at least 0 that a float32 can hold; the first other one is an error."""
    if pa.types.is_floating(column.type):
        values = np.asarray(column.to_numpy())
        bad = ~(np.isfinite(values) & (values >= 0) & (values <= np.finfo(np.float32).max))
        if not bad.any():
            return values
        rows, total = np.flatnonzero(bad)[:MOST].tolist(), int(bad.sum())
        got = {row: "no number" if np.isnan(values[row]) else values[row] for row in rows}
    else:
        row, total = first_text(column), 1
        got = {row: repr(column[row].as_py())}
    hint = "Remove the row, or give it a weight of 0 or more."
    must = "be a finite number of at least 0"
    raise file.wrong_rows("An edge weight", must, got, hint, total=total)


def first_text(column: pa.ChunkedArray) -> int:
    """The first row whose cell is neither a number nor missing."""
    odd = pc.invert(pc.match_substring_regex(known_cells(column), f"^{NUMBER}$"))
    return max(int(pc.index(odd, True).as_py()), 0)


# -- a first row that may be a header -----------------------------------------------------------


def _first_pair(edges: EdgeList) -> tuple[str, str] | None:
    """The two names of a first row that is no header, if no other row has either."""
    source, target = edges.source, edges.target
    if edges.file is None or edges.file.header or len(source) < 2 or source[0] == target[0]:
        return None
    ends = (int(source[0]), int(target[0]))
    if any(int((source == end).sum() + (target == end).sum()) > 1 for end in ends):
        return None
    return edges.ids[ends[0]].as_py(), edges.ids[ends[1]].as_py()


def _check_spelling(edges: EdgeList) -> None:
    """Refuse a first row that is a misspelt header: `sorce,target`."""
    pair = _first_pair(edges)
    meant = [near_name(name) for name in pair or ()]
    if pair is None or edges.file is None or None in meant:
        return
    must = "be an edge, or a header that names source, target[, weight]"
    hint = f"Did you mean {', '.join(map(str, meant))}?"
    raise edges.file.wrong("The first row", must, ", ".join(pair), hint, row=0)


def lonely_first_row(edges: EdgeList, others: Sequence[pa.Array]) -> tuple[str, str] | None:
    """A first row that may be a header: two words that neither the other rows nor `others` have."""
    pair = _first_pair(edges) if len(edges.source) >= LEAST_ROWS else None
    if pair is None or not all(is_word(name) for name in pair):
        return None
    known = any(pc.any(pc.is_in(pa.array(pair), value_set=ids)).as_py() for ids in others)
    return None if known else pair

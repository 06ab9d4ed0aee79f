"""Columns whose names say nothing, recognised by what they hold and mentioned in a notice.

Ids are what tables share: the two ends of edges have values in common, and so have the ids of
labels and features with the edges. Where more than one column could be meant, none is chosen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.errors import InputError
from cpgnn.io.column_choice import Columns
from cpgnn.io.headers import AMOUNT, CLASS, ENDS, ID, LABEL, NODES, SPLIT, WEIGHT, plain
from cpgnn.io.readings import find_reading
from cpgnn.io.tables import TableFile, known_cells

LEAST_ROWS = 4
"""With fewer rows, repeats and the lack of them are no evidence."""
LEAST_COUNTED = 20
"""Fewer rows than this may be counted by chance, where nothing else says that they are."""
LEAST_SHARED = 0.1
"""Share of the values of the shorter of two columns that both ends of edges have in common."""
WIDEST = 50
"""Columns of a table that could be one of edges."""
SAMPLE = 1000
"""Rows that are looked at to tell dates and amounts."""


def counts_rows(column: pa.ChunkedArray, least: int = LEAST_COUNTED) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …, as spreadsheets number rows in any language."""
    numbers = _whole(column)
    if numbers is None or len(numbers) < least or numbers[0] not in (0, 1):
        return False
    return bool((numbers == np.arange(len(numbers)) + numbers[0]).all())


def edge_order(file: TableFile, columns: Columns) -> list[int] | None:
    """Where source, target[, weight] stand in three unnamed columns, if not first."""
    named = columns.source or columns.target or columns.weight
    if named or file.table.num_columns != 3 or file.order != (0, 1, 2):
        return None
    return [1, 2] if _counter_first(file) else [1, 2, 0] if _weight_first(file) else None


def _counter_first(file: TableFile) -> bool:
    """Whether a number of the row stands before source and target, which share most of their ids.

    The ends of an edge and its weight may look so too, but then the last two share little.
    """
    names = [plain(name) for name in file.header or ()]
    if names and (names[0] in ENDS | NODES or names[2] in WEIGHT | AMOUNT):
        return False
    if not counts_rows(file.table.column(0), LEAST_ROWS):
        return False
    row, one, other = (pc.unique(_as_ids(column)) for column in file.table.columns)
    apart = not _known(one, row) and not _known(other, row)
    return apart and _known(one, other) >= max(1, 0.3 * max(len(one), len(other)))


def _weight_first(file: TableFile) -> bool:
    """Whether the columns are weight, source, target.

    The first holds numbers, no id of the second, and the third is no weight: text that shares ids
    with the second, or whole numbers where the first has fractions.
    """
    first, source, target = file.table.columns
    try:
        numbers = pc.cast(pc.utf8_trim_whitespace(first), pa.float64())
    except pa.ArrowInvalid:
        return False
    if not len(first) or _known(source, pc.unique(first)):
        return False
    if pa.types.is_string(target.type):
        return _known(source, pc.unique(target)) > 0
    is_whole = [pc.all(pc.equal(pc.floor(each), each)).as_py() for each in (target, numbers)]
    whole = pc.cast(pc.cast(target, pa.int64(), safe=False), pa.string())
    return is_whole == [True, False] and _known(source, pc.unique(whole)) > 0


def label_first(file: TableFile, columns: Columns) -> bool:
    """Whether unnamed columns are label, id: the first repeats, the second never."""
    rows = file.table.num_rows
    if file.order[:2] != (0, 1) or columns.id or columns.label or rows < LEAST_ROWS:
        return False
    first, second = (pc.count_distinct(file.table.column(i)).as_py() for i in (0, 1))
    return bool(second == rows and 2 * first <= rows)


def is_told(column: pa.ChunkedArray, nodes: pa.Array | None) -> bool:
    """Whether some of these ids are nodes; also if the nodes are not known."""
    return nodes is None or not len(column) or _known(column, nodes) > 0


def find_ends(file: TableFile) -> tuple[int, int] | None:
    """The only two columns of a table of text that share values as ends of edges do.

    Numbers with decimals or units, dates and what is called an amount are no ids.
    """
    if file.table.num_columns > WIDEST:
        return None
    places = [i for i in range(file.table.num_columns) if _may_be_ids(file, i)]
    values = [pc.unique(known_cells(file.table.column(i))).drop_null() for i in places]
    codes = pa.chunked_array(values, pa.string()).combine_chunks().dictionary_encode().indices
    column = np.repeat(np.arange(len(places)), [len(each) for each in values])
    entries, shape = (np.ones(len(codes)), (column, codes.to_numpy())), (len(places), len(codes))
    holds = sp.csr_array(entries, shape=shape)
    shared = (holds @ holds.T).toarray()  # values that two columns have in common
    fewer = np.minimum.outer(shared.diagonal(), shared.diagonal())
    pairs = np.argwhere(np.triu((shared > 0) & (shared >= LEAST_SHARED * fewer), k=1))
    return (places[pairs[0, 0]], places[pairs[0, 1]]) if len(pairs) == 1 else None


def find_ids(file: TableFile, nodes: pa.Array) -> int | None:
    """The only column of a table of text that names nodes, each once.

    Of several, the only one that is called so.
    """
    found = []
    for i, column in enumerate(file.table.columns):
        distinct = len(pc.unique(column))
        if distinct == len(column) and 2 * _known(column, nodes) >= len(column):
            found.append(i)
    called = [i for i in found if file.header and plain(file.header[i]) in (ID | NODES)]
    return next((some[0] for some in (found, called) if len(some) == 1), None)


def find_labels(file: TableFile, nodes: pa.Array) -> list[int] | None:
    """Where id, label[, split] stand: the label is called so, or the only column left."""
    ids = find_ids(file, nodes)
    names = [plain(name) for name in file.header or ()]
    rest = [i for i in range(file.table.num_columns) if i != ids]
    called = [i for i in rest if names and names[i] in LABEL | CLASS]
    split = [i for i in rest if names and names[i] in SPLIT]
    left = [i for i in rest if i not in split and not counts_rows(file.table.column(i), LEAST_ROWS)]
    label = called if len(called) == 1 else left
    return None if ids is None or len(label) != 1 else [ids, *label, *split[:1]]


def is_header(file: TableFile, nodes: pa.Array) -> bool:
    """Whether the first row of labels, such as `Konto,Klasse`, is a header: a node that the edges
    lack, with a label that no other row has."""
    rows, columns = file.table.shape
    if rows < LEAST_ROWS or columns < 2:
        return False
    ids, labels = file.table.column(0), file.table.column(1)
    if not ids[0].as_py().strip() or not labels[0].as_py().strip():
        return False
    alone = pc.sum(pc.equal(labels, labels[0])).as_py() == 1
    return bool(
        alone
        and not _known(ids.slice(0, 1), nodes)
        and _known(ids.slice(1), nodes) >= 0.9 * (len(ids) - 1)
    )


def _may_be_ids(file: TableFile, i: int) -> bool:
    column = file.table.column(i)
    if file.header is not None and plain(file.header[i]) in AMOUNT:
        return False
    if counts_rows(column, LEAST_ROWS):
        return False
    try:
        pc.cast(known_cells(column), pa.float64())
    except pa.ArrowInvalid:
        try:
            return find_reading(replace(file, table=file.table.slice(0, SAMPLE)), i) is None
        except InputError:  # nearly dates or numbers
            return False
    return _whole(column) is not None


def _as_ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text; whole numbers as ids are written."""
    if pa.types.is_string(column.type) or _whole(column) is None:
        return pc.cast(column, pa.string())
    return pc.cast(pc.cast(column, pa.int64()), pa.string())


def _whole(column: pa.ChunkedArray) -> np.ndarray | None:
    """The column as whole numbers, if it holds nothing else."""
    try:
        text = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        numbers = np.asarray(pc.cast(text, pa.float64()).to_numpy())
    except pa.ArrowInvalid:
        return None
    return numbers if (numbers == np.floor(numbers)).all() else None


def _known(values: pa.ChunkedArray | pa.Array, among: pa.Array) -> int:
    """How many of these values are among the others."""
    return int(pc.sum(pc.is_in(values, value_set=among)).as_py() or 0)

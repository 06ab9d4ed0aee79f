"""Features from a table (id and one column each), and how they fill the nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.engine.text import count
from cpgnn.errors import advise
from cpgnn.io.column_choice import Columns
from cpgnn.io.feature_columns import FeatureColumns
from cpgnn.io.feature_matrix import Impute, build_matrix
from cpgnn.io.headers import ID, LABEL, SPLIT, misplaced, plain
from cpgnn.io.ids import distinct
from cpgnn.io.parquet import is_parquet
from cpgnn.io.tables import TableFile, as_array, known_cells, read_table
from cpgnn.io.word_columns import take_kinds
from cpgnn.problems import Problems


@dataclass(frozen=True)
class FeatureRows:
    """The rows of a feature file, in its order."""

    file: TableFile
    ids: pa.Array | None
    """None: the file names no nodes."""
    matrix: Any
    """[rows, F] dense or CSR float32; no missing values left."""
    columns: FeatureColumns
    """What the columns of the matrix are; a node without a row gets their medians."""
    notices: tuple[str, ...] = ()
    kinds: np.ndarray | None = None
    """What the node of each row is, by name; None where the file does not say."""
    gaps: dict[str, int] = field(default_factory=dict)
    """How many cells were filled, by column."""


def read_features(
    path: Path,
    *,
    impute: Impute,
    one_hot: bool,
    like: FeatureColumns | None = None,
    columns: Columns | None = None,
    labelled: pa.Array | None = None,
) -> FeatureRows:
    """Features from a table: id, then one numeric column each (text with `one_hot`).

    `like`: the columns of an earlier file, found here by their names and read as they were there.
    `labelled`: ids of nodes with a label, which are of one kind if there are several.
    """
    text = partial(like.text_columns, typed=is_parquet(path)) if like else None
    chosen = columns or Columns()
    file = read_table(
        path,
        numbers=True,
        header=chosen.header,
        text=text,
        pick=chosen.features,
        names=chosen.names,
    )
    with_label = None
    if labelled is not None and file.table.num_columns:
        with_label = pc.is_in(file.table.column(0), value_set=labelled).to_numpy()
    file, kinds = take_kinds(file, chosen, with_label)
    if kinds is not None:
        file = without_gaps(file, kinds)
    if file.table.num_columns < 2:
        raise file.wrong_width("Features", "have an id column and at least one more")
    if file.header and chosen.id is None and misplaced(file.header, (ID,)):
        hint = "Check that it is the feature file, and that the ids come first."
        raise file.wrong_header("name the id column first", hint)
    file.need_rows("Features")
    problems = Problems()
    with problems.noted():
        ids = distinct(file, file.table.column(0), "have features")
    with problems.noted():
        built = build_matrix(file, impute, one_hot, like, chosen.decimal)
    problems.stop()
    used = [
        f"{path}: column {name!r} is used as a feature."
        for name in (file.header or ())[1:]
        if plain(name) in LABEL | SPLIT and name in (built.columns.names or file.header or ())
    ]
    told = (*file.notices, *used, *built.notices)
    return FeatureRows(file, ids, built.matrix, built.columns, told, kinds, built.gaps)


def without_gaps(file: TableFile, kinds: np.ndarray) -> TableFile:
    """Columns that a kind of nodes has not: its empty cells are no gaps, but the usual value."""
    table = file.table
    for i in range(1, table.num_columns):
        cells = table.column(i)
        is_text = pa.types.is_string(cells.type)
        known = known_cells(cells) if is_text else cells
        missing = np.asarray(known.is_null())
        codes, _ = pd.factorize(kinds, use_na_sentinel=False)
        has_none = np.bincount(codes, ~missing) == 0
        if not has_none.any() or has_none.all():
            continue
        rest = as_array(known.drop_null())
        usual = pc.mode(rest)[0]["mode"] if is_text else pc.quantile(rest)[0]
        filled = pc.if_else(pa.array(has_none[codes]), usual.cast(cells.type), cells)
        table = table.set_column(i, table.column_names[i], filled)
    return replace(file, table=table)


def spread(
    rows: FeatureRows,
    positions: np.ndarray,
    exempt: np.ndarray,
    impute: Impute,
    place_of: Callable[[int], str],
) -> tuple[Any, list[str]]:
    """The matrix [n, F] with each row at its node's position, and what to say about it.

    Nodes without a row get the medians, or are an error that says where the node is named; those
    that are `exempt` [n] get zeros without a word.
    """
    matrix, n = rows.matrix, len(exempt)
    if len(positions) == n and (positions == np.arange(n)).all():
        return matrix, []
    without = ~exempt
    without[positions] = False
    number = int(without.sum())
    if number and impute is None:
        got = f"none for {count(number, 'node')}, {place_of(int(np.argmax(without)))} first"
        hint = advise("Add the rows, or use {}.", impute="median")
        raise rows.file.wrong("Every node", "have features", got, hint)
    medians = np.zeros(matrix.shape[1], dtype=np.float32)
    notices = []
    if number:
        assert rows.columns.medians is not None
        medians = np.array(rows.columns.medians, dtype=np.float32)
        nodes = count(number, "node without a row", "nodes without a row")
        notices = [f"{rows.file.path}: {nodes} got the median of every column."]
    if not sp.issparse(matrix):
        full = np.zeros((n, matrix.shape[1]), dtype=np.float32)
        full[positions] = matrix
        full[without] = medians
        return full, notices
    stacked = sp.vstack([matrix, sp.csr_array(np.stack([0 * medians, medians]))], format="csr")
    source = matrix.shape[0] + without.astype(np.int64)
    source[positions] = np.arange(len(positions))
    return sp.csr_array(stacked[source]), notices

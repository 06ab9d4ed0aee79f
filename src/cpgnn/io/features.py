"""Features from a table (id and one column each), and how they fill the nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from cpgnn.engine.arrays import picked_rows
from cpgnn.engine.mixed import Mixed
from cpgnn.engine.text import count
from cpgnn.errors import Message, advise
from cpgnn.io.address import Place
from cpgnn.io.around import without_totals
from cpgnn.io.by_content import find_ids, is_told
from cpgnn.io.column_choice import Columns
from cpgnn.io.columns_of_kinds import check_there
from cpgnn.io.feature_matrix import FeatureRows, FeatureRule, Impute, build_matrix
from cpgnn.io.headers import ID, KIND, LABEL, SPLIT, misplaced, plain
from cpgnn.io.ids import as_in_edges, distinct
from cpgnn.io.parquet import is_parquet
from cpgnn.io.problems import Problems
from cpgnn.io.tables import TableFile, read_table
from cpgnn.io.word_columns import take_kinds


def read_features(
    path: Place,
    rule: FeatureRule,
    chosen: Columns,
    *,
    labelled: pa.Array | None = None,
    partly: bool = False,
    nodes: pa.Array | None = None,
) -> FeatureRows:
    """Features from a table: id, then one column each.

    `labelled`: ids of nodes with a label, which are of one kind if there are several.
    `partly`: it need not have all columns of an earlier file. `nodes`: ids of the edges, if known.
    """
    file, chosen, guessed = _found(path, rule, chosen, nodes)
    if file.table.num_columns:
        file = as_in_edges(without_totals(file, nodes), nodes)
    with_label = None
    if labelled is not None and file.table.num_columns:
        with_label = pc.is_in(file.table.column(0), value_set=labelled).to_numpy()
    like = rule.like
    typed = (
        like is not None and bool(like.of_kinds) and not KIND & set(map(plain, like.names or ()))
    )
    file, kinds = take_kinds(file, chosen, with_label, sure=typed, partly=partly)
    if file.table.num_columns < 2:
        raise file.wrong_width("Features", "have an id column and at least one more")
    if file.header and chosen.id is None and misplaced(file.header, (ID,)):
        hint = "Check that it is the feature file, and that the ids come first."
        raise file.wrong_header("name the id column first", hint)
    file.need_rows("Features")
    if partly and like is not None:
        if file.header is None or like.names is None:
            raise file.wrong("Features", "name their columns", "no header", "Add a header.")
        part = like.part(file.header[1:])
        if not part.columns:
            check_there(like, file.header[1:], (), str(path))
        rule = replace(rule, like=part)
    labels = [name for name in file.unused if name in chosen.of_labels]
    file = replace(file, unused=tuple(name for name in file.unused if name not in labels))
    problems = Problems()
    with problems.noted():
        ids = distinct(file, file.table.column(0), "have features")
    with problems.noted():
        built = build_matrix(file, rule, chosen)
    problems.stop()
    names = built.columns.used(file.header[1:]) if file.header else ()
    used: list[str] = []
    for name in names:
        said = f"{path}: column {name!r} is used as a feature"
        if plain(name) in LABEL | SPLIT:
            used.append(f"{said}.")
        if plain(name) in KIND and chosen.kind_column is None:
            hint = advise("use {} if it tells kinds of nodes apart.", kind_column=name)
            used.append(Message(f"{said}; ", hint))
    used += [
        f"{path}: column {name!r} is also in the labels, so it is not used." for name in labels
    ]
    by_name = file.moved(("id",)) if chosen.id is None or guessed else []
    told = (*file.notices, *by_name, *used, *built.notices)
    return replace(built, ids=ids, kinds=kinds, notices=told)


def _found(
    path: Place, rule: FeatureRule, chosen: Columns, nodes: pa.Array | None
) -> tuple[TableFile, Columns, bool]:
    """The table with its ids in front: by name, by position, or as `nodes` tell; the columns that
    it was read by, and whether only its content told them."""
    text = None
    if rule.like is not None:
        typed = isinstance(path, Path) and is_parquet(path)
        text = partial(rule.like.text_columns, typed=typed)
    file = read_table(path, chosen, pick=chosen.features, numbers=True, text=text)
    if nodes is None or chosen.id is not None or not file.header or not file.table.num_columns:
        return file, chosen, False
    if is_told(file.table.column(0), nodes):
        return file, chosen, False
    whole = read_table(path, chosen)
    place = find_ids(whole, nodes)
    if whole.header is None or place is None:
        return file, chosen, False
    chosen = replace(chosen, id=whole.header[place])
    return read_table(path, chosen, pick=chosen.features, numbers=True, text=text), chosen, True


def spread(
    rows: FeatureRows,
    positions: np.ndarray,
    exempt: np.ndarray,
    impute: Impute,
    place_of: Callable[[int], str],
    apart: np.ndarray | None = None,
    *,
    lenient: bool = False,
) -> tuple[Any, Mixed | None, list[str]]:
    """The matrix [n, F] with each row at its node's position, its `Mixed`, and what to say.

    Nodes without a row get the medians; if they are half or more, they are an error that says
    where the first of them is named. Those that are `exempt` [n] get zeros without a word, those
    that are `apart` [n] are of a kind that has no such columns: they are no gaps to be filled.
    `lenient`: they add to a graph that has its features, so that half or more may be
    without, of which others speak.
    """
    matrix, mixed, n = rows.matrix, rows.mixed, len(exempt)
    if len(positions) == n and (positions == np.arange(n)).all():
        return matrix, mixed, []
    apart = np.zeros(n, dtype=bool) if apart is None else apart
    without = ~exempt & ~apart
    without[positions] = False
    number = int(without.sum())
    medians = rows.columns.medians
    most = np.inf if lenient else (n - (exempt | apart).sum()) / 2
    if number and impute is None and (medians is None or number >= most):
        first = place_of(int(np.argmax(without)))
        got = f"none for {count(number, 'node')}, starting with {first}"
        hint = advise("Add the rows, or use {}.", impute="median")
        raise rows.file.wrong("Every node", "have features", got, hint)
    notices = []
    if number and not lenient:
        nodes = count(number, "node without a row", "nodes without a row")
        notices = [f"{rows.file.path}: {nodes} got the median of every column."]
    # For those exempt, those without, those apart:
    rest = np.zeros((3, matrix.shape[1]), dtype=np.float32)
    rest[1:] = 0 if medians is None else medians
    source = matrix.shape[0] + without + 2 * apart.astype(np.int64)
    source[positions] = np.arange(len(positions))
    mixed = mixed or Mixed(sp.csr_array(matrix.shape, dtype=bool))
    empty = np.zeros(rest.shape, dtype=bool)
    empty[1], empty[2] = impute is None, True
    gaps = picked_rows([mixed.gaps, empty], source)
    return picked_rows([matrix, rest], source), Mixed.of(gaps, mixed.categories), notices

"""Labels from a table: id, label[, split]; and class names that deserve a second look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.text import count, shorten
from cpgnn.errors import Message, advise
from cpgnn.io.address import Place
from cpgnn.io.around import without_totals
from cpgnn.io.by_content import find_labels, is_header, is_told, label_first
from cpgnn.io.column_choice import Columns, UnclearColumnsError
from cpgnn.io.headers import ID, LABEL, SPLIT, misplaced, plain
from cpgnn.io.ids import as_in_edges, distinct
from cpgnn.io.names import LONGEST
from cpgnn.io.problems import MOST, Problems
from cpgnn.io.tables import TableFile, as_array, read_table
from cpgnn.io.times import take_times
from cpgnn.io.word_columns import take_kinds
from cpgnn.io.words import WORDS

SPLITS = ("train", "val", "test")
ROLES = ("id", "label", "split")
PLACEHOLDERS = frozenset(WORDS["cells"]["placeholders"])
"""What people write for "unknown", in lower case."""


@dataclass(frozen=True)
class LabelRows:
    """The rows of a label file, in its order."""

    file: TableFile
    ids: pa.Array
    codes: np.ndarray
    """Index into `class_names`, -1 = unknown."""
    class_names: tuple[str, ...]
    split: np.ndarray | None
    """"train", "val", "test" or "" for each row; None without a third column."""
    kinds: np.ndarray | None = None
    """What the node of each row is, by name; None where the file does not say."""
    times: np.ndarray | None = None
    dated: bool = False

    @property
    def labelled(self) -> pa.Array:
        """The ids of the nodes with a label."""
        return self.ids.filter(pa.array(self.codes >= 0))


def read_labels(
    path: Place, unlabelled: str | None, columns: Columns, nodes: pa.Array | None
) -> LabelRows:
    """Labels from a table: id, label[, split]. `nodes`: ids of the edges, where they are known."""
    file, guessed = _found(path, columns, nodes)
    file = as_in_edges(without_totals(file, nodes), nodes)
    file, times, dated = take_times(file, columns)
    file, kinds = _kinds(file, columns, unlabelled)
    width = file.table.num_columns
    if width not in (2, 3):
        raise file.wrong_width("Labels", "have 2 or 3 columns: id, label[, split]")
    named = columns.id is not None or columns.label is not None
    if file.header and not named and misplaced(file.header, (ID, LABEL | {"target"}, SPLIT)):
        hint = "Check that it is the label file, and the order of its columns."
        raise file.wrong_header("name id, label[, split]", hint)
    order = guessed or file.moved(ROLES[:width])
    file = replace(file, told=(*file.told, *order))
    file.need_rows("Labels")
    codes, names = encode_labels(as_array(file.table.column(1)), unlabelled)
    split, problems = None, Problems()
    with problems.noted():
        ids = distinct(file, file.table.column(0), "be labelled")
    with problems.noted():
        if width == 3:
            cells = as_array(file.table.column(2))
            if file.header and plain(file.header[2]) not in SPLIT and not _are_splits(cells).all():
                file = replace(file, unused=(*file.unused, file.header[2]))
            else:
                split = encode_split(file, cells)
    problems.stop()
    return LabelRows(file, ids, codes, names, split, kinds, times, dated)


def _found(path: Place, columns: Columns, nodes: pa.Array | None) -> tuple[TableFile, list[str]]:
    """The table with id and label in front: by name, by position, or as `nodes` tell; and what to
    say about it."""
    read = partial(read_table, path, columns)
    unclear, file = None, None
    try:
        file = read(pick=columns.labels)
    except UnclearColumnsError as error:
        unclear = error
    if file is not None and label_first(file, columns):
        ids = (0,) if file.header else (1,)  # the ids tell whether the first line is a header
        file = read(pick=lambda *file: [1, 0, *range(2, file[2])], ids=ids)
    if nodes is not None and not columns.id and not columns.label:
        if file is None or not is_told(file.table.column(0), nodes):
            places = find_labels(read(), nodes)
            if places:
                file = read(pick=lambda *_: [*places])
                who, what = file.column(0), file.column(1)
                return file, [f"{path}: the ids are in column {who}, the labels in {what}."]
        elif file.header is None and columns.header is None and is_header(file, nodes):
            first, order = [column[0].as_py() for column in file.table.columns], list(file.order)
            file = read(pick=lambda *_: order, header=True)
            told = f"{path}: the first line ({', '.join(first)}) was read as a header."
            return file, [told, *file.moved(ROLES[: len(order)])]
    if file is None:
        raise unclear or AssertionError
    return file, []


def _kinds(
    file: TableFile, columns: Columns, unlabelled: str | None
) -> tuple[TableFile, np.ndarray | None]:
    """The table without its column of kinds, and that; a column that does not count is unused."""
    place = columns.find_kind(file.path, file.header)
    if place is None or file.table.num_columns < 3:
        return file, None
    labelled = encode_labels(as_array(file.table.column(1)), unlabelled)[0] >= 0
    rest, kinds = take_kinds(file, columns, labelled, sure=True)
    if kinds is None and file.header:
        return file.without(place, unused=(*file.unused, file.header[place])), None
    return rest, kinds


def encode_labels(values: pa.Array, unlabelled: str | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes and class names: sorted, as numbers if all are integers. Empty means unknown."""
    trimmed = pc.utf8_trim_whitespace(values)
    unknown = pc.fill_null(pc.equal(trimmed, ""), True)
    if unlabelled is not None:
        unknown = pc.or_(unknown, pc.fill_null(pc.equal(trimmed, unlabelled.strip()), False))
    known = pc.if_else(unknown, pa.scalar(None, pa.string()), values)
    names = in_order(pc.unique(known).drop_null().to_pylist())
    found = pc.index_in(known, value_set=pa.array(names, pa.string()), skip_nulls=True)
    codes = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, tuple(names)


def in_order(names: Iterable[str]) -> list[str]:
    """Class names as they are listed everywhere: sorted, as numbers if all are integers."""
    made = sorted(names)
    return sorted(made, key=int) if all(map(_is_integer, made)) else made


def _is_integer(name: str) -> bool:
    digits = name.strip().removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit() and len(digits) <= LONGEST


def encode_split(file: TableFile, values: pa.Array) -> np.ndarray:
    """ "train", "val", "test" or "" for each row."""
    bad = np.flatnonzero(~_are_splits(values))
    if len(bad):
        got = {row: shorten(values[row].as_py()) for row in bad[:MOST].tolist()}
        raise file.wrong_rows("A split", "be train, val, test or empty", got, total=len(bad))
    trimmed = pc.fill_null(pc.utf8_trim_whitespace(values), "")
    return np.asarray(trimmed.to_numpy(zero_copy_only=False), dtype="<U5")


def _are_splits(cells: pa.Array) -> np.ndarray:
    trimmed = pc.fill_null(pc.utf8_trim_whitespace(cells), "")
    known = pc.is_in(trimmed, value_set=pa.array([*SPLITS, ""]))
    return np.asarray(known.to_numpy(zero_copy_only=False))


def class_notices(path: Place, names: tuple[str, ...], codes: np.ndarray) -> list[str]:
    """Classes that differ by case or spaces only, or that look like "unknown", with counts."""
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    group = alike(names)
    notices: list[str] = []
    for number in np.unique(group[group >= 0]):
        same = np.flatnonzero(group == number)
        shown = ", ".join(f"{names[i]!r} ({counts[i]:,})" for i in same[:5])
        notices.append(f"{path}: {shown} count as different classes. Write them the same way.")
    for name, rows in zip(names, counts.tolist(), strict=True):
        if stands_for_unknown(name, names):
            what = f"{path}: {name!r} ({count(rows, 'node')}) counts as a class. "
            hint = advise("If it means unknown, use {}.", unlabelled=name.strip())
            notices.append(Message(what, hint))
    return notices


def alike(names: Iterable[object]) -> np.ndarray:
    """A group number for each name; names that differ only by case, surrounding spaces
    or Unicode form (é as one character or as two) share it.

    int64 [n]; -1 for a name that is like no other.
    """
    text = pa.array(pd.Series(names, dtype=object).astype(str), pa.large_string())
    text = pc.utf8_normalize(pc.utf8_trim_whitespace(text), "NFKC")
    folded = pc.dictionary_encode(pc.utf8_lower(text))
    codes = folded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    shared = np.bincount(codes, minlength=1) > 1
    return np.where(shared[codes], codes, -1)


def stands_for_unknown(name: str, names: Iterable[str]) -> bool:
    plain = name.strip().lower()
    if plain == "-1":  # a class of its own only beside other negative numbers
        return not any(other.strip().startswith("-") for other in names if other is not name)
    return plain.replace("_", " ") in PLACEHOLDERS

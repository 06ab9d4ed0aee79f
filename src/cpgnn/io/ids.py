"""Node ids: one position for every distinct id, in the order of first appearance."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.text import count, shorten
from cpgnn.errors import Message, advise
from cpgnn.io.column_choice import Columns
from cpgnn.io.files import StrPath
from cpgnn.io.names import NO_CONTROL, has_control, has_lines
from cpgnn.io.problems import MOST, Problems
from cpgnn.io.tables import TableFile, read_table

Fold = Callable[[pa.Array], pa.Array]
_FOLDS: dict[str, Fold] = {
    "in surrounding spaces": pc.utf8_trim_whitespace,
    "in case": pc.utf8_lower,
    "in an apostrophe in front": lambda ids: pc.utf8_ltrim(ids, "'"),
    "in '.0' at the end": lambda ids: pc.replace_substring_regex(ids, r"\.0$", ""),
    "in leading zeros": lambda ids: pc.utf8_ltrim(ids, "0"),
    "in their Unicode form": lambda ids: pc.utf8_normalize(ids, "NFKC"),
}
_POINT_ZERO, _APOSTROPHE = (r"^\d+\.0$", r"\.0$"), (r"^'.", "^'")
"""How ids with a mark are written, and the mark."""
_SHORTENED = r"^\d([.,]\d+)?[eE]\+\d{2,3}$"
"""A long number as a spreadsheet shows it: the other digits are lost."""
_AS_TEXT = "A spreadsheet shortened it: format the column as text there, and export it again."
_SPACES = "differ by more than surrounding spaces"
_REMOVE = "Remove the spaces around the ids."


def read_node_ids(path: StrPath, columns: Columns | None = None) -> list[str]:
    """The ids in the column that `columns` or its name says, else in the first; as written."""
    columns = columns or Columns()
    file = read_table(path, columns, pick=lambda *file: [columns.node_ids(*file[:2])])
    ids: list[str] = file.table.column(0).to_pylist()
    if not ids:
        raise file.wrong("The file", "name at least one node", "none")
    return ids


# -- positions ----------------------------------------------------------------------------------


def encode_pair(
    source: pa.ChunkedArray, target: pa.ChunkedArray
) -> tuple[np.ndarray, np.ndarray, pa.Array]:
    """Positions of `source` and `target`, and the distinct ids: those of `source` come first."""
    with ThreadPoolExecutor(2) as pool:
        (s, s_ids), (t, t_ids) = pool.map(_encode, (source, target))
    where, ids = extend(s_ids, t_ids)
    return s, where.astype(np.int32)[t] if len(t) else t, ids


def _encode(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Positions and distinct ids of one column, in the order of first appearance."""
    numbers = _plain_numbers(column)
    if numbers is not None:  # the same result, twice as fast
        codes, values = pd.factorize(numbers)
        return codes.astype(np.int32, copy=False), pc.cast(pa.array(values), pa.string())
    coded = pc.dictionary_encode(column)
    if not coded.num_chunks:
        return np.empty(0, dtype=np.int32), pa.array([], pa.string())
    indices = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in coded.chunks]
    return np.concatenate(indices), coded.chunk(0).dictionary


def _plain_numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """The ids as integers, if each is written as an integer is printed (not `007` or `+7`)."""
    try:
        numbers = pc.cast(column, pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    if not len(numbers) or numbers.min() < 0:
        return None
    digits = 1 + np.searchsorted(10 ** np.arange(1, 19), numbers, side="right")
    return numbers if (digits == pc.binary_length(column).to_numpy()).all() else None


def extend(ids: pa.Array, more: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Positions of the distinct ids `more` in `ids`, to which the new ones are added at the end."""
    found = pc.index_in(more, value_set=ids)
    positions = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    fresh = positions < 0
    if not fresh.any():
        return positions, ids
    positions[fresh] = len(ids) + np.arange(int(fresh.sum()))
    return positions, pa.concat_arrays([ids, more.filter(pa.array(fresh))])


def as_in_edges(file: TableFile, nodes: pa.Array | None) -> TableFile:
    """A table of nodes without what was put around all of its ids, if the edges have them bare:
    `12.0`, as pandas writes whole numbers beside a gap, or `'007`, as one types text in Excel."""
    column = file.table.column(0)
    for mark in (_POINT_ZERO, _APOSTROPHE):
        bare = _bare(column, *mark)
        if bare is None or nodes is None or _any_of(column, nodes) or not _any_of(bare, nodes):
            continue
        table = file.table.set_column(0, file.table.column_names[0], bare)
        return replace(file, table=table, told=(*file.told, _said_of_bare(file, column, bare)))
    return file


def whole_ends(file: TableFile) -> TableFile:
    """A table of edges with `12` for `12.0`, where one end or both write whole numbers that way."""
    ends = [file.table.column(i) for i in (0, 1)]
    bare = [_bare(column, *_POINT_ZERO) for column in ends]
    for column, made in zip(ends, bare, strict=True):
        if made is None and (
            bare == [None, None] or not pc.all(pc.match_substring_regex(column, r"^\d+$")).as_py()
        ):
            return file
    table, told = file.table, []
    for i, (column, made) in enumerate(zip(ends, bare, strict=True)):
        if made is not None:
            table = table.set_column(i, table.column_names[i], made)
            told.append(_said_of_bare(file, column, made))
    return replace(file, table=table, told=(*file.told, told[0]))


def _bare(column: pa.ChunkedArray, written: str, mark: str) -> pa.ChunkedArray | None:
    """Ids without a mark, if every one of them is written with it."""
    for ids in (column.slice(0, 1), column):  # nearly always, the first one tells
        if not len(ids) or not pc.all(pc.match_substring_regex(ids, written)).as_py():
            return None
    return pc.replace_substring_regex(column, mark, "")


def _any_of(ids: pa.ChunkedArray, nodes: pa.Array) -> bool:
    return bool(pc.any(pc.is_in(ids, value_set=nodes)).as_py())


def _said_of_bare(file: TableFile, column: pa.ChunkedArray, bare: pa.ChunkedArray) -> str:
    was, became = (shorten(ids[0].as_py()) for ids in (column, bare))
    return f"{file.path}: ids such as {was} are read as {became}."


# -- checks -------------------------------------------------------------------------------------


def check_ids(file: TableFile, ids: pa.Array, rows_of: Callable[[int], np.ndarray]) -> None:
    """Refuse blank ids, control characters in ids, and ids that differ from others by spaces only.

    `rows_of` gives the rows of the id at a position; it is asked only about bad ones.
    """
    problems = Problems()
    trimmed = pc.utf8_trim_whitespace(ids)
    blank = pc.equal(trimmed, "")
    broken = has_lines(ids)
    for bad, must, hint in (
        (blank, "not be empty", "Name the node, or remove the row."),
        (broken, "be on one line", "Close the quotation mark, or double it inside a quoted cell."),
        (has_control(ids), NO_CONTROL, ""),
        (pc.match_substring_regex(ids, _SHORTENED), "have all its digits", _AS_TEXT),
    ):
        with problems.noted():
            positions = np.flatnonzero(bad.to_numpy(zero_copy_only=False))[:MOST].tolist()
            rows = {i: rows_of(i) for i in positions}
            if rows:
                names = {i: shorten(ids[i].as_py()) for i in positions}
                got = {row: names[i] for i in rows for row in rows[i][:MOST].tolist()}
                total = sum(map(len, rows.values()))
                raise file.wrong_rows("A node id", must, got, hint, total=total)
    padded = pc.and_(pc.not_equal(trimmed, ids), pc.invert(blank))
    twins = pc.and_(padded, pc.is_in(trimmed, value_set=ids))
    positions = np.flatnonzero(twins.to_numpy(zero_copy_only=False)).tolist()
    with problems.noted():
        if positions:
            names = {int(rows_of(i)[0]): ids[i].as_py() for i in positions[:MOST]}
            got = {
                row: f"{shorten(name)} and {shorten(name.strip())}" for row, name in names.items()
            }
            total = len(got) + len(positions[MOST:])  # two in one row are one problem
            raise file.wrong_rows("Node ids", _SPACES, got, _REMOVE, total=total)
    problems.stop()


def distinct(file: TableFile, column: pa.ChunkedArray, what: str) -> pa.Array:
    """The ids of a file that names each node once; a second time is an error with both lines."""
    codes, ids = _encode(column)
    problems = Problems()
    with problems.noted():
        if len(ids) < len(codes):
            _refuse_repeats(file, codes, ids, what)
    with problems.noted():
        check_ids(file, ids, lambda position: np.flatnonzero(codes == position))
    problems.stop()
    return ids


def _refuse_repeats(file: TableFile, codes: np.ndarray, ids: pa.Array, what: str) -> None:
    first_rows = np.unique(codes, return_index=True)[1]
    again = np.ones(len(codes), dtype=bool)
    again[first_rows] = False
    blank = pc.equal(pc.utf8_trim_whitespace(ids), "")
    bad = pc.or_(blank, pc.match_substring_regex(ids, _SHORTENED)).to_numpy(zero_copy_only=False)
    again &= ~bad[codes]  # they are refused for that
    if not again.any():
        return
    firsts = {row: int(first_rows[codes[row]]) for row in np.flatnonzero(again)[:MOST].tolist()}
    places = file.places([*firsts.values()])
    names = {row: shorten(ids[int(codes[row])].as_py()) for row in firsts}
    got = {row: f"{names[row]} again (first in {places[firsts[row]]})" for row in firsts}
    hint = "Remove one of the two."
    raise file.wrong_rows("Each node", f"{what} once", got, hint, total=int(again.sum()))


def check_known(
    file: TableFile,
    ids: pa.Array,
    graph_ids: pa.Array,
    graph_path: object,
    strict: bool,
    too_many: Callable[[np.ndarray], bool],
) -> list[str]:
    """Compare a file's ids with the graph's: an error if too many are unknown, else a notice.

    `too_many` is asked about the mask of the unknown ids; `strict` refuses any.
    """
    unknown = ~pc.is_in(ids, value_set=graph_ids).to_numpy(zero_copy_only=False)
    number = int(unknown.sum())
    if not number:
        return []
    missing = ids.filter(pa.array(unknown))
    rows = np.flatnonzero(unknown)
    twin, there = _match(missing, graph_ids, pc.utf8_trim_whitespace)
    if twin is not None:
        got = f"{shorten(missing[twin].as_py())} here and {shorten(str(there))} in {graph_path}"
        raise file.wrong("Node ids", _SPACES, got, _REMOVE, row=int(rows[twin]))
    name, hint = shorten(missing[0].as_py()), _nearly(missing, graph_ids)
    if strict or too_many(unknown):
        named = Message(", or name the column with the ids with ", advise("{}", id="…"))
        match = Message("Check that the files match", named if file.header else "", ".")
        raise file.wrong(
            "Every id" if strict else "Most ids",
            f"be in {graph_path}",
            f"{number:,} of {len(ids):,} that {'is' if number == 1 else 'are'} not ({name} first)",
            f"{hint}. Write them the same way in both files." if hint else match,
            row=int(rows[0]),
        )
    lack = count(number, "id is", "ids are")
    said = f"{file.path}: {lack} not in {graph_path} and so have no edges ({name} first)"
    return [f"{said}; {hint}." if hint else f"{said}."]


def _match(missing: pa.Array, ids: pa.Array, fold: Fold) -> tuple[int | None, str | None]:
    """The first of `missing` that `fold` makes equal to one of `ids`, and which."""
    found = pc.index_in(fold(missing), value_set=fold(ids))
    first = int(pc.index(pc.is_valid(found), True).as_py())
    return (None, None) if first < 0 else (first, ids[found[first].as_py()].as_py())


def _nearly(missing: pa.Array, ids: pa.Array) -> str | None:
    """ "'A1' appears there as 'a1': they differ in case", for some id of `missing`, if any."""
    everything: Fold = lambda ids: reduce(lambda ids, fold: fold(ids), _FOLDS.values(), ids)  # noqa: E731
    for how, fold in (*_FOLDS.items(), ("in case, spaces or zeros", everything)):
        first, there = _match(missing, ids, fold)
        if first is not None:
            name = shorten(missing[first].as_py())
            return f"{name} appears there as {shorten(str(there))}: they differ {how}"
    return None

"""Node ids: one position for every distinct id, in the order of first appearance."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.io.origin import Origin
from cpgnn.io.places import count, shorten

_FOLDS: tuple[tuple[str, Callable[[pa.Array], pa.Array]], ...] = (
    ("in case", pc.utf8_lower),
    ("in surrounding spaces", pc.utf8_trim_whitespace),
    ("in leading zeros", lambda ids: pc.utf8_ltrim(ids, "0")),
    ("in '.0' at the end", lambda ids: pc.replace_substring_regex(ids, r"\.0$", "")),
)


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
    """Positions of the distinct ids `more` in `ids` and, where they are new, behind it."""
    found = pc.index_in(more, value_set=ids)
    new = pc.is_null(found)
    positions = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    if not pc.any(new).as_py():
        return positions, ids
    fresh = positions < 0
    positions[fresh] = len(ids) + np.arange(int(fresh.sum()))
    return positions, pa.concat_arrays([ids, more.filter(new)])


def as_array(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.combine_chunks()
    return pa.concat_arrays(chunks.chunks) if isinstance(chunks, pa.ChunkedArray) else chunks


def check_ids(where: Origin, ids: pa.Array, row_of: Callable[[int], int]) -> None:
    """Refuse blank ids, ids across lines and ids that differ from others by spaces only.

    `row_of` gives the first row of the id at a position; it is asked only about a bad one.
    """
    trimmed = pc.utf8_trim_whitespace(ids)
    blank = pc.index(trimmed, "").as_py()
    if blank >= 0:
        got = shorten(ids[blank].as_py())
        hint = "Name the node, or remove the row."
        raise where.wrong("A node id", "not be empty", got, hint, row=row_of(blank))
    broken = _first(pc.match_substring_regex(ids, r"[\r\n]"))
    if broken is not None:
        got = shorten(ids[broken].as_py())
        hint = "Close the quotation mark, or double it inside a quoted cell."
        raise where.wrong("A node id", "stand on one line", got, hint, row=row_of(broken))
    padded = pc.not_equal(trimmed, ids)
    if not pc.any(padded).as_py():
        return
    with_spaces = ids.filter(padded)
    twin = _first(pc.is_in(pc.utf8_trim_whitespace(with_spaces), value_set=ids))
    if twin is not None:
        bad = with_spaces[twin].as_py()
        raise where.wrong(
            "Node ids",
            "differ by more than surrounding spaces",
            f"{bad!r} and {bad.strip()!r}",
            "Remove the spaces around the ids.",
            row=row_of(pc.index(ids, bad).as_py()),
        )


def _first(mask: pa.Array) -> int | None:
    position = pc.index(mask, True).as_py()
    return None if position < 0 else int(position)


def distinct(where: Origin, column: pa.ChunkedArray, what: str) -> pa.Array:
    """The ids of a file that names each node once; a second time is an error with both lines."""
    codes, ids = _encode(column)
    if len(ids) < len(codes):
        again = np.ones(len(codes), dtype=bool)
        again[np.unique(codes, return_index=True)[1]] = False
        second = int(np.flatnonzero(again)[0])
        first = int(np.flatnonzero(codes == codes[second])[0])
        raise where.wrong(
            "Each node",
            f"{what} once",
            f"{shorten(ids[int(codes[second])].as_py())} again (first in {where.place(first)})",
            "Remove one of the two.",
            row=second,
        )
    check_ids(where, ids, lambda position: position)
    return ids


def nearly(missing: pa.Array, ids: pa.Array) -> str | None:
    """ "'A1' is there as 'a1': they differ in case", for some id of `missing`; None if none is."""
    everything: Callable[[pa.Array], pa.Array] = _all_folds
    for how, fold in (*_FOLDS, ("in case, spaces or zeros", everything)):
        found = pc.index_in(fold(missing), value_set=fold(ids))
        first = _first(pc.is_valid(found))
        if first is not None:
            there = ids[found[first].as_py()].as_py()
            return f"{missing[first].as_py()!r} is there as {there!r}: they differ {how}"
    return None


def _all_folds(ids: pa.Array) -> pa.Array:
    for fold in (_FOLDS[1][1], _FOLDS[0][1], _FOLDS[3][1], _FOLDS[2][1]):
        ids = fold(ids)
    return ids


def check_known(
    where: Origin,
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
    there = pc.index_in(
        pc.utf8_trim_whitespace(missing), value_set=pc.utf8_trim_whitespace(graph_ids)
    )
    twin = _first(pc.is_valid(there))
    if twin is not None:
        raise where.wrong(
            "Node ids",
            "differ by more than surrounding spaces",
            f"{missing[twin].as_py()!r} here and {graph_ids[there[twin].as_py()].as_py()!r} in "
            f"{graph_path}",
            "Remove the spaces around the ids.",
            row=int(np.flatnonzero(unknown)[twin]),
        )
    first = int(np.flatnonzero(unknown)[0])
    name = shorten(ids[first].as_py())
    hint = nearly(missing, graph_ids)
    if strict or too_many(unknown):
        raise where.wrong(
            "Every id" if strict else "Most ids",
            f"be in {graph_path}",
            f"{number:,} of {len(ids):,} that {'is' if number == 1 else 'are'} not, {name} first",
            f"{hint}. Write them alike in both files." if hint else "Check that the files match.",
            row=first,
        )
    text = f"{where.path}: {count(number, 'id')} not in {graph_path} (isolated nodes), "
    return [f"{text}{name} first{f'; {hint}' if hint else ''}."]

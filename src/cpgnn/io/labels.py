"""Labels from a table: id, label[, split]."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.io.headers import ID, LABEL, SPLIT, misplaced
from cpgnn.io.ids import as_array, distinct
from cpgnn.io.likeness import alike, stands_for_unknown
from cpgnn.io.origin import Origin
from cpgnn.io.places import count, shorten, wrong
from cpgnn.io.tables import read_table

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class LabelRows:
    """The rows of a label file, in its order."""

    origin: Origin
    ids: pa.Array
    codes: np.ndarray
    """Index into `class_names`, -1 = unknown."""
    class_names: tuple[str, ...]
    split: np.ndarray | None
    """"train", "val", "test" or "" for each row; None without a third column."""


def read_labels(path: Path, unlabelled: str | None, header: bool | None = None) -> LabelRows:
    file = read_table(path, ids=(0,), header=header)
    origin, width = file.origin, file.table.num_columns
    if width not in (2, 3):
        raise origin.wrong_width("Labels", "have 2 or 3 columns: id, label[, split]", width)
    if origin.header and misplaced(origin.header, (ID, LABEL | {"target"}, SPLIT)):
        hint = "Check that it is the label file, and the order of its columns."
        raise origin.wrong_header("name id, label[, split]", hint)
    if not file.table.num_rows:
        raise wrong(path, "Labels", "have at least one row", "none")
    ids = distinct(origin, file.table.column(0), "be labelled")
    codes, names = encode_labels(as_array(file.table.column(1)), unlabelled)
    split = encode_split(origin, as_array(file.table.column(2))) if width == 3 else None
    return LabelRows(origin, ids, codes, names, split)


def class_notices(path: Path, names: tuple[str, ...], codes: np.ndarray) -> list[str]:
    """Classes that differ by case or spaces only, or that look like "unknown", with counts."""
    listed = list(names)
    counts = np.bincount(codes[codes >= 0], minlength=len(listed))
    group = alike(listed)
    notices = []
    for number in np.unique(group[group >= 0]):
        same = np.flatnonzero(group == number)
        shown = ", ".join(f"{listed[i]!r} ({counts[i]:,})" for i in same[:5])
        notices.append(f"{path}: {shown} count as different classes. Write them in one way.")
    for i, name in enumerate(listed):
        if stands_for_unknown(name, listed):
            rows = count(int(counts[i]), "node")
            notices.append(
                f"{path}: {name!r} ({rows}) counts as a class. If it means that the class is not "
                f"known, use unlabelled={name.strip()!r}."
            )
    return notices


def encode_labels(values: pa.Array, unlabelled: str | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes and class names: sorted, as numbers if all are integers. Empty means unknown."""
    trimmed = pc.utf8_trim_whitespace(values)
    unknown = pc.fill_null(pc.equal(trimmed, ""), True)
    if unlabelled is not None:
        unknown = pc.or_(unknown, pc.fill_null(pc.equal(trimmed, unlabelled.strip()), False))
    known = pc.if_else(unknown, pa.scalar(None, pa.string()), values)
    names = sorted(pc.unique(known).drop_null().to_pylist())
    if all(_is_integer(name) for name in names):
        names.sort(key=int)
    found = pc.index_in(known, value_set=pa.array(names, pa.string()), skip_nulls=True)
    codes = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, tuple(names)


def _is_integer(name: str) -> bool:
    digits = name.strip().removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit()


def encode_split(origin: Origin, values: pa.Array) -> np.ndarray:
    trimmed = pc.utf8_trim_whitespace(values)
    bad = pc.invert(pc.is_in(trimmed, value_set=pa.array([*SPLITS, ""])))
    row = pc.index(bad, True).as_py()
    if row >= 0:
        must = "be train, val, test or empty"
        raise origin.wrong("A split", must, shorten(values[row].as_py()), row=row)
    return np.asarray(trimmed.to_numpy(zero_copy_only=False), dtype="<U5")

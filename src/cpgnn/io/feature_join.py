"""Several feature files as one: their columns side by side, rows matched by node id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from cpgnn.engine.mixed import Mixed
from cpgnn.engine.text import did_you_mean, shorten
from cpgnn.errors import advise, wrong_value
from cpgnn.io.address import Address, Place
from cpgnn.io.column_choice import Columns
from cpgnn.io.columns_of_kinds import check_there, laid_out
from cpgnn.io.feature_columns import FeatureColumns
from cpgnn.io.feature_matrix import FeatureRows, FeatureRule
from cpgnn.io.features import spread
from cpgnn.io.ids import extend
from cpgnn.io.problems import Problems


def join_features(parts: Sequence[FeatureRows], rule: FeatureRule, chosen: Columns) -> FeatureRows:
    """All columns of all files, for every node that one of them names, in order of appearance.

    A node without a row in one of the files is a gap there: filled as `impute` says, else an error.
    Files that share no node, not even through another file, describe different kinds of nodes: the
    columns of one are not missing in the other, and the kinds are called as their first files.
    Columns that are `like` those of an earlier graph come in its order.
    """
    _check_names(parts)
    _check_chosen(parts, chosen)
    ids, places = pa.array([], pa.string()), []
    for part in parts:
        assert part.ids is not None
        at, ids = extend(ids, part.ids.cast(ids.type))
        places.append(at)

    def place_of(position: int) -> str:
        for part, at in zip(parts, places, strict=True):
            if len(row := np.flatnonzero(at == position)):
                where = f"{part.file.path}, {part.file.place(int(row[0]))}"
                return f"{shorten(ids[position].as_py())} ({where})"
        raise AssertionError("every id is from some file")

    laid: list[tuple[Any, Mixed | None]] = []
    notices: list[str] = []
    problems, nobody = Problems(), np.zeros(len(ids), dtype=bool)
    group, of_node = _groups(places, len(ids))
    if chosen.kind_column == "":
        group, of_node = np.zeros_like(group), np.zeros_like(of_node)
    for part, at, own in zip(parts, places, group, strict=True):
        notices += part.notices
        with problems.noted():
            X, mixed, told = spread(part, at, nobody, rule.impute, place_of, of_node != own)
            laid.append((X, mixed))
            notices += told
    problems.stop()
    columns, order = _side_by_side([part.columns for part in parts])
    joined: Any
    if any(sp.issparse(X) for X, _ in laid):
        joined = sp.hstack([sp.csc_array(X) for X, _ in laid], format="csc")[:, order]
        joined = sp.csr_array(joined)
    else:
        joined = np.hstack([X for X, _ in laid])[:, order]
    gaps = [mixed.gaps if mixed else sp.csc_array(X.shape, dtype=bool) for X, mixed in laid]
    mixed = Mixed.of(sp.hstack(gaps, format="csc")[:, order], columns.groups)
    made = FeatureRows(
        parts[0].file,
        ids,
        joined,
        columns,
        tuple(notices),
        _kinds(parts, places, len(ids), group),
        {name: cells for part in parts for name, cells in part.gaps.items()},
        mixed,
        tuple(parts),
    )
    if rule.like is None or rule.like.names is None or columns.names is None:
        return made
    for own in range(group.max() + 1):
        together = [part for part, of in zip(parts, group, strict=True) if of == own]
        there = [name for part in together for name in (part.file.header or ())[1:]]
        told = [kind for part in together if part.kinds is not None for kind in part.kinds]
        files = ", ".join(str(part.file.path) for part in together)
        check_there(rule.like, there, told, files)
    return laid_out(made, rule.like)


def _check_names(parts: Sequence[FeatureRows]) -> None:
    """Refuse a column that two files have."""
    problems = Problems()
    seen: dict[str, object] = {}
    for part in parts:
        for name in part.columns.names or ():
            with problems.noted():
                if name in seen:
                    must, got = "be in one file only", f"it in {seen[name]} as well"
                    hint = advise("Rename it, or leave it out with {}.", ignore=name)
                    raise part.file.wrong(f"Column {name!r}", must, got, hint)
            seen[name] = part.file.path
    problems.stop()


def _check_chosen(parts: Sequence[FeatureRows], columns: Columns) -> None:
    """Refuse a name that an option gives and no file has."""
    there = {name for part in parts for name in (*(part.file.header or ()), *part.file.unused)}
    for parameter in ("feature", "ignore"):
        for name in getattr(columns, parameter):
            if name not in there and parameter not in columns.optional:
                hint = did_you_mean(name, sorted(there))
                raise wrong_value(parameter, "name a column of a feature file", repr(name), hint)


def _side_by_side(parts: Sequence[FeatureColumns]) -> tuple[FeatureColumns, np.ndarray]:
    """The columns of all, and where each column of their matrix stands in the stacked matrices."""
    category = np.concatenate([part.is_category for part in parts])
    columns = tuple(column for part in parts for column in part)
    impute = any(part.impute for part in parts)
    joined = replace(parts[0], columns=columns, impute=impute)
    return joined, np.argsort(category, kind="stable")


def _groups(places: Sequence[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Which files share nodes, directly or not: a group for each file, and for each node [n]."""
    rows, files = np.concatenate(places), np.repeat(np.arange(len(places)), list(map(len, places)))
    names = sp.csr_array((np.ones(len(rows), dtype=np.int64), (rows, files)))
    _, group = sp.csgraph.connected_components(names.T @ names)
    of_node = np.empty(n, dtype=group.dtype)
    of_node[rows] = group[files]
    return group, of_node


def _kinds(
    parts: Sequence[FeatureRows], places: Sequence[np.ndarray], n: int, group: np.ndarray
) -> Any:
    """As the files say; where none does, one for each group of files, called as the first."""
    said = any(part.kinds is not None for part in parts)
    if not said and group.max() == 0:
        return None
    first = [parts[int(np.argmax(group == own))].file.path for own in range(group.max() + 1)]
    names = [_name(path) for path in first]
    names = names if len(set(names)) == len(names) else [str(path) for path in first]
    kinds = np.full(n, None, dtype=object)
    for part, at, own in zip(parts, places, group, strict=True):
        kinds[at] = part.kinds if said else names[own]
    return kinds


def _name(path: Place) -> str:
    """accounts of accounts.csv.gz, of a sheet and of a table of that name."""
    if isinstance(path, Address):
        return next(iter(path.options.values()), str(path))
    return path.name.split(".")[0] or str(path)

"""What every node is: as the files say, or as the edges show.

Without a column of kinds, the ends of edges tell: `paper`s stand at the source of "written by" and
"about", `author`s only at the target of the first. Ends that share no node are different kinds, if
all labels sit on one of them, and features, where there are any, are missing for whole kinds only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from cpgnn.engine.text import count, listed, shorten
from cpgnn.errors import Message, advise, wrong_value
from cpgnn.io.column_choice import Columns
from cpgnn.io.edges import EdgeList
from cpgnn.io.feature_matrix import FeatureRows
from cpgnn.io.files import about
from cpgnn.io.labels import LabelRows
from cpgnn.io.parts import Parts
from cpgnn.relations.kinds import OTHER, Kinds

LEAST_NODES = 10
"""Ends with fewer nodes are no kind of their own unless a file says so."""


def find_kinds(
    parts: Parts, columns: Columns, *, adds: bool = False
) -> tuple[Kinds | None, list[str]]:
    """The kinds of all nodes, and what to say about them; None if there is only one.

    `adds`: to an earlier graph, which may know the kinds of those that have no features here.
    """
    given, features, labels, n = parts.edges, parts.features, parts.labels, len(parts.ids)
    rows = ((features, parts.at_features), (labels, parts.at_labels))
    telling = [(part, at) for part, at in rows if part and part.kinds is not None]
    of_graphml = given.kinds is not None and given.nodes is not None
    if columns.kind_column and not (telling or of_graphml):
        must, got = "name a column of the labels or features", repr(columns.kind_column)
        raise wrong_value("kind_column", must, got)
    if columns.kind_column == "":
        return None, []
    described, labelled = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    if features is not None:
        described[parts.at_features] = True
        if features.ids is None and given.kinds is not None:
            described[: len(given.ids)] = given.kinds.has_features
    if labels is not None:
        labelled[parts.at_labels[labels.codes >= 0]] = True
    elif given.labels is not None:
        labelled[: len(given.labels)] = given.labels >= 0
    names = _named(given, parts.ids, telling)
    notices: list[str] = []
    if names is None:
        names = _shown(given, n, described if features is not None else None, labelled)
        if names is None:
            return None, []
        counts = pd.Series(names).value_counts()
        found = ", ".join(f"{counts[name]:,} {name}" for name in sorted(counts.index))
        said = f"{given.path}: the ends of edges look like different kinds of nodes ({found}); "
        notices.append(Message(said, advise("use {} if they are not.", kind_column="")))
    codes, values = pd.factorize(names, sort=True)
    having = np.bincount(codes, described, minlength=len(values)) > 0
    kinds = Kinds(codes.astype(np.int64), tuple(map(str, values)), tuple(having.tolist()))
    with about(given.path if labels is None else labels.file.path):
        one = advise("use {} if they are of one kind.", kind_column="")
        kinds.check(np.where(labelled, 0, -1), one)
    bare = [name for name, has in zip(kinds.names, kinds.described, strict=True) if not has]
    if bare and features is not None and not adds:
        notices += _said_of_bare(kinds, bare, parts, features)
    return kinds, notices


def _said_of_bare(
    kinds: Kinds, bare: Sequence[str], parts: Parts, features: FeatureRows
) -> Iterator[str]:
    """What to say of kinds without features: those that a file names, and those that none does."""
    if named := [name for name in bare if name != OTHER]:
        yield f"{features.file.path}: no node of kind {listed(named)} has features."
    if OTHER in bare:
        rest = np.flatnonzero(kinds.codes == kinds.names.index(OTHER))
        where = "in none of the feature files" if features.parts else f"not in {features.file.path}"
        first, are = shorten(parts.ids[int(rest[0])].as_py()), "is" if len(rest) == 1 else "are"
        yield (
            f"{count(len(rest), 'node')} {where} ({first} first) {are} of a kind without features, "
            f"{OTHER!r}."
        )


def _named(
    given: EdgeList, ids: pa.Array, rows: Sequence[tuple[FeatureRows | LabelRows, np.ndarray]]
) -> np.ndarray | None:
    """The kinds that files name [n]; None if none does. Contradictions are errors."""
    if given.kinds is None and not rows:
        return None
    names = np.full(len(ids), None, dtype=object)
    if given.kinds is not None:
        names[: len(given.ids)] = np.array(given.kinds.names, dtype=object)[given.kinds.codes]
    for part, at in rows:
        assert part.kinds is not None
        before, now = names[at], part.kinds
        clash = ~pd.isna(before) & ~pd.isna(now) & (before != now)
        if clash.any():
            row = int(np.argmax(clash))
            node = shorten(ids[int(at[row])].as_py())
            must = f"be {before[row]!r}, as in another file"
            raise part.file.wrong(f"The kind of {node}", must, repr(now[row]), row=row)
        names[at] = np.where(pd.isna(now), before, now)
    names[pd.isna(names)] = OTHER
    return names


def _shown(
    given: EdgeList, n: int, described: np.ndarray | None, labelled: np.ndarray
) -> np.ndarray | None:
    """The kinds that the ends of edges show [n]; None if they show none."""
    if not labelled.any() or (described is not None and described.all()):
        return None
    types = given.relation
    if types is None:
        codes, words = np.zeros(len(given.source), dtype=np.int64), [""]
    else:
        types = types if isinstance(types, pd.Categorical) else pd.Categorical(types)
        codes, words = types.codes.astype(np.int64), [str(word) for word in types.categories]
    R = len(words)
    nodes = np.concatenate([given.source, given.target]).astype(np.int64)
    slots = np.concatenate([codes, codes + R])
    used = sp.coo_array((np.ones(len(nodes), dtype=bool), (nodes, slots)), shape=(n, 2 * R)).tocsr()
    shared = (used.T.astype(np.int64) @ used.astype(np.int64)).toarray() > 0
    number, group = sp.csgraph.connected_components(sp.csr_array(shared))
    here = np.diff(used.indptr) > 0
    if number < 2:
        return None
    of_node = np.full(n, -1)
    of_node[here] = group[used.indices[used.indptr[:-1][here]]]
    with_label = np.unique(of_node[labelled & here])
    if len(with_label) != 1:
        return None
    of_node[~here] = with_label[0]
    sizes = np.bincount(of_node, minlength=number)
    if described is None:
        if sizes[np.unique(of_node)].min() < LEAST_NODES:
            return None
    else:  # a kind has features or has none: a mixture is a mistake, for others to tell
        share = np.bincount(of_node, described, minlength=number) / np.maximum(sizes, 1)
        if not (np.isin(share, (0, 1)).all() and share[with_label[0]] == 1):
            return None
    return np.array(_slot_names(given, words, group), dtype=object)[of_node]


def _slot_names(given: EdgeList, words: Sequence[str], group: np.ndarray) -> list[str]:
    """A name for each group of ends: the header's, or "target of written by"."""
    header = given.file.header if given.file is not None and given.file.header else None
    ends = header[:2] if header else ("source", "target")
    R, names = len(words), []
    for number in range(group.max() + 1):
        slots = np.flatnonzero(group == number)
        sides = dict.fromkeys(ends[int(slot >= R)] for slot in slots)
        of_types = [*dict.fromkeys(words[slot % R] for slot in slots.tolist())]
        of = listed(of_types, 3) if words != [""] else ""
        names.append(" or ".join(sides) + (f" of {of}" if of else ""))
    return names

"""Types of edges: a name, a matrix, and whether an edge u → v differs from v → u.

A type that is not directed is one relation ("u and v hear each other"), a directed one is two:
`out` (u hears whom it points to) and `in` (v hears who points to it).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.arrays import coded, is_symmetric, simple_adjacency
from cpgnn.errors import Message, must_be, wrong_value
from cpgnn.relations.relation import EDGES, SHARED, TWO_HOPS, Relation

UNNAMED = "edges"
"""The name of the only type where nobody gave it one."""
DERIVED = re.compile(rf"^(own|{EDGES}|{TWO_HOPS})$|( \((out|in)\)|{re.escape(SHARED)})$")
"""Names that relations derived from types, and a node's own part, have."""
MOST_TYPES = 100
"""More values than this are no types: each would have matrices of its own."""
Directed = bool | Collection[str]
"""Whether edges have a direction: all, none, or those of the types with these names."""


@dataclass(frozen=True, eq=False)
class EdgeType:
    """A_t [n, n], float32, without a diagonal: symmetric, or (u, v) for an edge u → v."""

    name: str
    matrix: sp.csr_array
    directed: bool

    @property
    def num_edges(self) -> int:
        return int(self.matrix.nnz if self.directed else self.matrix.nnz // 2)

    def each_once(self) -> sp.coo_array:
        """Its edges, an undirected one in one direction only."""
        return sp.coo_array(self.matrix if self.directed else sp.triu(self.matrix, k=1))

    def relations(self) -> list[Relation]:
        """Whom a node hears by edges of this type."""
        if not self.directed:
            return [Relation(self.name, self.matrix)]
        named = f"{self.name} ({{}})" if self.name != UNNAMED else "{}"
        back = sp.csr_array(self.matrix.T)
        back.sort_indices()
        return [Relation(named.format("out"), self.matrix), Relation(named.format("in"), back)]


def typed_adjacency(
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    n: int,
    relation: Any,
    directed: Directed,
) -> tuple[sp.csr_array, tuple[EdgeType, ...], np.ndarray, list[str]]:
    """A of all edges, merged; the types, by name; nodes with self-loops; what was changed.

    A directed type that has every edge in both directions, with the same weight, is undirected.
    Without a direction or names, there are no types, and A is all.
    """
    if relation is None and not directed:
        A, loops, notices = simple_adjacency(source, target, weights, n)
        return A, (), loops, notices
    codes, names = _coded(relation, len(source))
    if len(names) > MOST_TYPES:
        raise wrong_value("relation", f"name at most {MOST_TYPES} types", f"{len(names):,}")
    is_directed = which_directed(names, directed)
    types: list[EdgeType] = []
    said: list[str] = []
    if relation is not None:
        given, names = names, own_names(names)
        changed = zip(given, names, strict=True)
        said = [
            f"The type of edges {old!r} is called {new!r}: a relation that is derived has its name."
            for old, new in changed
            if old != new
        ]
    for code, name in enumerate(names):
        rows = codes == code
        values = None if weights is None else weights[rows]
        ends = source[rows], target[rows], values, n
        M, _, told = simple_adjacency(*ends, directed=is_directed[code])
        both_ways = is_directed[code] and (M != M.T).nnz == 0
        if both_ways:
            M, _, told = simple_adjacency(*ends)
        types.append(EdgeType(name, M, is_directed[code] and not both_ways))
        said += [Message(f"{name}: " if len(names) > 1 else "", notice) for notice in told]
    if len(types) == 1 and not types[0].directed:
        A, loops = types[0].matrix, np.unique(source[source == target])
    else:  # rows of different types or directions join the same nodes: no news
        A, loops, _ = simple_adjacency(source, target, weights, n)
    plain = relation is None and not types[0].directed
    return A, () if plain else tuple(types), loops, said


def scipy_parts(adjacency: Any, directed: Directed) -> dict[str, Any]:
    """A matrix, or a dict of them by type, as arguments of `Graph.from_edges`."""
    named = adjacency if isinstance(adjacency, dict) else {UNNAMED: adjacency}
    wanted = dict(zip(named, which_directed(list(named), directed), strict=True))
    parts = []
    for name, matrix in named.items():
        A = sp.coo_array(matrix, copy=True)
        if A.shape[0] != A.shape[1]:
            raise must_be("The adjacency matrix", "be square", A.shape)
        A.sum_duplicates()
        A.eliminate_zeros()
        keep = np.ones(A.nnz, dtype=bool)
        if is_symmetric(A):  # both directions are there: one of them is enough
            keep, wanted[name] = A.coords[0] <= A.coords[1], False
        parts.append((A.coords[0][keep], A.coords[1][keep], A.data[keep], A.shape[0]))
    sizes = {part[3] for part in parts}
    if len(sizes) != 1:
        raise must_be("The adjacency matrices", "be equally large", sorted(sizes) or "none")
    source, target, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    types = np.repeat(np.array(list(named), dtype=object), [len(part[0]) for part in parts])
    is_typed = isinstance(adjacency, dict)
    one_way = [name for name, is_directed in wanted.items() if is_directed]
    return {
        "source": source,
        "target": target,
        "weights": values if (values != 1).any() else None,
        "num_nodes": sizes.pop(),
        "relation": types if is_typed else None,
        "directed": one_way if is_typed else bool(one_way),
    }


def _coded(relation: Any, count: int) -> tuple[np.ndarray, list[str]]:
    """The type of every edge and the names of the types, sorted."""
    if relation is None:
        return np.zeros(count, dtype=np.int64), [UNNAMED]
    if len(relation) != count:
        raise wrong_value("relation", f"have one entry for each of {count} edges", len(relation))
    if isinstance(relation, pd.Categorical) and (relation.codes >= 0).all():  # of many rows
        given = relation.remove_unused_categories()
        given = given.reorder_categories(sorted(given.categories))
        return given.codes, [str(name) for name in given.categories]
    codes, names, unnamed = coded(np.asarray(relation, dtype=object))
    if len(unnamed):
        got = f"none in row {unnamed[0]} ({len(unnamed):,} of {count:,} rows)"
        raise wrong_value("relation", "name a type for every edge", got)
    return codes, list(names)


def which_directed(names: list[str], directed: Directed) -> list[bool]:
    """Whether each of these types has a direction."""
    if isinstance(directed, bool | np.bool_):
        return [bool(directed)] * len(names)
    wanted = {directed} if isinstance(directed, str) else set(map(str, directed))
    for unknown in sorted(wanted - set(names)):
        raise wrong_value("directed", f"name types of edges: {', '.join(names)}", repr(unknown))
    return [name in wanted for name in names]


def own_names(names: list[str]) -> list[str]:
    """The names of types, changed where what is derived from types might have the same."""
    return [f"{name} (type)" if DERIVED.search(name) else name for name in names]


def check_types(types: Collection[EdgeType], n: int) -> None:
    """Refuse types of another size, two with one name, and one with that of a derived relation."""
    names = [kind.name for kind in types]
    if len(set(names)) < len(names):
        raise must_be("Types of edges", "have different names", ", ".join(sorted(names)))
    named = [name for name in names if names != [UNNAMED]]
    if taken := [old for old, new in zip(named, own_names(named), strict=True) if old != new]:
        hint = f"Try '{taken[0]} (type)'."
        raise must_be("A type of edges", "not be called as a derived relation", taken[0], hint)
    for kind in types:
        if kind.matrix.shape != (n, n):
            must = f"have a matrix of {n} rows and columns"
            raise must_be(f"The type {kind.name!r}", must, kind.matrix.shape)

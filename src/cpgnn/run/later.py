"""Nodes and edges that came after a fit, joined to the graph that was fitted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.doubt.drift import drift_notice
from cpgnn.engine.arrays import picked_rows
from cpgnn.engine.mixed import Mixed
from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import count, shorten
from cpgnn.errors import GraphNotice, Message, advise, must_be
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph
from cpgnn.relations.edge_types import UNNAMED
from cpgnn.relations.kinds import Kinds
from cpgnn.run.run import Run


@dataclass(frozen=True, eq=False)
class Extended:
    """A fitted graph with later nodes, edges and features, and what became of them."""

    graph: Graph
    """The nodes of the fit in their order, then the new ones in theirs."""
    named: np.ndarray
    """Where the nodes of the later graph stand in it, in their order."""
    notices: tuple[str, ...]


def extended(
    fitted: Graph,
    later: Graph,
    *,
    described: np.ndarray | None = None,
    medians: Sequence[float] | None = None,
) -> Extended:
    """`fitted` with what `later` adds: the graph of both lists of edges in one file.

    Nodes are matched by id. Without weights an edge is there once; with weights, the weights of
    edges that are in both add up. Known nodes keep their labels, and their features too unless
    `later` has others: `described` [n of later] says which of its nodes do (None: all, if it has
    features at all). New nodes are unlabelled; one without features gets the `medians`, and trees
    see that nothing is known of it; or is an error where there are none.
    """
    if later.is_weighted and not fitted.is_weighted:
        hint = "Leave the weights out."
        raise must_be("The later edges", "have no weights, like the fitted graph", "weights", hint)
    _check_types(fitted, later)
    old, ids = _comparable(fitted.node_ids, later.node_ids)
    found = old.get_indexer(ids)
    is_new = found < 0
    n, m = fitted.num_nodes, int(is_new.sum())
    named = found.copy()
    named[is_new] = n + np.arange(m)
    kinds = _kinds(fitted, later, named, n + m)
    if kinds is not None:
        later = replace(later, kinds=replace(kinds, codes=kinds.codes[named]))
    X, mixed, told = _features(fitted, later, named, described, medians)
    edges, weights, relation, directed = _edges(fitted, later, named)
    with warnings.catch_warnings(action="ignore", category=GraphNotice):
        graph = Graph.from_edges(
            *edges,
            weights=weights if fitted.is_weighted else None,
            num_nodes=n + m,
            features=X,
            feature_names=fitted.feature_names,
            labels=np.append(fitted.labels, np.full(m, -1)),
            node_ids=old.append(ids[is_new]) if m else fitted.node_ids,
            class_names=fitted.class_names,
            self_loops=np.concatenate([fitted.self_loops, named[later.self_loops]]),
            relation=relation,
            directed=directed,
        )
    graph = replace(graph, kinds=kinds, mixed=mixed)
    added = graph.num_edges - fitted.num_edges
    notices = [
        f"{count(m, 'new node')} and {count(added, 'new edge')} were added to the "
        f"{count(n, 'node')} and {count(fitted.num_edges, 'edge')} of the fit.",
        *told,
    ]
    if fitted.is_weighted and not later.is_weighted and later.num_edges:
        said = "The later edges have no weights, so each counts 1; in the fit an edge weighs "
        mean = f"{fitted.adjacency.data.mean():.3g} on average. "
        hint = advise("If a column holds the weights, use {}.", weight="…")
        notices.append(Message(said, mean, hint))
    again = later.num_edges - added
    if fitted.is_weighted and again:
        notices.append(
            f"{count(again, 'later edge was', 'later edges were')} already in the fit: the weights "
            "were added up. If the files contain the whole graph, predict with them alone (on the "
            "command line: --replace-graph)."
        )
    return Extended(graph, named, tuple(notices))


def with_later(run: Run, loaded: LoadedGraph) -> Extended:
    """The fitted graph of a run with what later files add; a notice says what is distributed
    differently there."""
    medians = None if run.columns is None else run.columns.medians
    more = extended(run.graph, loaded.graph, described=loaded.described, medians=medians)
    new = np.arange(run.graph.num_nodes, more.graph.num_nodes)
    drifted = drift_notice(run.graph, more.graph, new)
    return replace(more, notices=(*more.notices, drifted)) if drifted else more


def in_its_place(run: Run, loaded: LoadedGraph) -> Extended:
    """Later files in place of the fitted graph of a run; a notice says what is distributed
    differently there."""
    then, now = run.graph, alone(run.graph, loaded.graph)
    everyone = np.arange(now.num_nodes)
    if then.num_features != now.num_features or then.feature_names != now.feature_names:
        drifted = drift_notice(then.with_features(None), now.with_features(None))
    else:
        drifted = drift_notice(then, now)
    return Extended(now, everyone, (drifted,) if drifted else ())


def alone(fitted: Graph, later: Graph) -> Graph:
    """`later` in place of the fitted graph, its nodes of the kinds that the fit knew."""
    old, ids = _comparable(fitted.node_ids, later.node_ids)
    named, n = old.get_indexer(ids), fitted.num_nodes
    is_new = named < 0
    named[is_new] = n + np.arange(is_new.sum())
    kinds = _kinds(fitted, later, named, n + int(is_new.sum()))
    return replace(later, kinds=None if kinds is None else replace(kinds, codes=kinds.codes[named]))


def _check_types(fitted: Graph, later: Graph) -> None:
    """Refuse edges of a type that the fit had not: there is no matrix for them."""
    if not fitted.has_types:
        return
    names = sorted(kind.name for kind in fitted.types)
    unknown = [kind.name for kind in later.types if kind.name not in names and kind.num_edges]
    if unknown:
        hint = "Leave out its rows, or fit again with them."
        if unknown == [UNNAMED]:
            hint = "Name the column that holds it."
        must = f"be one of the fit's: {', '.join(names)}"
        raise must_be("The type of a later edge", must, repr(unknown[0]), hint)


def _edges(
    fitted: Graph, later: Graph, named: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, bool | list[str]]:
    """The edges of both [2, m]; weights, types and directions as the fitted graph has them."""
    first, second = fitted.types, later.types
    one_way = {kind.name: kind.directed for kind in first}
    if not fitted.has_types:
        second = tuple(replace(kind, name=UNNAMED) for kind in second)
    ends, values, types = [], [], []
    for kinds, at in ((first, np.arange(fitted.num_nodes)), (second, named)):
        for kind in kinds:
            both_ways = one_way.get(kind.name) and not kind.directed
            M = sp.coo_array(kind.matrix) if both_ways else kind.each_once()
            ends.append(np.stack([at[end] for end in M.coords]))
            values.append(M.data)
            types += [kind.name] * M.nnz
    directed = [name for name, is_directed in one_way.items() if is_directed]
    return (
        np.concatenate(ends, axis=1),
        np.concatenate(values),
        np.array(types, dtype=object) if fitted.has_types else None,
        directed if fitted.has_types else bool(directed),
    )


def _kinds(fitted: Graph, later: Graph, named: np.ndarray, total: int) -> Kinds | None:
    """The kinds of all nodes: a known node keeps its own, a new one brings its own; where nobody
    names it, the columns that it has and the edges that it takes part in tell.
    """
    known, n = fitted.kinds, fitted.num_nodes
    if known is None:
        return None
    codes = np.append(known.codes, np.full(total - n, -1))
    if later.kinds is not None:
        code = pd.Index(known.names).get_indexer(pd.Index(later.kinds.names))
        given = code[later.kinds.codes]
        clash = (named < n) & (given >= 0) & (codes[named] != given)
        if clash.any():
            i = int(np.argmax(clash))
            was, now = known.names[codes[named[i]]], later.kinds.names[later.kinds.codes[i]]
            must = f"keep its kind, {was!r} in the fit"
            raise must_be(f"Node {shorten(str(later.node_ids[i]))}", must, repr(now))
        codes[named] = np.where(given >= 0, given, codes[named])
    if (codes < 0).any():
        _by_columns(codes, fitted, later, named, known)
        _by_edges(codes, fitted, later, named, len(known.names))
    if (codes < 0).any():
        names = ", ".join(known.names)
        first = shorten(str(later.node_ids[int(np.argmax(codes[named] < 0))]))
        hint = "Name it in a column 'kind' of the features."
        raise must_be("Every new node", f"have a kind: {names}", f"none for {first}", hint)
    return replace(known, codes=codes)


def _by_columns(
    codes: np.ndarray, fitted: Graph, later: Graph, named: np.ndarray, kinds: Kinds
) -> None:
    """A new node is of the only kind that has its columns."""
    if fitted.mixed is None or later.mixed is None or later.num_features != fitted.num_features:
        return
    has = kinds.knowing(fitted.mixed.gaps)
    new = np.flatnonzero(codes[named] < 0)
    there = ~later.mixed.gaps[new].toarray()
    fits = there.any(axis=1)[:, None] & ~(there.astype(np.int64) @ ~has > 0)
    alone = fits.sum(axis=1) == 1
    codes[named[new[alone]]] = fits[alone].argmax(axis=1)


def _by_edges(codes: np.ndarray, fitted: Graph, later: Graph, named: np.ndarray, k: int) -> None:
    """A new node is of the only one of k kinds that has such edges, to such neighbours."""
    types = {kind.name: kind for kind in fitted.types}
    edges = []
    for kind in later.types:
        before = types.get(kind.name, next(iter(types.values())) if len(types) == 1 else None)
        if before is None:
            continue
        u, v = sp.coo_array(before.matrix).coords
        joined = np.zeros((k, k), dtype=bool)
        joined[codes[u], codes[v]] = True
        edges.append((joined, *(named[end] for end in sp.coo_array(kind.matrix).coords)))
        if before.directed and kind.directed:
            edges.append((joined.T, *edges[-1][:0:-1]))
    while True:
        possible = np.ones((len(codes), k), dtype=bool)
        for joined, u, v in edges:
            told = np.where(codes[v, None] >= 0, joined[:, codes[v]].T, joined.any(axis=1))
            np.logical_and.at(possible, u, told)
        found = (codes < 0) & (possible.sum(axis=1) == 1)
        if not found.any():
            return
        codes[found] = possible[found].argmax(axis=1)


def _comparable(first: pd.Index, later: pd.Index) -> tuple[pd.Index, pd.Index]:
    """Both indexes as they are, or as text where one of them is."""
    if first.dtype == later.dtype:
        return first, later
    return first.astype(str).astype(object), later.astype(str).astype(object)


def _features(
    fitted: Graph,
    later: Graph,
    named: np.ndarray,
    described: np.ndarray | None,
    medians: Sequence[float] | None,
) -> tuple[Any, Mixed | None, list[str]]:
    """The features of all nodes and what they were; and what to say about them."""
    X, n = fitted.features, fitted.num_nodes
    if X is None:
        if later.features is not None:
            raise must_be("The later graph", "have no features, like the fitted graph", "features")
        return None, None, []
    total = max(n, int(named.max(initial=-1)) + 1)
    if described is None:
        described = np.full(later.num_nodes, later.features is not None)
    is_new = named >= n
    bare = is_new & ~described
    if later.kinds is not None:
        bare &= later.kinds.has_features
    if bare.any() and medians is None:
        first = shorten(str(later.node_ids[int(np.argmax(bare))]))
        got = f"none for {count(int(bare.sum()), 'new node')}, {first} first"
        hint = advise("Add the rows, or use {}.", impute="median")
        raise must_be("Every new node", "have features", got, hint)
    F, no_row = X.shape[1], is_new & ~described & ~bare
    Z: Any = np.empty((0, F), dtype=np.float32)
    missing = sp.csr_array((0, F), dtype=bool)
    if later.features is not None:
        Z, missing = later.features, _gaps(later)
        if fitted.feature_names is not None and later.feature_names is not None:
            order, _ = match_names(fitted.feature_names, later.feature_names, "The later graph")
            Z, missing = Z[:, order], missing[:, order]
        if Z.shape[1] != F:
            must = f"have the {F:,} features of the fit"
            raise must_be("The later graph", must, f"{Z.shape[1]:,}")
    nothing = np.zeros((1, F), dtype=np.float32)
    filling = nothing if medians is None else np.asarray(medians, dtype=np.float32)[None, :]
    # Which of these rows each node takes: its own, the later one, zeros or the medians.
    row, zeros = np.arange(total), n + Z.shape[0]
    row[named[no_row]], row[named[bare]] = zeros, zeros + 1
    row[named[described]] = n + np.flatnonzero(described)
    known, replaced, told = int((~is_new).sum()), int((described & ~is_new).sum()), []
    if known and later.features is not None:
        told.append(
            f"Of {count(known, 'known node')} in the later files, {replaced:,} took the features "
            f"given there and {known - replaced:,} kept those of the fit."
        )
    if filled := int(bare.sum()):
        told.append(f"{count(filled, 'new node')} without features got the medians of the fit.")
    categories = () if fitted.mixed is None else fitted.mixed.categories
    gaps = picked_rows([_gaps(fitted), missing, nothing, np.ones((1, F))], row)
    return picked_rows([X, Z, nothing, filling], row), Mixed.of(gaps, categories), told


def _gaps(graph: Graph) -> sp.csr_array:
    """Which cells of its features are missing [n, F]."""
    if graph.mixed is not None:
        return graph.mixed.gaps
    return sp.csr_array((graph.num_nodes, graph.num_features or 0), dtype=bool)

"""Nodes and edges that came after a fit, joined to the graph that was fitted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import count, shorten
from cpgnn.errors import GraphNotice, advise, must_be
from cpgnn.graph import Graph


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
    features at all). New nodes are unlabelled; one without features gets the `medians`, or is an
    error where there are none.
    """
    if later.is_weighted and not fitted.is_weighted:
        hint = "Leave the weights out."
        raise must_be("The later edges", "have no weights, like the fitted graph", "weights", hint)
    old, ids = _comparable(fitted.node_ids, later.node_ids)
    found = old.get_indexer(ids)
    is_new = found < 0
    n, m = fitted.num_nodes, int(is_new.sum())
    named = found.copy()
    named[is_new] = n + np.arange(m)
    X, kept, replaced, filled = _features(fitted, later, named, described, medians)
    one, two = (sp.triu(graph.adjacency, format="coo") for graph in (fitted, later))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        graph = Graph.from_edges(
            np.concatenate([one.coords[0], named[two.coords[0]]]),
            np.concatenate([one.coords[1], named[two.coords[1]]]),
            weights=np.concatenate([one.data, two.data]) if fitted.is_weighted else None,
            num_nodes=n + m,
            features=X,
            feature_names=fitted.feature_names,
            labels=np.append(fitted.labels, np.full(m, -1)),
            node_ids=old.append(ids[is_new]) if m else fitted.node_ids,
            class_names=fitted.class_names,
            self_loops=np.concatenate([fitted.self_loops, named[later.self_loops]]),
        )
    added = graph.num_edges - fitted.num_edges
    notices = [
        f"{count(m, 'new node')} and {count(added, 'new edge')} were added to the "
        f"{count(n, 'node')} and {count(fitted.num_edges, 'edge')} of the fit."
    ]
    if replaced or kept:
        notices.append(
            f"Of {count(replaced + kept, 'known node')} in the later files, {replaced:,} took the "
            f"features given there and {kept:,} kept those of the fit."
        )
    if filled:
        notices.append(f"{count(filled, 'new node')} without features got the medians of the fit.")
    if fitted.is_weighted and not later.is_weighted and later.num_edges:
        notices.append(
            "The later edges have no weights, so each counts 1; in the fit an edge weighs "
            f"{one.data.mean():.3g} on average. If a column holds the weights, name it with "
            "--weight."
        )
    again = later.num_edges - added
    if fitted.is_weighted and again:
        notices.append(
            f"{count(again, 'later edge was', 'later edges were')} already in the fit: the weights "
            "were added up. If the files contain the whole graph, predict with them alone (on the "
            "command line: --replace-graph)."
        )
    return Extended(graph, named, tuple(notices))


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
) -> tuple[Any, int, int, int]:
    """The features of all nodes; how many known ones kept theirs, how many got others; and how
    many new ones got medians."""
    X, n = fitted.features, fitted.num_nodes
    if X is None:
        if later.features is not None:
            raise must_be("The later graph", "have no features, like the fitted graph", "features")
        return None, 0, 0, 0
    total = max(n, int(named.max(initial=-1)) + 1)
    if described is None:
        described = np.full(later.num_nodes, later.features is not None)
    is_new = named >= n
    bare = is_new & ~described
    if bare.any() and medians is None:
        first = shorten(str(later.node_ids[int(np.argmax(bare))]))
        got = f"none for {count(int(bare.sum()), 'new node')}, {first} first"
        hint = advise("Add the rows, or use {}.", impute="median")
        raise must_be("Every new node", "have features", got, hint)
    parts: list[Any] = [X]
    if later.features is not None:
        Z: Any = later.features
        if fitted.feature_names is not None and later.feature_names is not None:
            Z = Z[:, match_names(fitted.feature_names, later.feature_names, "The later graph")[0]]
        if Z.shape[1] != X.shape[1]:
            must = f"have the {X.shape[1]:,} features of the fit"
            raise must_be("The later graph", must, f"{Z.shape[1]:,}")
        parts.append(Z)
    if medians is not None:
        parts.append(np.asarray(medians, dtype=np.float32)[None, :])
    # Which row of the stacked parts each node takes: its own, the later one, or the medians.
    row = np.arange(total)
    row[named[bare]] = sum(part.shape[0] for part in parts) - 1
    row[named[described]] = n + np.flatnonzero(described)
    if sp.issparse(X):
        stacked: Any = sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    else:
        stacked = np.vstack([part.toarray() if sp.issparse(part) else part for part in parts])
    replaced = int((described & ~is_new).sum())
    return stacked[row], int((~is_new).sum()) - replaced, replaced, int(bare.sum())

"""Graphs of NetworkX, in and out; and which library a graph is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.arrays import as_weights, is_symmetric
from cpgnn.engine.text import count, shorten
from cpgnn.errors import must_be, wrong_value
from cpgnn.relations.edge_types import Directed

if TYPE_CHECKING:
    import networkx as nx

    from cpgnn.graph import Graph


def library(given: Any) -> str | None:
    """The library whose graph this is, "networkx" or "pyg"; imports neither."""
    homes = {(cls.__module__.split(".")[0], cls.__name__) for cls in type(given).__mro__}
    known = {
        ("networkx", "Graph"): "networkx",
        ("torch_geometric", "Data"): "pyg",
        ("torch_geometric", "HeteroData"): "pyg",
    }
    return next((name for home, name in known.items() if home in homes), None)


def networkx_parts(
    graph: nx.Graph,
    label: str | None,
    weight: str | None,
    features: str | Sequence[str] | None,
    relation: str | None,
    directed: Directed | None,
) -> dict[str, Any]:
    """The arguments of `Graph.from_edges`."""
    ids = list(graph.nodes)
    position = {node: i for i, node in enumerate(ids)}
    edges = list(graph.edges(data=True))
    weights = None
    if weight is not None and any(weight in data for *_, data in edges):
        weights = [data.get(weight, 1.0) for *_, data in edges]
    labels = np.full(len(ids), None, dtype=object)
    if label is not None:
        labels[:] = [graph.nodes[node].get(label) for node in ids]
    X, names = None, None
    bare = bare_kinds(graph, features)
    if isinstance(features, str):
        X = _attribute(graph, features, "one vector", bare)
    elif features:
        names = list(features)
        X = [*zip(*(_attribute(graph, name, "one number", bare) for name in names), strict=True)]
    types = None
    if relation is not None:
        types = [data.get(relation) for *_, data in edges]
        if edges and not any(value is not None for value in types):
            raise wrong_value("relation", "name an attribute of edges", repr(relation))
    elif graph.is_multigraph() and edges:
        keys = [key for *_, key in graph.edges(keys=True)]
        types = keys if all(isinstance(key, str) for key in keys) else None
    source, target = (
        np.array([position[edge[end]] for edge in edges], dtype=np.int64) for end in (0, 1)
    )
    directed = graph.is_directed() if directed is None else directed
    if weights is not None and graph.is_directed():
        keep, mutual = _once(source, target, weights, types, len(ids))
        kept = np.flatnonzero(keep)
        source, target, weights = source[kept], target[kept], [weights[i] for i in kept]
        types = None if types is None else [types[i] for i in kept]
        if isinstance(directed, bool) and directed and mutual:
            directed = [] if types is None else sorted(map(str, {*types} - mutual))
        elif not isinstance(directed, bool | str):
            directed = [name for name in directed if name not in mutual]
    return {
        "source": source,
        "target": target,
        "weights": weights,
        "num_nodes": len(ids),
        "features": X,
        "feature_names": names,
        "labels": labels,
        "node_ids": pd.Index(ids, tupleize_cols=False),
        "relation": types,
        "directed": directed,
    }


def _once(
    source: np.ndarray, target: np.ndarray, weights: list[float], types: list[str] | None, n: int
) -> tuple[np.ndarray, set[str]]:
    """Which rows to read, so that an edge without a direction, which a `DiGraph` has both ways with
    the same weight, is not added to itself; and the types of which that is true."""
    named = np.full(len(source), "", dtype=object) if types is None else np.array(types, object)
    codes, names = pd.factorize(named)
    keep, values = np.ones(len(source), dtype=bool), as_weights(weights, len(source))
    mutual = set()
    for code, name in enumerate(names):
        rows = codes == code
        A = sp.coo_array((values[rows], (source[rows], target[rows])), shape=(n, n))
        if is_symmetric(A):
            keep[rows] = (source <= target)[rows]
            mutual.add(name)
    return keep, mutual


def unread(graph: nx.Graph, relation: str | None) -> Iterator[str]:
    """What only some nodes or edges have, and is therefore not used; one sentence each."""
    lacking = [node for node in graph.nodes if not graph.nodes[node].get("kind")]
    if 0 < len(lacking) < len(graph):
        having = count(len(lacking), "node has", "nodes have")
        first = shorten(str(lacking[0]))
        yield f"Kinds of nodes are not used: {having} no attribute 'kind', {first} first."
    if relation is None and graph.is_multigraph():
        keys = [key for *_, key in graph.edges(keys=True)]
        others = [key for key in keys if not isinstance(key, str)]
        if 0 < len(others) < len(keys):
            having, first = count(len(others), "edge has", "edges have"), shorten(str(others[0]))
            yield f"Keys of edges are not used as types: {having} none that is text, {first} first."


def bare_kinds(graph: nx.Graph, features: str | Sequence[str] | None) -> set[str]:
    """The kinds of which no node has one of these attributes; none if some node has no kind."""
    kinds = [graph.nodes[node].get("kind") for node in graph.nodes]
    if not features or not all(kinds):
        return set()
    names = [features] if isinstance(features, str) else features
    with_some = {
        kind
        for kind, node in zip(kinds, graph.nodes, strict=True)
        if any(name in graph.nodes[node] for name in names)
    }
    return set(kinds) - with_some if with_some else set()


def _attribute(graph: nx.Graph, name: str, holds: str, bare: set[str]) -> list[Any]:
    """This attribute of every node; zeros for nodes of kinds that have none."""
    given = [graph.nodes[node] for node in graph.nodes]
    lacking = [
        node
        for node, data in zip(graph.nodes, given, strict=True)
        if name not in data and data.get("kind") not in bare
    ]
    if lacking:
        must = f"have the attribute {name!r}, {holds} each"
        raise must_be("Every node", must, f"none at node {lacking[0]!r}")
    nothing = np.zeros_like(next((data[name] for data in given if name in data), 0))
    return [data.get(name, nothing) for data in given]


def to_networkx(graph: Graph) -> nx.Graph:
    """A NetworkX graph: ids, `label` (where known), `kind`, `weight`, `x` (a node's features).

    Directed if some type is (undirected edges go both ways then); a multigraph with the type as
    the key if there are several types.
    """
    import networkx as nx

    types = graph.types
    directed = any(kind.directed for kind in types)
    several = graph.has_types
    if several:
        made: Any = nx.MultiDiGraph() if directed else nx.MultiGraph()
    else:
        made = nx.DiGraph() if directed else nx.Graph()
    ids = list(graph.node_ids)
    made.add_nodes_from(ids)
    for i in np.flatnonzero(graph.labels >= 0):
        made.nodes[ids[i]]["label"] = graph.class_names[graph.labels[i]]
    if graph.kinds is not None:
        for node, code in zip(ids, graph.kinds.codes, strict=True):
            made.nodes[node]["kind"] = graph.kinds.names[code]
    if graph.features is not None:
        having = np.arange(len(ids))
        if graph.kinds is not None:
            having = np.flatnonzero(graph.kinds.has_features)
        for at in having.tolist():
            row = graph.features[at]
            made.nodes[ids[at]]["x"] = row.toarray().ravel() if sp.issparse(row) else row.copy()
    for kind in types:
        M = sp.coo_array(kind.matrix) if directed else kind.each_once()
        for u, v, value in zip(*M.coords, M.data.tolist(), strict=True):
            given = {"weight": value} if graph.is_weighted else {}
            key = {"key": kind.name} if several else {}
            made.add_edge(ids[u], ids[v], **key, **given)
    return made

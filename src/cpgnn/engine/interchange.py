"""Graphs of other libraries: NetworkX, and PyG's `Data` and `HeteroData`, in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.arrays import as_weights, is_symmetric, pyg_features, repeated_rows
from cpgnn.engine.text import count, shorten
from cpgnn.errors import must_be, wrong_value
from cpgnn.relations.edge_types import Directed, which_directed

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data, HeteroData

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


# -- NetworkX ------------------------------------------------------------------------------------


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


# -- PyG -----------------------------------------------------------------------------------------


def from_pyg(cls: type[Graph], data: Data | HeteroData, directed: Directed | None) -> Graph:
    """See `Graph.from_pyg`."""
    return (_from_hetero if hasattr(data, "node_types") else _from_data)(cls, data, directed)


def _from_data(cls: type[Graph], data: Data, directed: Directed | None) -> Graph:
    """A notice counts repeated edges."""
    ends = data.edge_index.numpy(force=True)
    weight = getattr(data, "edge_weight", None)
    values = np.ones(ends.shape[1]) if weight is None else weight.numpy(force=True).ravel()
    n = int(data.num_nodes)
    A = sp.coo_array((values, (ends[0], ends[1])), shape=(n, n))
    A.sum_duplicates()
    repeated = ends.shape[1] - A.nnz
    if weight is None:
        A.data[:] = 1
    graph = cls.from_scipy(
        A,
        directed=bool(getattr(data, "directed", False)) if directed is None else directed,
        features=None if data.x is None else pyg_features(data.x),
        labels=None if data.y is None else data.y.numpy(force=True).ravel(),
        node_ids=getattr(data, "node_ids", None),
        class_names=getattr(data, "class_names", None),
        self_loops=getattr(data, "self_loops", ()),
    )
    told = repeated_rows(repeated, weighted=weight is not None)
    return graph.noting(told) if repeated else graph


def masks(data: Any) -> dict[str, np.ndarray]:
    """Positions in `train_mask`, `val_mask` and `test_mask` of a `Data`, where it has them.

    Of a `HeteroData`, those of all kinds, in the order of `_from_hetero`.
    """
    kinds = [data[kind] for kind in data.node_types] if hasattr(data, "node_types") else [data]
    starts = np.cumsum([0, *(int(part.num_nodes) for part in kinds)])
    found = {}
    for part in ("train", "val", "test"):
        name, places = f"{part}_mask", []
        for kind, start in zip(kinds, starts, strict=False):
            if getattr(kind, name, None) is None:
                continue
            mask = getattr(kind, name)
            if mask.dim() != 1:
                hint = f"Choose one of the splits: data.{name} = data.{name}[:, 0]."
                must = "have one entry for each node"
                raise must_be(f"data.{name}", must, f"the shape {tuple(mask.shape)}", hint)
            places.append(start + np.flatnonzero(mask.numpy(force=True)))
        if places:
            found[part] = np.concatenate(places)
    return found


def _from_hetero(cls: type[Graph], data: HeteroData, directed: Directed | None) -> Graph:
    """The graph of all nodes, kind after kind.

    The relation in the middle of (source, relation, target) is the type; where two have the same
    one, all three are. Relations called `rev_…` are left out: they are another's, backwards.
    Without `directed`, types that the attribute `directed` (a list) names have a direction.
    """
    kinds = list(data.node_types)
    counts = [int(data[kind].num_nodes) for kind in kinds]
    start = dict(zip(kinds, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    triples = [t for t in data.edge_types if not t[1].startswith("rev_")]
    middles = [t[1] for t in triples]
    named = [t[1] if middles.count(t[1]) == 1 else " ".join(t) for t in triples]
    if directed is None:
        one_way = getattr(data, "directed", ())
        directed = [name for t, name in zip(triples, named, strict=True) if t[1] in one_way]
    wanted = dict(zip(named, which_directed(named, directed), strict=True))
    ends, types, weights = [], [], []
    weighted = any("edge_weight" in data[t] for t in triples)
    for triple, name in zip(triples, named, strict=True):
        pair = data[triple].edge_index.numpy(force=True)
        given = data[triple].get("edge_weight")
        values = np.ones(pair.shape[1]) if given is None else given.numpy(force=True).ravel()
        if triple[0] == triple[2]:
            size = (counts[kinds.index(triple[0])],) * 2
            if is_symmetric(sp.coo_array((values, tuple(pair)), shape=size)):
                once = pair[0] <= pair[1]
                pair, values, wanted[name] = pair[:, once], values[once], False
        ends.append(pair + np.array([[start[triple[0]]], [start[triple[2]]]]))
        types += [name] * pair.shape[1]
        weights.append(values)
    edges = np.concatenate(ends, axis=1) if ends else np.empty((2, 0), dtype=np.int64)
    labels = np.full(sum(counts), -1, dtype=np.int64)
    blocks, described, ids = [], [], []
    for kind, number in zip(kinds, counts, strict=True):
        part = data[kind]
        if part.get("y") is not None:
            labels[start[kind] : start[kind] + number] = part.y.numpy(force=True).ravel()
        blocks.append(None if part.get("x") is None else pyg_features(part.x))
        if blocks[-1] is not None:
            described.append(kind)
        ids += list(part.get("node_ids", [(kind, i) for i in range(number)]))
    graph = cls.from_edges(
        edges[0],
        edges[1],
        weights=np.concatenate(weights) if weighted else None,
        num_nodes=sum(counts),
        features=stacked(blocks, counts),
        labels=labels,
        class_names=getattr(data, "class_names", None),
        node_ids=pd.Index(ids, tupleize_cols=False),
        relation=types or None,
        directed=[name for name in wanted if wanted[name]] if types else False,
    )
    return graph.with_kinds(np.repeat(kinds, counts), described=described)


def stacked(blocks: list[Any], counts: list[int]) -> Any:
    """Features of several kinds of nodes, so many of each: rows below each other, every kind with
    columns of its own; None where a kind has none."""
    if len(blocks) == 1 or all(X is None for X in blocks):
        return blocks[0] if blocks else None
    every = [sp.csr_array((n, 0) if X is None else X) for X, n in zip(blocks, counts, strict=True)]
    whole = sp.csr_array(sp.block_diag(every, format="csr"), dtype=np.float32)
    return whole if any(sp.issparse(X) for X in blocks) else whole.toarray()


def to_pyg(graph: Graph) -> Data | HeteroData:
    """`Data`, with both directions of every undirected edge; `HeteroData` of types or kinds."""
    if graph.has_types or graph.kinds is not None:
        return _to_hetero(graph)
    import torch
    from torch_geometric.data import Data

    A = sp.coo_array(graph.types[0].matrix)
    data = Data(
        edge_index=torch.from_numpy(np.stack(A.coords).astype(np.int64)),
        y=torch.tensor(graph.labels),
        num_nodes=graph.num_nodes,
    )
    if graph.is_weighted:
        data.edge_weight = torch.tensor(A.data)
    if graph.features is not None:
        data.x = _tensor(graph.features)
    data.node_ids, data.class_names = list(graph.node_ids), list(graph.class_names)
    if len(graph.self_loops):
        data.self_loops = torch.tensor(graph.self_loops)
    if graph.types[0].directed:
        data.directed = True
    return data


def _tensor(X: Any) -> Any:
    import torch

    from cpgnn.engine.sparse import csr_tensor

    return csr_tensor(X.copy()) if sp.issparse(X) else torch.tensor(X)


def _columns_of(graph: Graph, code: int) -> np.ndarray | slice:
    """The columns of the features of one kind: what only other kinds fill is theirs (`stacked`),
    what none fills is that of the first."""
    if graph.kinds is None or sum(graph.kinds.described) < 2:
        return slice(None)
    filled, own = sp.csr_array(graph.features != 0), graph.kinds.codes == code
    here, elsewhere = (np.asarray(filled[rows].sum(axis=0)) > 0 for rows in (own, ~own))
    first = graph.kinds.described.index(True) == code
    return np.flatnonzero(here | (~elsewhere if first else False))


def _to_hetero(graph: Graph) -> HeteroData:
    """Edges as (kind, type, kind); an undirected type within one kind in both directions."""
    import torch
    from torch_geometric.data import HeteroData

    data: Any = HeteroData()
    names = graph.kinds.names if graph.kinds else ("node",)
    codes = graph.kinds.codes if graph.kinds else np.zeros(graph.num_nodes, dtype=np.int64)
    place = np.zeros(graph.num_nodes, dtype=np.int64)
    for code, name in enumerate(names):
        nodes = np.flatnonzero(codes == code)
        place[nodes] = np.arange(len(nodes))
        data[name].num_nodes = len(nodes)
        data[name].node_ids = [graph.node_ids[i] for i in nodes]
        if (graph.labels[nodes] >= 0).any():
            data[name].y = torch.from_numpy(graph.labels[nodes])
        if graph.features is not None and (graph.kinds is None or graph.kinds.described[code]):
            data[name].x = _tensor(graph.features[nodes][:, _columns_of(graph, code)])
    for kind in graph.types:
        M = sp.coo_array(kind.matrix)
        u, v = M.coords
        pairs = {*zip(codes[u].tolist(), codes[v].tolist(), strict=True)}
        for first, second in sorted(pairs):
            if first > second and not kind.directed:
                continue
            rows = (codes[u] == first) & (codes[v] == second)
            edge = data[names[first], kind.name, names[second]]
            edge.edge_index = torch.from_numpy(np.stack([place[u[rows]], place[v[rows]]]))
            if graph.is_weighted:
                edge.edge_weight = torch.from_numpy(M.data[rows])
    data.class_names = list(graph.class_names)
    if one_way := [kind.name for kind in graph.types if kind.directed]:
        data.directed = one_way
    return data

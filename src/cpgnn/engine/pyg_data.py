"""Graphs of PyG, `Data` and `HeteroData`, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.arrays import is_symmetric, pyg_features, repeated_rows
from cpgnn.errors import must_be
from cpgnn.relations.edge_types import UNNAMED, Directed, which_directed

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData

    from cpgnn.graph import Graph


def from_pyg(cls: type[Graph], data: Data | HeteroData, directed: Directed | None) -> Graph:
    """See `Graph.from_pyg`."""
    return (_from_hetero if hasattr(data, "node_types") else _from_data)(cls, data, directed)


def _from_data(cls: type[Graph], data: Data, directed: Directed | None) -> Graph:
    """A notice counts repeated edges."""
    n = int(data.num_nodes or 0)
    ends = _ends("data", data, (n, n))
    weight = getattr(data, "edge_weight", None)
    values = np.ones(ends.shape[1]) if weight is None else weight.numpy(force=True).ravel()
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


def _ends(what: str, store: Any, sizes: tuple[int, int]) -> np.ndarray:
    """The `edge_index` [2, m], if both rows are positions among so many nodes."""
    name, given = f"{what}.edge_index", getattr(store, "edge_index", None)
    must = "hold two rows of node positions"
    if given is None:
        raise must_be(name, must, "none")
    ends: np.ndarray = given.numpy(force=True)
    if ends.ndim != 2 or len(ends) != 2 or ends.dtype.kind not in "iu":
        raise must_be(name, must, f"{ends.dtype} of shape {ends.shape}")
    for row, n in zip(ends, sizes, strict=True):
        if row.size and not 0 <= row.min() <= row.max() < n:
            got = row.min() if row.min() < 0 else row.max()
            hint = "Do x and y have a row for every node?"
            raise must_be(name, f"hold positions below the number of nodes ({n})", got, hint)
    return ends


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
    one, all three are, unless the attribute `types` (a list) names it. Relations called `rev_…` are
    left out: they are another's, backwards. Without `directed`, types that the attribute `directed`
    (a list) names have a direction.
    """
    kinds = list(data.node_types)
    counts = [int(data[kind].num_nodes or 0) for kind in kinds]
    size = dict(zip(kinds, counts, strict=True))
    start = dict(zip(kinds, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    triples = [t for t in data.edge_types if not t[1].startswith("rev_")]
    middles, whole = [t[1] for t in triples], getattr(data, "types", ())
    alone = [t[1] in whole or middles.count(t[1]) == 1 for t in triples]
    named = [t[1] if one else " ".join(t) for t, one in zip(triples, alone, strict=True)]
    if directed is None:
        one_way = getattr(data, "directed", ())
        directed = [name for t, name in zip(triples, named, strict=True) if t[1] in one_way]
    wanted = dict(zip(named, which_directed(named, directed), strict=True))
    ends, types, weights = [], [], []
    weighted = any("edge_weight" in data[t] for t in triples)
    for triple, name in zip(triples, named, strict=True):
        sizes = size.get(triple[0], 0), size.get(triple[2], 0)
        pair = _ends(f"data[{triple}]", data[triple], sizes)
        given = data[triple].get("edge_weight")
        values = np.ones(pair.shape[1]) if given is None else given.numpy(force=True).ravel()
        inside = triple[0] == triple[2] and not (wanted[name] and triple[1] in whole)
        if inside and is_symmetric(sp.coo_array((values, tuple(pair)), shape=sizes)):
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
    one_way = [name for name in wanted if wanted[name]]
    untyped = not types or list(whole) == [UNNAMED]
    graph = cls.from_edges(
        edges[0],
        edges[1],
        weights=np.concatenate(weights) if weighted else None,
        num_nodes=sum(counts),
        features=stacked(blocks, counts),
        labels=labels,
        class_names=getattr(data, "class_names", None),
        node_ids=pd.Index(ids, tupleize_cols=False),
        self_loops=getattr(data, "self_loops", ()),
        relation=None if untyped else types,
        directed=bool(one_way) if untyped else one_way,
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
    data.types = [kind.name for kind in graph.types]
    if len(graph.self_loops):  # in the order of kind after kind
        at = np.argsort(np.argsort(codes, kind="stable"))
        data.self_loops = torch.from_numpy(np.sort(at[graph.self_loops]))
    if one_way := [kind.name for kind in graph.types if kind.directed]:
        data.directed = one_way
    return data

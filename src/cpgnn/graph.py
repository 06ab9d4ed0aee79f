"""The graph: adjacency, features, labels and the names its owner gave to nodes and classes.

`Graph` is frozen and validated here, once; everything else trusts it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine import interchange, pyg_data
from cpgnn.engine.arrays import (
    Matrix,
    as_features,
    as_ids,
    as_labels,
    as_positions,
    as_weights,
    count_nodes,
    normalized,
)
from cpgnn.engine.frames import features_by_node, labels_by_node, pandas_parts, similar_ids
from cpgnn.engine.mixed import Mixed
from cpgnn.errors import must_be, notify, wrong_value
from cpgnn.relations.edge_types import (
    UNNAMED,
    Directed,
    EdgeType,
    check_types,
    scipy_parts,
    typed_adjacency,
)
from cpgnn.relations.kinds import Kinds, as_kinds

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data, HeteroData

    from cpgnn.engine.views import View
    from cpgnn.relations.relation import Relation


OF_EDGES = ("matrix", "relations", "structure")
"""Of what a graph keeps, that which its features have no part in."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with optional features and partly known labels.

    Build it with `from_edges`, `from_pandas`, `from_scipy`, `from_networkx` or `from_pyg`; they
    handle duplicates, directions and self-loops. Shapes: n nodes, F features, c classes.
    """

    adjacency: sp.csr_array
    """A, [n, n]: all edges, symmetric, float32, int32 indices, empty diagonal."""
    features: np.ndarray | sp.csr_array | None
    """X, [n, F], dense or sparse float32; None for a featureless graph."""
    labels: np.ndarray
    """y, [n]: index into `class_names`, -1 = unknown."""
    node_ids: pd.Index
    """The name of every node."""
    class_names: tuple[Hashable, ...]
    """The name of every class."""
    self_loops: np.ndarray
    """Nodes whose self-loops were set aside; A never has them."""
    notices: tuple[str, ...] = ()
    """What was changed when the graph was built, one sentence each."""
    feature_names: tuple[str, ...] | None = None
    """The name of every feature; None if features are matched by position."""
    edge_types: tuple[EdgeType, ...] = ()
    """Edges that mean different things or have a direction; empty: A is all there is to say."""
    kinds: Kinds | None = None
    """What every node is, where there are several kinds of them."""
    mixed: Mixed | None = None
    """Which cells and columns of X stand for gaps and categories; None: X is numbers only."""

    def __post_init__(self) -> None:
        n, c, X, names = self.num_nodes, self.num_classes, self.features, self.feature_names
        if self.adjacency.shape != (n, n):
            raise must_be("The adjacency matrix", "be square", self.adjacency.shape)
        if X is not None and (X.ndim != 2 or X.shape[0] != n):
            raise wrong_value("features", f"have one row for each of the {n} nodes", X.shape)
        if X is not None and not np.isfinite(X.data if sp.issparse(X) else X).all():
            raise wrong_value("features", "be finite", "NaN or an infinite value")
        F = self.num_features or 0
        if names is not None and not len(set(names)) == len(names) == F:
            raise wrong_value("feature_names", f"name each of {F} features once", f"{len(names)}")
        if self.labels.shape != (n,):
            raise wrong_value("labels", f"have one entry for each of {n} nodes", self.labels.shape)
        if n and (self.labels.min() < -1 or self.labels.max() >= c):
            got = f"{self.labels.min()} to {self.labels.max()}"
            raise wrong_value("labels", f"lie between -1 (unknown) and {c - 1}", got)
        if len(self.node_ids) != n:
            raise wrong_value("node_ids", f"name each of {n} nodes", f"{len(self.node_ids)} names")
        classes = pd.Index([str(name) for name in self.class_names], dtype=object)  # 1 is "1"
        for what, index in (("class_names", classes), ("node_ids", self.node_ids)):
            if not index.is_unique:
                raise wrong_value(what, "be unique", f"{index[index.duplicated()][0]!r} twice")
        check_types(self.edge_types, n)
        if self.kinds is not None:
            self.kinds.check(self.labels)
        if self.mixed is not None:
            self.mixed.check(n, F)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled, say for a cross-validation in processes: nothing that can be derived."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __repr__(self) -> str:
        return (
            f"Graph({self.num_nodes:,} nodes, {self.num_edges:,} edges, "
            f"{self.num_features or 'no'} features, {self.num_classes} classes, "
            f"{int((self.labels >= 0).sum()):,} labelled"
            f"{f', {len(self.kinds.names)} kinds' if self.kinds else ''})"
        )

    def _repr_html_(self) -> str:
        from cpgnn.report.notebook import graph_html

        return graph_html(self)

    # -- sizes ---------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def num_edges(self) -> int:
        """Undirected edges, self-loops not counted."""
        return int(self.adjacency.nnz // 2)

    @property
    def num_features(self) -> int | None:
        return None if self.features is None else int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def types(self) -> tuple[EdgeType, ...]:
        """`edge_types`; a graph without has one type, which is A."""
        return self.edge_types or (EdgeType(UNNAMED, self.adjacency, directed=False),)

    @property
    def has_types(self) -> bool:
        """Whether its edges have names."""
        return any(kind.name != UNNAMED for kind in self.edge_types)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Whom a node hears: one relation for each type of edge, two (out, in) if it is directed.

        A graph without types has one, `edges`.
        """
        made = (relation for kind in self.types for relation in kind.relations())
        return self.once(("relations",), lambda: tuple(made))

    @cached_property
    def predicted(self) -> np.ndarray:
        """The nodes whose class is asked for [n]: those of the kind that has labels."""
        if self.kinds is None:
            return np.ones(self.num_nodes, dtype=bool)
        return self.kinds.labelled(self.labels)

    @property
    def unlabelled(self) -> np.ndarray:
        """The nodes without a label whose class is asked for [n]."""
        return (self.labels < 0) & self.predicted

    @property
    def num_neighbours(self) -> np.ndarray:
        """Of every node, whatever the edges weigh [n]."""
        return np.diff(self.adjacency.indptr)

    @cached_property
    def is_weighted(self) -> bool:
        return bool((self.adjacency.data != 1).any())

    @cached_property
    def degrees(self) -> np.ndarray:
        """Weighted degree of every node, float64 [n]."""
        return np.asarray(self.adjacency.sum(axis=1, dtype=np.float64)).ravel()

    # -- derived matrices and views, computed once ------------------------------------------

    def matrix(self, kind: Matrix = "none") -> sp.csr_array:
        """A itself ("none"), D^-1/2 A D^-1/2 ("sym") or D^-1 A ("row"); isolated rows stay 0."""
        return self.once(("matrix", kind), lambda: normalized(self.adjacency, self.degrees, kind))

    def view(self, device: Any = "cpu", dtype: Any = None) -> View:
        """All nodes of this graph as tensors on `device`; made once for each device and dtype."""
        import torch

        from cpgnn.engine.views import View

        device, dtype = torch.device(device), dtype or torch.float32
        return self.once(("view", device, dtype), lambda: View(self, None, device, dtype))

    def once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` returns, made the first time and kept with the graph under `key`."""
        cache: dict[tuple[Any, ...], Any] = self.__dict__.setdefault("_cache", {})
        if key not in cache:
            cache[key] = make()
        return cache[key]

    def has(self, key: tuple[Any, ...]) -> bool:
        """Whether something is kept under `key`."""
        return key in self.__dict__.get("_cache", {})

    # -- variations ------------------------------------------------------------------------

    def with_features(
        self, features: Any, names: Sequence[str] | None = None, *, mixed: Mixed | None = None
    ) -> Graph:
        """The same graph with other features, or None for none; a DataFrame is matched by node id.
        Without names of their own, they keep the old ones if their number is the same."""
        values, columns = features_by_node(features, self.node_ids)
        X, names = as_features(values), columns if names is None else names
        if names is None and X is not None and X.shape[1:] == (self.num_features,):
            names = self.feature_names
        named = None if names is None else tuple(names)
        made = replace(self, features=X, feature_names=named, mixed=mixed)
        kept = self.__dict__.get("_cache", {})  # what the edges alone say stays true
        made.__dict__["_cache"] = {key: kept[key] for key in kept if key[0] in OF_EDGES}
        return made

    def with_labels(self, labels: Any, class_names: Sequence[Hashable] | None = None) -> Graph:
        """The same graph with other labels: class indices with `class_names`, else values.

        A Series indexed by node id is matched by id; nodes it does not list become unknown.
        """
        values, n = labels_by_node(labels, self.node_ids), self.num_nodes
        codes, names = as_labels(values, n, class_names)
        return replace(self, labels=codes, class_names=names)

    def with_kinds(self, kinds: Any, described: Collection[str] | None = None) -> Graph:
        """The same graph with a kind for every node: names [n], or a Series indexed by node id.

        `described`: the kinds whose nodes have features, all by default. The rows of the others in
        `features` are zeros that mean nothing.
        """
        values = labels_by_node(kinds, self.node_ids)
        return replace(self, kinds=as_kinds(values, self.num_nodes, described))

    def noting(self, notice: str) -> Graph:
        """The same graph with a further notice, which is also a warning."""
        notify(notice)
        return replace(self, notices=(*self.notices, notice))

    def positions(self, ids: Any) -> np.ndarray:
        """Positions of the nodes with these ids; an unknown id is an error that names it."""
        wanted = pd.Index(np.atleast_1d(np.asarray(ids, dtype=object)))
        found = self.node_ids.get_indexer(wanted)
        if (found < 0).any():
            missing = wanted[found < 0]
            hint = similar_ids(self.node_ids, missing[0])
            raise must_be("A node id", "be one of the graph's", repr(missing[0]), hint)
        return np.asarray(found)

    def fingerprint(self) -> str:
        """A hash of the node ids in their order: equal means the same nodes by position."""
        hashes = pd.util.hash_pandas_object(self.node_ids.astype(str), index=False)
        return hashlib.sha256(hashes.to_numpy().tobytes()).hexdigest()

    # -- ways in -----------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        source: Any,
        target: Any,
        *,
        weights: Any = None,
        num_nodes: int | None = None,
        features: Any = None,
        feature_names: Sequence[str] | None = None,
        labels: Any = None,
        node_ids: Any = None,
        class_names: Sequence[Hashable] | None = None,
        self_loops: Any = (),
        relation: Any = None,
        directed: Directed = False,
    ) -> Graph:
        """A graph from node positions 0 … n-1: one pair for each edge, in either direction or both.

        Without weights, repeated edges count once. With weights, all rows that join u and v, in
        either direction, add up. Self-loops are set aside. `Graph.notices` and a `GraphNotice`
        warning count each of these. `self_loops` lists nodes whose self-loops were already removed
        from the rows. `relation` names the type of every edge. `directed`: edges lead from source
        to target; or only those of the types in such a list of names. A DataFrame of features and a
        Series of labels are matched by node id.
        """
        source, target = as_positions("'source'", source), as_positions("'target'", target)
        rest = {"node_ids": node_ids, "labels": labels, "features": features}
        n = count_nodes(source, target, num_nodes, **rest)
        values = None if weights is None else as_weights(weights, len(source))
        ends = (source, target, values, n)
        A, types, loops, notices = typed_adjacency(*ends, relation, directed)
        set_aside = np.union1d(loops, as_positions("'self_loops'", self_loops))
        if len(set_aside) and set_aside[-1] >= n:
            raise must_be("A self-loop", f"be at one of the {n} nodes", f"node {set_aside[-1]}")
        ids = as_ids(node_ids, n)
        codes, names = as_labels(labels_by_node(labels, ids), n, class_names)
        X, columns = features_by_node(features, ids)
        graph = cls(
            adjacency=A,
            features=as_features(X),
            labels=codes,
            node_ids=ids,
            class_names=names,
            self_loops=set_aside,
            notices=tuple(notices),
            feature_names=columns if feature_names is None else tuple(map(str, feature_names)),
            edge_types=types,
        )
        for notice in notices:
            notify(notice)
        return graph

    @classmethod
    def from_scipy(cls, adjacency: Any, *, directed: Directed = False, **rest: Any) -> Graph:
        """A graph from a scipy matrix [n, n], or a dict of them, one for each type of edge.

        A matrix that is symmetric (up to rounding) is used as it is. Any other is read as a list of
        edges, one for each stored entry, as in `from_edges`, which takes the other arguments too.
        If all entries are 1, there are no weights.
        """
        return cls.from_edges(**scipy_parts(adjacency, directed), **rest)

    @classmethod
    def from_pandas(
        cls,
        edges: pd.DataFrame,
        labels: pd.DataFrame | pd.Series | None = None,
        features: pd.DataFrame | None = None,
        *,
        relation: str | None = None,
        directed: Directed = False,
    ) -> Graph:
        """A graph from tables: edges (source, target[, weight]), labels (id, label), features.

        Node ids of labels and features are the first column if it is called `id`, else the index.
        The nodes are the union of all ids, in the order of their first appearance. `relation` is
        the column of the edges that holds their type; `directed` as in `from_edges`.
        """
        return cls.from_edges(**pandas_parts(edges, labels, features, relation), directed=directed)

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        *,
        label: str | None = "label",
        weight: str | None = "weight",
        features: str | Sequence[str] | None = None,
        relation: str | None = None,
        directed: Directed | None = None,
    ) -> Graph:
        """A graph from NetworkX; reads the node attribute `label` and the edge attribute `weight`.

        `features` names a node attribute that holds one vector for each node, or several that hold
        a number (nodes of some `kind` may have none); `relation` an edge attribute that holds its
        type; the keys of a multigraph, if they are text, are types too. A `DiGraph` is directed
        unless `directed` says otherwise. `label=None` reads none.
        """
        parts = interchange.networkx_parts(graph, label, weight, features, relation, directed)
        made = cls.from_edges(**parts)
        if label is not None and (made.labels < 0).all():
            made = made.noting(f"No node has the attribute {label!r}, so no label is known.")
        for sentence in interchange.unread(graph, relation):
            made = made.noting(sentence)
        kinds = [graph.nodes[node].get("kind") for node in graph.nodes]
        described = set(kinds) - interchange.bare_kinds(graph, features)
        return made.with_kinds(kinds, described) if kinds and all(kinds) else made

    @classmethod
    def from_pyg(cls, data: Data | HeteroData, *, directed: Directed | None = None) -> Graph:
        """A graph from PyG: `Data` (edge_index, x, y: -1 unknown, edge_weight) or `HeteroData`.
        directed: None for what `data.directed`, which `to_pyg` writes, says; without it, none."""
        return pyg_data.from_pyg(cls, data, directed)

    def to_pyg(self) -> Data | HeteroData:
        """A PyG `Data` with both directions of every undirected edge; `HeteroData` where there are
        types of edges or kinds of nodes. A copy; sparse features become a CSR tensor."""
        return pyg_data.to_pyg(self)

    def to_networkx(self) -> nx.Graph:
        """A NetworkX graph with `label`, `kind`, `weight` and features as vectors `x`; types are
        the keys of its edges."""
        return interchange.to_networkx(self)

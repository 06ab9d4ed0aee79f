"""The inputs of priors: what of a graph each of them reads, made once and only when asked for.

What is fitted to the graph of the fit (norms, directions, the choice of columns) is a `Basis`; the
same basis makes the inputs of graphs that come later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.arrays import dense, pattern
from cpgnn.engine.text import listed, shorten
from cpgnn.errors import must_be
from cpgnn.graph import Graph
from cpgnn.priors import columns as col
from cpgnn.relations.derived import heard_relations, leading_on, near, weighed_near
from cpgnn.relations.relation import Relation, edges

WIDEST, LEAST_WIDE = 256, 64
"""Principal coordinates of a wide X that networks read: at most, and where nodes are many."""
MOST_VALUES = 1 << 26
"""Entries of a dense block of coordinates."""
MOST_KEPT, MOST_AFTER = 1 << 24, 1 << 23
"""Entries of a block of columns up to which it is made only once in a fit, and kept after it."""
NARROW, TREE_COLUMNS = 128, 16
"""Trees read up to 128 columns as they are; of more, 16 principal coordinates. In a table with text
they read its numbers and the commonest words instead, which a column of many values would hide."""
COMMON = 30
"""Nodes that a value of a text column must have to be one of its commonest."""
WORDS = 500
"""Columns of a sparse X that trees read as they are."""
HALF = 0.5
ROWS = ("rows", "weighed_rows", "all_rows", "paths")
"""Inputs with a column for every node of the fit."""
STRUCTURE_KEY = ("structure",)
"""What a graph keeps the shape around its nodes under."""
SMOOTH_SCALE = 4.0
"""Rows of smoothed inputs have this norm on average: Adam's steps then reach the optimum soon."""


@dataclass(frozen=True, eq=False)
class Basis:
    """How columns were scaled, projected and chosen on the graph of the fit."""

    norm: float = 1.0
    """Of a row of X, on average."""
    directions: np.ndarray | None = None
    """[F, d], of X / norm; None: X is narrow enough to be read as it is."""
    coordinate_norm: float = 1.0
    words: np.ndarray | None = None
    """The columns of a sparse X whose presence varies most."""
    places: np.ndarray | None = None
    """[n, 16], principal directions of Ã, where there are no features."""
    table: np.ndarray | None = None
    """The columns of a wide table of numbers and text that trees read as they are."""

    def read_by_trees(self, F: int) -> np.ndarray | None:
        """The columns of X [n, F] that trees read as they are; None: principal coordinates."""
        return np.arange(F) if F <= NARROW else self.table

    @classmethod
    def of(cls, graph: Graph, seed: int = 0) -> Basis:
        """Fitted to the features (scaled) or, without any, to the edges of this graph."""
        X: Any = graph.features
        if X is None:
            d = min(TREE_COLUMNS, graph.num_nodes)
            return cls(places=col.principal_directions(col.with_self(near(graph)), d, seed))
        n, F = X.shape
        data = X.data if sp.issparse(X) else np.nan_to_num(X)
        norm = _mean_norm(data, n)
        words = None
        if sp.issparse(X):
            share = np.bincount(X.indices, minlength=F) / n
            words = np.sort(np.argsort(-share * (1 - share), kind="stable")[:WORDS])
        if F <= NARROW:
            return cls(norm, words=words)
        d = min(F, WIDEST if n * WIDEST <= MOST_VALUES else LEAST_WIDE)
        own = _divided(X, norm)
        V = col.principal_directions(own, d, seed)
        return cls(norm, V, _mean_norm(own @ V, n), words, table=_of_a_table(graph))


def _of_a_table(graph: Graph) -> np.ndarray | None:
    """`Basis.table`: all numbers, and as many of the commonest values of text as there is room."""
    mixed, X = graph.mixed, graph.features
    if mixed is None or X is None or not mixed.categories:
        return None
    text = np.array([j for category in mixed.categories for j in category.columns])
    numbers = np.setdiff1d(np.arange(X.shape[1]), text)
    if len(numbers) > NARROW:
        return None
    count = np.asarray((X[:, text] != 0).sum(axis=0)).ravel()
    order = np.argsort(-count, kind="stable")
    common = text[order[count[order] >= COMMON][: NARROW - len(numbers)]]
    return np.sort(np.concatenate([numbers, common])) if len(numbers) + len(common) else None


@dataclass(frozen=True, eq=False)
class Inputs:
    """What priors read of a graph whose features are scaled.

    known [n]: where each node stands in the graph of the fit, -1 for one that it does not have.
    labels [n]: the labels that trained the model, -1 elsewhere.
    """

    graph: Graph
    basis: Basis
    known: np.ndarray
    num_known: int
    """Nodes of the graph of the fit."""
    labels: np.ndarray

    @cached_property
    def A(self) -> sp.csr_array:
        """`derived.near`."""
        return self.graph.adjacency if self._weighed is None else pattern(self._weighed)

    @cached_property
    def _weighed(self) -> sp.csr_array | None:
        return weighed_near(self.graph)

    @cached_property
    def relations(self) -> dict[str, Relation]:
        """Who a node hears, by name, as far as it is affordable."""
        return heard_relations(self.graph)

    def propagator(self, relation: str, gamma: float) -> sp.csr_array:
        """P = D^-γ A of one of them; an error where the graph does not have it."""
        if relation not in self.relations:
            must = f"have the relation {shorten(relation)}, which the model hears"
            raise must_be("The graph", must, listed([*self.relations]))
        return self.relations[relation].propagator(gamma)

    def uniform_elsewhere(self, logs: np.ndarray) -> np.ndarray:
        """log B [..., n, c] with the uniform belief for kinds of nodes that are not predicted."""
        if self.graph.kinds is not None:
            logs[..., ~self.graph.predicted, :] = -np.log(logs.shape[-1])
        return logs

    @cached_property
    def own(self) -> Any:
        """X with a mean row norm of 1; missing values as 0."""
        return _divided(self.graph.features, self.basis.norm)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """[n, d]: X itself where it is narrow, else its principal coordinates; mean norm 1."""
        V = self.basis.directions
        if V is None:
            return dense(self.own)
        return np.asarray((self.own @ V) / np.float32(self.basis.coordinate_norm))

    @property
    def personalised(self) -> np.ndarray:
        """Coordinates smoothed by personalised PageRank."""
        return self._kept("personalised", lambda: self._smooth(col.personalised))

    @property
    def smoothed(self) -> np.ndarray:
        """Ã² of the coordinates, the input of SGC."""
        return self._kept("smoothed", lambda: self._smooth(partial(col.powered, steps=2)))

    def _smooth(self, how: Callable[..., np.ndarray]) -> np.ndarray:
        return np.float32(SMOOTH_SCALE) * how(self.A, self.coordinates)

    def _kept(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """A block of columns, made once where it is small enough to be kept."""
        if name not in self._small:
            Z = make()
            if Z.size > MOST_KEPT:
                return Z
            self._small[name] = Z
        return self._small[name]

    def fitted(self) -> None:
        """Lets go of the largest blocks: only a fit reads them more than once."""
        for name in [name for name, Z in self._small.items() if Z.size > MOST_AFTER]:
            del self._small[name]

    @cached_property
    def _small(self) -> dict[str, np.ndarray]:
        return {}

    @cached_property
    def rows(self) -> sp.csr_array:
        """[n, nodes of the fit]: the rows of D^-½ A, as far as they lead to nodes of the fit."""
        return self._to_known(edges(self.A).propagator(HALF))

    @cached_property
    def weighed_rows(self) -> sp.csr_array:
        """The same with weights for what is shared: see `derived.weighed_near`."""
        W = self.A if self._weighed is None else self._weighed
        return self._to_known(edges(W).propagator(HALF))

    @cached_property
    def all_rows(self) -> sp.csr_array:
        """The same of all edges, those to other kinds of nodes too."""
        return self._to_known(edges(self.graph.adjacency).propagator(HALF))

    @cached_property
    def paths(self) -> sp.csr_array:
        """P + P O P O, P = D^-½ A of all edges, O: columns of other kinds; rows of predicted nodes.

        Beside who is an edge away, what is two edges away through other kinds: an author's venues,
        by way of papers.
        """
        P = edges(self.graph.adjacency).propagator(HALF)
        return self._to_known(leading_on(P, self.graph.predicted))

    def _to_known(self, P: sp.csr_array) -> sp.csr_array:
        if np.array_equal(self.known, np.arange(self.num_known)):
            return P
        columns = self.known[P.indices]
        seen = columns >= 0
        starts = np.concatenate([[0], np.cumsum(seen)])[P.indptr]
        shape = (P.shape[0], self.num_known)
        return sp.csr_array((P.data[seen], columns[seen], starts), shape=shape)

    @cached_property
    def words(self) -> sp.csr_array:
        return sp.csr_array(sp.csr_array(self.graph.features)[:, self.basis.words])

    @property
    def columns(self) -> np.ndarray:
        """[n, d]: the shape of the graph, own columns and their means over one and two hops.

        What is missing is NaN. Categories are their 0/1 columns: on generated tables that had a
        smaller honest loss than native splits had.
        """
        return self._kept("columns", self._columns)

    def _columns(self) -> np.ndarray:
        X: Any = self.graph.features
        if X is None:
            assert self.basis.places is not None
            V = np.where(self.known[:, None] >= 0, self.basis.places[self.known], 0)
            return np.concatenate([self.structure, col.with_self(self.A) @ V], axis=1)
        read = self.basis.read_by_trees(X.shape[1])
        if read is None:
            Z = self.coordinates[:, :TREE_COLUMNS]
        else:
            Z = np.array(dense(X[:, read]), dtype=np.float32)
            if self.graph.mixed is not None:
                Z[self.graph.mixed.gaps[:, read].nonzero()] = np.nan
        blocks = [self.structure, *col.hops(self.A, Z)]
        del Z
        return beside(blocks)

    @property
    def structure(self) -> np.ndarray:
        """[n, 7]; of a graph that is part of a larger one, as it is there."""
        return np.asarray(self.graph.once(STRUCTURE_KEY, lambda: col.structure(self.A)))


def beside(blocks: list[np.ndarray]) -> np.ndarray:
    """Their columns as one; each block is let go once it is copied, for nodes can be many."""
    width = sum(block.shape[1] for block in blocks)
    joined, at = np.empty((len(blocks[0]), width), dtype=np.result_type(*blocks)), 0
    while blocks:
        block = blocks.pop(0)
        joined[:, at : at + block.shape[1]] = block
        at += block.shape[1]
    return joined


def _divided(X: Any, norm: float) -> Any:
    if sp.issparse(X):
        scaled = (X.data / np.float32(norm)).astype(np.float32)
        return sp.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
    return np.nan_to_num(np.asarray(X, dtype=np.float32)) / np.float32(norm)


def _mean_norm(values: np.ndarray, n: int) -> float:
    return float(np.sqrt(max(float(np.square(values, dtype=np.float64).sum()) / n, 1e-12)))

"""The priors that `auto` tries on a graph, each with what it reads and what it may cost.

    mlp       MLP on the node's own columns
    trees     boosted trees on own columns (16 principal coordinates where there are many), their
              means over one and two hops, and the shape of the graph around the node
    words     boosted trees on a sparse X itself
    link      MLP on the node's row of D^-½ A
    smoothed  MLP on Ã² X (`sgc`) and on X smoothed by personalised PageRank (`ppr`)
    together  own MLP and H̄ trained end to end in log-odds, γ = ½, edges and two hops

Where there are no features, `trees` read the shape of the graph and 16 principal coordinates of Ã,
`link` is as above, and

    spread    known labels, spread by personalised PageRank (nothing is fitted)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.cross_fitting import Worlds
from cpgnn.priors.trees import Boosting, fit_trees
from cpgnn.relations import Relation, edges, two_hops
from portfolio import columns as col
from portfolio.end_to_end import EndToEnd, Together, fit_end_to_end
from portfolio.networks import Descent, fit_networks

HALF = 0.5
FLOOR = -12.0
"""No belief is surer than e^-12: one prior must not be able to outshout all others."""
SMOOTH_SCALE = 4.0
"""Rows of smoothed inputs have this norm on average: Adam's steps then reach the optimum soon."""
WORDS = 500
"""Columns of a sparse X that trees read as they are."""
TREE_COLUMNS, NARROW = 16, 128
"""Principal coordinates that trees read, own and of each hop, of an X with over 128 columns."""


@dataclass(eq=False)
class Inputs:
    """What priors read of a graph, each made once and only when asked for."""

    adjacency: sp.csr_array
    features: Any
    """Scaled as the library scales them; None, [n, F] dense or CSR."""
    worlds: Worlds
    seed: int = 0
    max_two_hops: int = 20_000_000

    @cached_property
    def A(self) -> sp.csr_array:
        return sp.csr_array(self.adjacency, dtype=np.float32)

    @cached_property
    def edges(self) -> Relation:
        return edges(self.A)

    @cached_property
    def two_hops(self) -> Relation | None:
        return two_hops(self.A, self.max_two_hops)

    @cached_property
    def own(self) -> Any:
        """X with a mean row norm of 1; missing values as 0."""
        X = self.features
        if sp.issparse(X):
            X = sp.csr_array(X, dtype=np.float32)
            norm = np.sqrt(max(float((X.data**2).sum()) / X.shape[0], 1e-12))
            return sp.csr_array((X.data / np.float32(norm), X.indices, X.indptr), shape=X.shape)
        X = np.nan_to_num(np.asarray(X, dtype=np.float32))
        return X / np.float32(np.sqrt(max((X**2).sum() / X.shape[0], 1e-12)))

    @cached_property
    def coordinates(self) -> np.ndarray:
        cost = len(self.worlds.judged) * 32 * self.worlds.num_worlds
        dimension = col.WIDEST if cost * col.WIDEST <= MAX_EPOCH else col.WIDEST // 2
        Z = col.reduced(self.own, dimension, seed=self.seed)
        return Z / np.float32(np.sqrt(max((Z**2).sum() / Z.shape[0], 1e-12)))

    @cached_property
    def shape(self) -> np.ndarray:
        return col.structure(self.A)

    @cached_property
    def places(self) -> np.ndarray:
        """[n, 16]: principal coordinates of Ã, where in the graph a node is."""
        return col.reduced(col.with_self(self.A), TREE_COLUMNS, seed=self.seed)

    def spread(self) -> np.ndarray:
        w = self.worlds
        logs = [
            col.spread_labels(self.A, w.fits(f), w.labels, w.num_classes)
            for f in range(w.num_worlds)
        ]
        return np.stack(logs)

    @cached_property
    def link_rows(self) -> sp.csr_array:
        return self.edges.propagator(HALF)

    @cached_property
    def together_propagators(self) -> list[sp.csr_array]:
        found = [self.edges.propagator(HALF)]
        far = self.two_hops
        if far is not None and far.matrix.nnz <= MAX_TOGETHER_TWO_HOPS:
            found.append(far.propagator(HALF))
        return found

    @cached_property
    def words(self) -> sp.csr_array:
        """The columns of a sparse X whose presence varies most, WORDS at most."""
        X = sp.csr_array(self.features)
        share = np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0]
        kept = np.sort(np.argsort(-share * (1 - share), kind="stable")[:WORDS])
        return sp.csr_array(X[:, kept])

    @cached_property
    def tree_columns(self) -> np.ndarray:
        """[n, d]: the shape of the graph, own columns, and their means over one and two hops."""
        X = self.features
        if X is None:
            return np.concatenate([self.shape, self.places], axis=1)
        if X.shape[1] <= NARROW:
            Z = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
        else:
            Z = self.coordinates[:, :TREE_COLUMNS]
        return np.concatenate([self.shape, *col.hops(self.A, Z)], axis=1)


@dataclass(frozen=True, eq=False)
class Member:
    """A prior with its log-beliefs in every world and its cost."""

    name: str
    logs: np.ndarray
    cpu: float
    loss: float
    accuracy: float
    parts: EndToEnd | None = None
    """What of its beliefs is the node's own and what its neighbours', where it hears them."""


MAX_LINK_NODES = 300_000
"""Beyond this the weights of LINK, 32 a node and world, outgrow the graph."""
MAX_EPOCH = 250_000_000
"""Multiplications of X with the weights of all worlds, an epoch: what a network may cost."""
MAX_TOGETHER_TWO_HOPS = 1_000_000
"""Entries of "two hops" up to which `together` hears it too."""


def width(entries: int, copies: int) -> int:
    """Hidden units a network can afford: 64, 32, or 0 (none: it is left out)."""
    return next((h for h in (64, 32) if entries * h * copies <= MAX_EPOCH), 0)


def makers(x: Inputs) -> dict[str, Callable[[], np.ndarray | EndToEnd]]:
    """The affordable priors of this graph, in the order in which they are fitted."""
    w = x.worlds
    net = Descent(hidden=32, seed=x.seed)
    link = Descent(hidden=32, weight_decay=2e-3, seed=x.seed)
    made: dict[str, Callable[[], np.ndarray | EndToEnd]] = {}
    made["trees"] = lambda: fit_trees(x.tree_columns, w, Boosting(seed=x.seed))[1]
    if x.A.shape[0] <= MAX_LINK_NODES:
        made["link"] = lambda: fit_networks([x.link_rows], w, link)
    if x.features is None:
        made["spread"] = x.spread
        return made
    entries = x.own.nnz if sp.issparse(x.own) else x.own.size
    wide = width(entries, w.num_worlds)
    if wide:
        how = Together(Descent(hidden=wide, weight_decay=1e-3, seed=x.seed))
        made["together"] = lambda: fit_end_to_end([x.own], x.together_propagators, w, how)
    share = len(w.judged) / x.A.shape[0]
    narrow = width(int(entries * share), w.num_worlds)
    if narrow:
        own_net = Descent(hidden=narrow, seed=x.seed)
        made["mlp"] = lambda: fit_networks([x.own], w, own_net)
    if sp.issparse(x.features):
        made["words"] = lambda: fit_trees(x.words, w, Boosting(seed=x.seed))[1]
    scale = np.float32(SMOOTH_SCALE)
    made["ppr"] = lambda: fit_networks([scale * col.personalised(x.A, x.coordinates)], w, net)
    made["sgc"] = lambda: fit_networks([scale * col.powered(x.A, x.coordinates, 2)], w, net)
    return made


def fit_members(x: Inputs, names: list[str] | None = None) -> list[Member]:
    members = []
    for name, make in makers(x).items():
        if names is not None and name not in names:
            continue
        start = time.process_time()
        made = make()
        parts = made if isinstance(made, EndToEnd) else None
        logs = made.logs if isinstance(made, EndToEnd) else np.maximum(made, FLOOR)
        cpu = time.process_time() - start
        own = x.worlds.honest(logs)
        y = x.worlds.labels[x.worlds.judged]
        loss = float(-own[np.arange(len(y)), y].mean())
        accuracy = float((own.argmax(1) == y).mean())
        members.append(Member(name, logs, cpu, loss, accuracy, parts))
    return members

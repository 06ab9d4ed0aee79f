"""The own part of a node in pieces: what each column, neighbour or label adds to each prior."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from cpgnn.blend.blend import Said
from cpgnn.explanation.attribution import (
    cheby_terms,
    network_slopes,
    sampled_shapley,
    through_softmax,
)
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.priors import ChebyPrior, LinkPrior, MLPPrior
from cpgnn.priors import columns as col
from cpgnn.priors.inputs import ROWS, SMOOTH_SCALE, TREE_COLUMNS, Inputs
from cpgnn.priors.members import (
    EstimatorPrior,
    NetworkPrior,
    Prior,
    SpreadPrior,
    TogetherPrior,
    TreesPrior,
    estimated,
    own_columns,
)
from cpgnn.priors.network import Network

OWN, AROUND, SHAPE, PLACE = "own", "neighbourhood", "shape", "place"
NEIGHBOURS, SHARING, LABELS, START = "neighbours", "sharing", "labels", "start"
TOGETHER = ""
"""The name of all columns of a source, where they cannot be told apart."""
BLOCK = 1 << 24
"""Weights of nodes on other nodes that are held at a time."""
BACKGROUND = 256


@dataclass(frozen=True, eq=False)
class Piece:
    """m terms of one source."""

    source: str
    names: list[str]
    """[m]: of features, of columns on the shape of the graph, of neighbours; or `TOGETHER`."""
    terms: np.ndarray
    """[m, c]"""
    errors: np.ndarray | None = None
    """Standard errors of terms that were sampled, [m]."""

    def times(self, w: float) -> Piece:
        errors = None if self.errors is None else w * self.errors
        return replace(self, terms=w * self.terms, errors=errors)


def blend_pieces(
    said: Said, where: np.ndarray, fitted_ids: np.ndarray
) -> Iterator[dict[str, list[Piece]]]:
    """For each node at `where`, the pieces of every part of `Said.own_parts`.

    fitted_ids: names of the nodes of the fit, which the list of neighbours is a list of.
    """
    stage, reader = said.blend.stage, _Reader(said.inputs, fitted_ids)
    predicted = said.inputs.graph.predicted
    for block in np.array_split(where, max(1, len(where) * said.inputs.graph.num_nodes // BLOCK)):
        found: list[dict[str, list[Piece]]] = [{"base": [whole(START, stage.b)]} for _ in block]
        for m, (prior, w) in enumerate(zip(said.blend.priors, stage.w, strict=True)):
            if w:
                own = said.own_part(m, block)
                for i, pieces in enumerate(reader.pieces(prior, block, own)):
                    if not predicted[block[i]]:  # a kind of nodes of which nothing is believed
                        pieces = [whole(START, own[i])]
                    of = found[i].setdefault(prior.name, [])
                    of += [piece.times(float(w)) for piece in pieces]
        yield from found


def whole(source: str, terms: np.ndarray) -> Piece:
    """One term for all there is."""
    return Piece(source, [TOGETHER], np.asarray(terms, np.float64)[None])


class _Reader:
    """Takes priors apart, as they read a graph's inputs."""

    def __init__(self, x: Inputs, fitted_ids: np.ndarray) -> None:
        self.x, self.ids = x, fitted_ids
        self.features = feature_names(x.graph)

    def pieces(self, prior: Prior, block: np.ndarray, said: np.ndarray) -> Iterator[list[Piece]]:
        """Of each node; they sum to what the prior `said` [s, c] by itself."""
        if isinstance(prior, TreesPrior):
            rows = getattr(self.x, prior.reads)[block]
            names = self.columns if prior.reads == "columns" else self.words
            for phi in prior.trees.contributions(rows):
                yield [*_grouped(*names, phi[:, :-1].T), _start(phi[:, -1], phi.sum(axis=1))]
        elif isinstance(prior, NetworkPrior) and prior.reads in ("personalised", "smoothed"):
            yield from self._smoothed(prior, block)
        elif isinstance(prior, NetworkPrior):
            listed, rows = prior.reads in ROWS, getattr(self.x, prior.reads)
            for v in block:
                at, values = row_of(rows, v)
                piece, start = self._network(prior.network, OWN, at, values, listed)
                pieces = self._by_adjacency(piece, v) if listed else [piece]
                yield [*pieces, _start(start, start + piece.terms.sum(axis=0))]
        elif isinstance(prior, TogetherPrior):
            for v, log_B in zip(block, said, strict=True):
                piece, start = self._network(prior.made.network, OWN, *row_of(self.x.own, v))
                total = start + piece.terms.sum(axis=0)
                yield [piece, whole(START, start + (log_B - total).mean())]
        elif isinstance(prior, EstimatorPrior):
            yield from self._sampled(prior, block)
        else:
            source = LABELS if isinstance(prior, SpreadPrior) else OWN
            yield from ([whole(source, log_B)] for log_B in said)

    @property
    def columns(self) -> tuple[np.ndarray, list[str]]:
        """Source and name of each of `Inputs.columns`."""
        basis = self.x.basis
        if basis.places is not None:
            d = basis.places.shape[1]
            sources, named = [PLACE] * d, [TOGETHER] * d
        else:
            read = basis.read_by_trees(len(self.features))
            own = [TOGETHER] * TREE_COLUMNS if read is None else [self.features[j] for j in read]
            sources, named = [OWN] * len(own) + [AROUND] * 2 * len(own), own * 3
        return _objects([SHAPE] * len(col.STRUCTURE) + sources), [*col.STRUCTURE, *named]

    @property
    def words(self) -> tuple[np.ndarray, list[str]]:
        words = self.x.basis.words
        assert words is not None
        return _objects([OWN] * len(words)), [self.features[j] for j in words]

    def _network(
        self, network: Network, source: str, at: np.ndarray, values: np.ndarray, nodes: bool = False
    ) -> tuple[Piece, np.ndarray]:
        """The terms of one row, given by its entries that are not 0, and what it starts from.

        nodes: its columns are nodes of the fit, not features.
        """
        slopes, start = network_slopes(replace(network, W=network.W[at]), values)
        names = self.ids if nodes else self.features
        return Piece(source, [str(names[j]) for j in at], values[:, None] * slopes), start

    def _by_adjacency(self, piece: Piece, v: int) -> Iterator[Piece]:
        """The terms of the neighbours of a node, and of those that share a neighbour with it."""
        graph = self.x.graph
        known = {str(graph.node_ids[u]) for u in row_of(graph.adjacency, v)[0]}
        sources = [NEIGHBOURS if name in known else SHARING for name in piece.names]
        return _grouped(_objects(sources), piece.names, piece.terms)

    def _smoothed(self, prior: NetworkPrior, block: np.ndarray) -> Iterator[list[Piece]]:
        """Smoothed columns are sums over nodes: those of the node itself, those around it."""
        x, V = self.x, self.x.basis.directions
        E = np.zeros((x.graph.num_nodes, len(block)), dtype=np.float32)
        E[block, np.arange(len(block))] = SMOOTH_SCALE
        smooth = prior.reads == "personalised"
        weights = col.personalised(x.A, E) if smooth else col.powered(x.A, E, 2)
        scale = 1.0 if V is None else 1 / x.basis.coordinate_norm
        everyone = np.asarray(x.own.T @ weights, np.float64) * scale
        for i, v in enumerate(block):
            row = everyone[:, i]
            slopes, start = network_slopes(prior.network, row if V is None else row @ V)
            slopes = slopes if V is None else V @ slopes
            at, own = row_of(x.own, v)
            mine = np.zeros(len(row))
            mine[at] = own * weights[v, i] * scale
            pieces = [
                _nonzero(source, self.features, values[:, None] * slopes)
                for source, values in ((OWN, mine), (AROUND, row - mine))
            ]
            yield [*pieces, _start(start, start + row @ slopes)]

    def _sampled(self, prior: EstimatorPrior, block: np.ndarray) -> Iterator[list[Piece]]:
        X = own_columns(self.x)
        known = np.flatnonzero(self.x.labels >= 0)
        known = known if len(known) else np.arange(X.shape[0])
        background = X[known[np.linspace(0, len(known) - 1, BACKGROUND).astype(int)]]
        names = (_objects([OWN] * len(self.features)), self.features)
        names = self.columns if self.x.graph.features is None else names
        for v in block:
            phi, start, errors = sampled_shapley(
                lambda rows: estimated(prior.estimator, rows, prior.num_classes),
                X[[v]],
                background,
            )
            yield [*_grouped(*names, phi, errors.max(axis=1)), whole(START, start)]


def prior_pieces(
    network: CPGNN, graph: Graph, where: np.ndarray, own: np.ndarray
) -> Iterator[list[Piece]]:
    """For each node at `where`, the pieces of the prior term `own` [s, c] of the paper's model: of
    the prior's probabilities, or of its logits where num_layers is 0."""
    prior, c = network.prior, network.num_classes
    names = feature_names(graph)
    X: Any = graph.features
    for v, term in zip(where, own, strict=True):
        if isinstance(prior, ChebyPrior):
            mine, others = cheby_terms(prior, graph, v)
            if X is None:
                pieces = [whole(PLACE, mine[v]), whole(AROUND, others.sum(axis=0))]
            else:
                pieces = [_nonzero(OWN, names, mine), _nonzero(AROUND, names, others)]
        elif isinstance(prior, MLPPrior | LinkPrior):
            pieces = _rows(prior, graph, v, names)
        else:  # somebody's own network: nothing is known of its inside
            yield [whole(OWN, term)]
            continue
        if network.num_layers:
            total = sum((piece.terms.sum(axis=0) for piece in pieces), np.zeros(c))
            pieces = [replace(p, terms=through_softmax(p.terms, total)) for p in pieces]
            pieces.append(whole(START, np.full(c, 1 / c)))
        yield pieces


def _rows(prior: MLPPrior | LinkPrior, graph: Graph, v: int, names: list[str]) -> list[Piece]:
    """R = relu(x W₁ + a W_A) W₂ of one node, a its row of A (LINK only)."""
    blocks = []
    if prior.W_1 is not None:
        source, named, at, values = PLACE, [TOGETHER], np.array([v]), np.ones(1)
        if graph.features is not None:
            at, values = row_of(graph.features, v)
            source, named = OWN, [names[j] for j in at]
        blocks.append((source, named, values, prior.W_1.double().numpy(force=True)[at]))
    if isinstance(prior, LinkPrior):
        at, values = row_of(graph.adjacency, v)
        named = [str(graph.node_ids[j]) for j in at]
        blocks.append((NEIGHBOURS, named, values, prior.W_A.double().numpy(force=True)[at]))
    W = np.concatenate([block[3] for block in blocks])
    W_2 = prior.W_2.double().numpy(force=True)
    network = Network(W, np.zeros(W.shape[1]), W_2, np.zeros(W_2.shape[1]))
    values = np.concatenate([block[2] for block in blocks])
    slopes, _ = network_slopes(network, values)
    cut = len(blocks[0][1])
    terms = np.split(values[:, None] * slopes, [cut])
    return [Piece(b[0], b[1], terms[i]) for i, b in enumerate(blocks)]


def feature_names(graph: Graph) -> list[str]:
    return list(graph.feature_names or [f"feature {i}" for i in range(graph.num_features or 0)])


def row_of(X: Any, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the entries of a row that are not 0, and these entries in float64."""
    if sp.issparse(X):
        part = slice(X.indptr[v], X.indptr[v + 1])
        return X.indices[part], X.data[part].astype(np.float64)
    at = np.flatnonzero(X[v])
    return at, X[v, at].astype(np.float64)


def _start(terms: np.ndarray, logits: np.ndarray) -> Piece:
    """What all nodes start from, and the log-softmax, which is the same for every class."""
    return whole(START, terms - logsumexp(logits))


def _nonzero(source: str, names: Any, terms: np.ndarray) -> Piece:
    """Of terms [F, c], one for each column, those that say something."""
    at = np.flatnonzero(terms.any(axis=1))
    return Piece(source, [str(names[j]) for j in at], terms[at])


def _grouped(
    sources: np.ndarray, names: list[str], terms: np.ndarray, errors: np.ndarray | None = None
) -> Iterator[Piece]:
    for source in dict.fromkeys(sources):
        at = np.flatnonzero(sources == source)
        kept = None if errors is None else errors[at]
        yield Piece(source, [names[j] for j in at], terms[at], kept)


def _objects(texts: list[str]) -> np.ndarray:
    return np.array(texts, dtype=object)

"""`explain`: why nodes got their classes, for many nodes in one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cpgnn.blend.blend import Blend, Said
from cpgnn.classifier import CPGNNClassifier
from cpgnn.compatibility import edge_frequency, enhanced_belief
from cpgnn.engine.arrays import labels_of
from cpgnn.engine.inputs import evaluating, logits_of
from cpgnn.engine.text import listed, shorten
from cpgnn.errors import check_count, must_be, wrong_value
from cpgnn.evaluation.calibration import AS_THEY_ARE
from cpgnn.evaluation.prediction import Prediction
from cpgnn.explanation.explanation import PRIOR, Explanation
from cpgnn.explanation.features import Features, Typical, features_of
from cpgnn.explanation.pieces import Piece, blend_pieces, prior_pieces
from cpgnn.explanation.walks import Walks, split_walks
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.propagation import prior_belief
from cpgnn.relations.derived import counted, is_far, with_columns_of_others

MOST_FAR = 1_000_000
"""Terms of nodes two hops away that are told one by one at most."""


def explain(
    model: CPGNNClassifier | CPGNN,
    graph: Graph | None = None,
    nodes: Any = None,
    *,
    features: int = 0,
) -> Explanation:
    """The logits of `nodes` (ids; None: all predicted ones) as exact sums, by prior and neighbours.

    Of a blend: own part + one term for every neighbour, see `Blend`. Of the paper's model:
    logits_v = 1/c + B̄^(0)_v + Σ_u M_vu B̄^(K-1)_u H̄, where M is A or its normalisation. The prior
    term is 1/c + B̄^(0)_v, the prior's probabilities. For K > 1 the walks that start at v and come
    back are taken out of the terms of its neighbours and shown separately (see `walks`). If K is 0,
    there is only the prior, and its term holds its logits.

    `model` is a fitted classifier, which knows its graph and scales features itself, or a bare
    `CPGNN` with the graph as it is fed to it: features already scaled. A bare model brings no
    `edge_frequency_`; it is then estimated from its predictions.

    `features`: how many columns of each node are told one by one; 0, and nothing is taken apart
    further than the priors.
    """
    check_count("features", features, least=0)
    if isinstance(model, CPGNNClassifier):
        given = _fitted(model, graph)
    elif isinstance(model, CPGNN):
        given = _bare(model, graph)
    else:
        must = "be a fitted CPGNNClassifier or a CPGNN"
        raise wrong_value("model", must, type(model).__name__)
    made, labels = given.prediction, given.labels
    ids = made.graph.node_ids.to_numpy()
    where = _asked_for(made.graph, nodes)
    known = np.flatnonzero(np.isin(given.used_for, ["train", "val"]) & (labels >= 0))
    asked = made.graph.predicted
    degrees = np.where(asked, made.graph.degrees, 0)
    ends = degrees @ enhanced_belief(made.probabilities, labels, known)
    terms = _walked(given, where) if made.said is None else _blended(made.said, where)
    neighbours = terms.pop("neighbours")
    terms["looks_like"] = np.where(asked[neighbours], terms["looks_like"], -1)
    if features:
        terms["features"] = _features(given, terms, where, features)
    return Explanation(
        node_ids=ids[where],
        class_names=given.class_names,
        logits=made.logits[where],
        probabilities=made.probabilities[where],
        labels=labels[where],
        used_for=given.used_for[where],
        neighbours=ids[neighbours],
        neighbour_labels=labels[neighbours],
        edge_frequency=given.edge_frequency,
        edge_share=edge_share(ends, given.edge_frequency),
        counted=counted(made.graph),
        nothing_known=made.nothing_known[where],
        **terms,
    )


def explain_features(
    model: CPGNNClassifier | CPGNN, nodes: Any = None, *, graph: Graph | None = None, top: int = 5
) -> Features:
    """What the own parts of `nodes` (ids; all nodes if None) rest on, the `top` weightiest columns
    of each and some more; see `Features`. The same as `explain(…, features=top).features`."""
    check_count("top", top, least=1)
    made = explain(model, graph, nodes, features=top).features
    assert made is not None
    return made


def _asked_for(graph: Graph, nodes: Any) -> np.ndarray:
    """Positions of the nodes to explain, all by default; those of other kinds have no class."""
    if nodes is None:
        return np.flatnonzero(graph.predicted)
    where = graph.positions(nodes)
    other = where[~graph.predicted[where]]
    if graph.kinds is not None and len(other):
        node, kinds = shorten(str(graph.node_ids[other[0]])), graph.kinds
        having = listed(sorted({kinds.names[code] for code in kinds.codes[graph.predicted]}))
        must = f"be of the kind that has classes, {having}"
        raise must_be(f"Node {node}", must, kinds.names[kinds.codes[other[0]]])
    return where


def _walked(given: _Given, where: np.ndarray) -> dict[str, Any]:
    """The terms of the paper's model."""
    network, scaled = given.network, given.prediction.scaled
    assert network is not None
    walks = _walks(network, scaled, where)
    return {
        "prior": walks.own,
        "returning": walks.returning,
        "pointer": walks.pointer,
        "neighbours": walks.neighbours,
        "weights": scaled.adjacency[where].data[: len(walks.neighbours)],
        "contributions": walks.arriving,
        "looks_like": walks.beliefs.argmax(axis=1),
        "prior_kind": getattr(network.prior, "kind", "custom"),
        "num_layers": network.num_layers,
        "normalization": network.normalization,
    }


def _blended(said: Said, where: np.ndarray) -> dict[str, Any]:
    """The terms of a blend: own part, one for every neighbour, those two hops away.

    The latter one by one up to MOST_FAR terms in all, else in one sum for each node.
    """
    s = len(where)
    far = np.zeros((s, said.blend.num_classes))
    found = []
    for relation in dict.fromkeys(one.relation for one in said.heard):
        entries = int(np.diff(said.inputs.relations[relation].matrix.indptr)[where].sum())
        if is_far(relation) and entries > MOST_FAR:
            far += said.sums(where, relation)
            continue
        rows, terms = said.terms(where, relation)
        owner = np.repeat(np.arange(s), np.diff(rows.indptr))
        names = np.full(len(terms), relation, dtype=object)
        found.append((owner, rows.indices, names, rows.data, terms))
    owner, *columns = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    neighbours, relations, weights, terms = (column[order] for column in columns)
    parts = said.own_parts(where)
    own = sum(parts.values(), np.zeros((s, 1)))
    return {
        "prior": own,
        "returning": np.zeros_like(own),
        "pointer": np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=s))]),
        "neighbours": neighbours,
        "weights": weights,
        "contributions": terms,
        "looks_like": said.beliefs[neighbours].argmax(axis=1),
        "prior_kind": "blend",
        "num_layers": 1,
        "normalization": "none",
        "parts": parts,
        "relations": relations,
        "far": far if far.any() else None,
    }


def _features(given: _Given, terms: dict[str, Any], where: np.ndarray, top: int) -> Features:
    model = given.classifier
    said, shape = given.prediction.said, None
    pieces: Iterable[dict[str, list[Piece]]]
    if said is None:
        assert given.network is not None
        parts = {PRIOR: terms["prior"]}
        made = prior_pieces(given.network, given.prediction.scaled, where, terms["prior"])
        pieces = ({PRIOR: one} for one in made)
    else:
        parts = terms["parts"]
        assert model is not None
        pieces = blend_pieces(said, where, model.node_ids_)
        shape = said.inputs.structure if any(p.name == "trees" for p in said.blend.priors) else None
    fitted: Graph | None = getattr(model, "graph_", None)
    taught = None
    if model is not None and fitted is not None:
        taught = labels_of(fitted.labels, model.split_.train)
    graph = given.prediction.graph
    if said is not None:
        read = _as_read(said.blend, graph)
        fitted = read if fitted is graph else fitted and _as_read(said.blend, fitted)
        graph = read
    typical = Typical(graph, given.class_names, fitted, taught, shape)
    return features_of(pieces, parts, typical, where, top)


def _as_read(blend: Blend, graph: Graph) -> Graph:
    """The graph with what its nodes have of columns that only other kinds have."""
    read = with_columns_of_others(blend.edge_weights(graph))
    return replace(graph, features=read.features, mixed=read.mixed)


def edge_share(ends: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Of all edges, the share that leads to each class: the s with s F = s, a mean of F's rows.

    `ends` [c], the expected edge ends of each class, is where the search begins. It decides alone
    where F [c, c] is not known, and between the classes that no edge joins.
    """
    if not ends.sum():
        return np.full(len(ends), np.nan)
    share = ends / ends.sum()
    if np.isnan(F).any():
        return share
    M = (np.eye(len(F)) + F) / 2  # lazy, so that its powers converge where F's alternate
    for _ in range(50):
        M = M @ M
        M /= M.sum(axis=1, keepdims=True)
    return np.asarray(share @ M)


@dataclass(frozen=True, eq=False)
class _Given:
    """A model, what it says about a graph, and what is known of the fit."""

    network: CPGNN | None
    """None for a blend."""
    prediction: Prediction
    class_names: tuple[str, ...]
    labels: np.ndarray
    """Index into `class_names`, -1 = unknown."""
    used_for: np.ndarray
    """"train", "val", "test" or ""."""
    edge_frequency: np.ndarray
    classifier: CPGNNClassifier | None = None
    """Where it is one, and not a bare network."""


def _fitted(model: CPGNNClassifier, graph: Graph | None) -> _Given:
    prediction = model.prediction(graph)
    graph, names = prediction.graph, tuple(str(name) for name in model.classes_)
    index = {name: i for i, name in enumerate(names)}
    own = np.array([*(index.get(str(name), -1) for name in graph.class_names), -1])
    used_for = np.full(graph.num_nodes, "", dtype=object)
    if graph.fingerprint() == model.nodes_:  # the nodes of the fit
        used_for = model.split_.used_for(graph.num_nodes)
    network = model.model_ if isinstance(model.model_, CPGNN) else None
    labels = own[graph.labels]
    return _Given(network, prediction, names, labels, used_for, model.edge_frequency_, model)


def _bare(network: CPGNN, graph: Graph | None) -> _Given:
    if graph is None:
        raise wrong_value("graph", "be given with a bare CPGNN", "None")
    n, names = graph.num_nodes, tuple(str(name) for name in graph.class_names)
    made = Prediction(
        graph, graph, logits_of(network, graph), np.zeros(n, dtype=bool), None, AS_THEY_ARE
    )
    F = edge_frequency(graph.adjacency, made.probabilities)
    return _Given(network, made, names, graph.labels, np.full(n, "", dtype=object), F)


def _walks(network: CPGNN, graph: Graph, where: np.ndarray) -> Walks:
    """The terms of the logits; `own` has the 1/c that turns beliefs into probabilities."""
    with evaluating(network):
        R = network.prior_logits(network.view(graph))
    if network.num_layers == 0:
        own = R.double().numpy(force=True)[where]
        pointer, nobody = np.zeros(len(own) + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        return Walks(pointer, nobody, own, np.zeros_like(own), own[:0], own[:0])
    B_0 = (prior_belief(R) - 1 / network.num_classes).double().numpy(force=True)
    H_bar = network.H_bar.double().numpy(force=True)
    M = graph.matrix(network.normalization)
    walks = split_walks(M, B_0, H_bar, network.num_layers, where)
    return replace(walks, own=walks.own + 1 / network.num_classes)

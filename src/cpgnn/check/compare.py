"""Does the graph help? The same labels with and without it, compared on the same nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from cpgnn.architecture import Architecture
from cpgnn.check.columns import dealt
from cpgnn.classifier import Begin
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import BeliefOverflowError
from cpgnn.evaluation.metrics import Scored, difference, share
from cpgnn.graph import Graph
from cpgnn.selection.auto import MAX_LINK_NODES
from cpgnn.settings import Settings
from cpgnn.splits import Split, stratified_split
from cpgnn.training import train

FOLDS = 3
LEAST_LABELS = 30
MOST_LABELS = 6000
"""More labelled nodes than this are not needed to tell whether the graph helps."""
MOST_FIELD, MOST_VALUES = 200_000, 2_000_000
"""Edges of the labelled nodes, and feature values of them and their neighbours, that training may
touch: seconds. Labels are left out until it does, and so are nodes with a tenth of the edges."""
MARGIN = 0.01
"""A difference must be surely larger than this. On random edges CPGNN may come out a little
ahead, since it trains its prior in another way: that is not the graph's merit."""
SHORT = Settings(pretrain_epochs=100, epochs=200, patience=100)


@dataclass(frozen=True)
class Comparison:
    """Accuracy with and without the graph on nodes that neither model has seen."""

    without: str
    """What stands for "without the graph": "MLP" or "largest class"."""
    accuracy_without: Scored
    accuracy_with: Scored
    difference: Scored
    """With minus without, on the same nodes."""

    @property
    def verdict(self) -> str:
        if self.difference.low > MARGIN:
            return "the graph helps"
        return "the graph hurts" if self.difference.high < -MARGIN else "no clear difference"

    def to_dict(self) -> dict[str, Any]:
        return {
            "without": self.without,
            "accuracy_without": self.accuracy_without.as_dict(),
            "accuracy_with": self.accuracy_with.as_dict(),
            "difference": self.difference.as_dict(),
            "verdict": self.verdict,
            "interval": "95 %: Wilson for accuracies, Bonett and Price for the difference; on the "
            f"labelled nodes, each held out once in {FOLDS} folds, of the models trained here",
        }


def compare(
    graph: Graph, labelled: np.ndarray, *, seed: int = 0, begin: Begin | None = None
) -> Comparison | str:
    """CPGNN against an MLP on the same features; without features, against the largest class.

    `labelled` are the nodes whose labels may be looked at. They are dealt into three parts of
    equal mix; each part is predicted by models trained and validated on the other two. Training
    is short and touches only the neighbourhood of the labels. Returns the reason, in words, where
    there is nothing to compare.
    """
    if graph.features is None and graph.num_nodes > MAX_LINK_NODES:
        return f"without features, a model of more than {MAX_LINK_NODES:,} nodes takes too long"
    rng = np.random.default_rng(seed)
    nodes = _affordable(graph, rng.permutation(labelled)[:MOST_LABELS])
    if len(nodes) < LEAST_LABELS or len(np.unique(graph.labels[nodes])) < 2:
        return f"it needs at least {LEAST_LABELS} labels of two classes; there are {len(nodes)}"
    scaled = FeatureScaler.fit(graph)(graph)
    fold = dealt(graph.labels[nodes], FOLDS, rng)
    hits = np.zeros((2, len(nodes)), dtype=bool)
    for k in range(FOLDS):
        split = _split(graph, nodes[fold != k], seed)
        held_out = nodes[fold == k]
        y = graph.labels[held_out]
        try:
            with_graph = _predicted(scaled, split, held_out, 1, seed, begin)
        except BeliefOverflowError:
            return "training with the graph overflowed; try cpgnn fit with --normalization sym"
        if graph.features is None:
            without = np.full(len(y), np.bincount(graph.labels[nodes[fold != k]]).argmax())
        else:
            without = _predicted(scaled, split, held_out, 0, seed, begin)
        hits[0, fold == k], hits[1, fold == k] = without == y, with_graph == y
    name = "largest class" if graph.features is None else "MLP"
    n = len(nodes)
    return Comparison(
        name,
        share(int(hits[0].sum()), n),
        share(int(hits[1].sum()), n),
        difference(hits[1], hits[0]),
    )


def _affordable(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """As many of these nodes, in their order, as training can afford."""
    degrees = np.diff(graph.adjacency.indptr)
    nodes = nodes[degrees[nodes] <= MOST_FIELD // 10]
    reach = np.cumsum(degrees[nodes] + 1)
    X: Any = graph.features
    values = 1 if X is None else (X.nnz if sp.issparse(X) else X.size) / graph.num_nodes
    few = (reach <= MOST_FIELD) & (np.minimum(reach, graph.num_nodes) * values <= MOST_VALUES)
    return np.sort(nodes[few])


def _split(graph: Graph, nodes: np.ndarray, seed: int) -> Split:
    known = np.full(graph.num_nodes, -1)
    known[nodes] = graph.labels[nodes]
    return stratified_split(known, validation=0.2, seed=seed)


def _predicted(
    graph: Graph,
    split: Split,
    nodes: np.ndarray,
    num_layers: int,
    seed: int,
    begin: Begin | None,
) -> np.ndarray:
    name = "with the graph" if num_layers else "without it"
    observe = begin(name, SHORT.pretrain_epochs + SHORT.epochs) if begin else None
    model = Architecture("mlp", num_layers).build(graph, seed=seed)
    train(model, graph, split, SHORT, seed=seed, observe=observe)
    with torch.no_grad():
        logits = model(model.view(graph).of(nodes))
    return np.asarray(logits.argmax(dim=1).cpu().numpy())

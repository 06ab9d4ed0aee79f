"""Does the graph help? What `fit` would try, briefly, beside a model without the graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from cpgnn.check.columns import dealt
from cpgnn.engine.arrays import labels_of, num_stored
from cpgnn.engine.loop import Begin, Observer, expect
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import BeliefOverflowError, NumericalNotice, advise
from cpgnn.evaluation.metrics import Scored, evaluate, rank_scores
from cpgnn.evaluation.without_graph import WithoutGraph, graph_blind_proba
from cpgnn.graph import Graph
from cpgnn.model import CPGNN, Architecture
from cpgnn.selection.auto import MAX_LINK_NODES, candidates
from cpgnn.settings import Settings
from cpgnn.splits import Split, stratified_split
from cpgnn.training import train

FOLDS = 3
FEW, REPEATS = 200, 3
"""With fewer labels than this, the folds are dealt so many times."""
LEAST_LABELS, LEAST_POSITIVES = 30, 6
MOST_LABELS = 6000
"""More labelled nodes than this are not needed to tell whether the graph helps."""
MOST_FIELD, MOST_VALUES = 200_000, 2_000_000
"""Edges of the labelled nodes, and feature values of them and their neighbours, that training may
touch: seconds. Labels are left out until it does, and so are nodes with a tenth of the edges."""
MOST_EDGES = 20_000
"""In a larger graph, the Chebyshev prior is not tried and folds are dealt once."""
MARGIN = 0.01
"""A difference must be surely larger than this where nothing else shows that the graph speaks. On
random edges CPGNN may come out a little ahead, since it trains its prior in another way: that is
not the graph's merit."""
SHORT = Settings(pretrain_epochs=100, epochs=200, patience=100)


@dataclass(frozen=True)
class Comparison:
    """Scores with and without the graph on nodes that neither model has seen."""

    without: str
    """What stands for "without the graph": "MLP" or "largest class"."""
    score_without: Scored
    score_with: Scored
    difference: Scored
    """With minus without, on the same nodes."""
    nodes: int
    """How many that is."""
    model: str
    """What was chosen most often with the graph."""
    graph_speaks: bool = False
    """Whether the test of independence says that the graph tells something about the classes."""
    repeats: int = 1
    positive: str | None = None
    """The class that is looked for: scores are its average precision, else accuracy."""
    chance: float | None = None
    """Average precision of a random order: the share of that class."""

    @property
    def score(self) -> str:
        return "accuracy" if self.positive is None else "average precision"

    @property
    def verdict(self) -> str:
        if self.difference.low > (0 if self.graph_speaks else MARGIN):
            return "the graph helps"
        if self.difference.high < -MARGIN:
            return "the graph hurts"
        if self.graph_speaks:
            return "the graph says something, but brief training shows no clear gain from it"
        return "no clear difference"

    def to_dict(self) -> dict[str, Any]:
        ranked = self.positive is not None
        key = self.score.replace(" ", "_")
        return {
            "without": self.without,
            "with": self.model,
            f"{key}_without": self.score_without.as_dict(),
            f"{key}_with": self.score_with.as_dict(),
            **({"positive": self.positive, "chance": self.chance} if ranked else {}),
            "nodes": self.nodes,
            "difference": self.difference.as_dict(),
            "verdict": self.verdict,
            "interval": f"95 %: Wilson for the scores; {'MOVER' if ranked else 'Bonett and Price'} "
            f"for the difference on the same labelled nodes, each held out {self.held_out}, of the "
            "models trained here",
        }

    @property
    def held_out(self) -> str:
        times = "once" if self.repeats == 1 else f"{self.repeats} times"
        return f"{times} in {FOLDS} folds"


def compare(
    graph: Graph,
    labelled: np.ndarray,
    *,
    positive: int | None = None,
    graph_speaks: bool = False,
    seed: int = 0,
    begin: Begin | None = None,
) -> Comparison | str:
    """What `fit` would try against an MLP on the same features; without features, against the
    largest class. Judged by accuracy, or by the average precision of the class `positive`.

    `labelled` are the nodes whose labels may be looked at. They are dealt into three parts of equal
    mix; each part is predicted by models trained and validated on the other two. For each part, the
    prior and layers are those that predict the other two parts best. Training is short and touches
    only the neighbourhood of the labels. Returns the reason, in words, where there is nothing to
    compare.
    """
    if graph.features is None and graph.num_nodes > MAX_LINK_NODES:
        return f"without features, a model with more than {MAX_LINK_NODES:,} nodes takes too long"
    rng = np.random.default_rng(seed)
    nodes = _affordable(graph, rng.permutation(labelled)[:MOST_LABELS])
    y = graph.labels[nodes]
    if len(nodes) < LEAST_LABELS:
        total = int((graph.labels >= 0).sum())
        tested = total - len(labelled)
        there = f"there are {len(nodes):,}" if len(nodes) else "there is none"
        rest = f" ({total:,} in all, {tested:,} of them kept for the test)" if tested else ""
        beside = " besides those kept for the test" if tested else ""
        return f"it needs at least {LEAST_LABELS} labelled nodes{beside}; {there}{rest}"
    if len(np.unique(y)) < 2:
        return "it needs labels of two classes"
    if positive is not None and (y == positive).sum() < LEAST_POSITIVES:
        name = graph.class_names[positive]
        return f"it needs at least {LEAST_POSITIVES} labels of the class {str(name)!r}"
    settings = SHORT
    if positive is not None:
        settings = SHORT.but(select_by="average_precision", positive=positive)
    scaled = FeatureScaler.fit(graph)(graph)
    repeats = REPEATS if len(nodes) < FEW and graph.num_edges <= MOST_EDGES else 1
    folds = np.stack([dealt(y, FOLDS, rng) for _ in range(repeats)])
    entries = _entries(scaled, _split(graph, nodes, seed))
    c = graph.num_classes
    P = np.full((len(entries), repeats, len(nodes), c), np.nan)
    blind = np.empty((repeats, len(nodes), c))
    expect(begin, repeats * FOLDS * (len(entries) + (graph.features is not None)))
    for r, k in np.ndindex(repeats, FOLDS):
        out = folds[r] == k
        split = _split(graph, nodes[~out], seed + r)
        for e, entry in enumerate(entries):
            model = entry.build(scaled, seed=seed + r)
            observe = begin(f"with the graph: {entry}", _budget()) if begin else None
            P[e, r, out] = _probabilities(model, scaled, split, nodes[out], settings, seed, observe)
        blind[r, out] = np.bincount(y[~out], minlength=c) / (~out).sum()
        if graph.features is not None:
            longer = settings.but(pretrain_epochs=_budget())  # as long as with the graph
            observe = begin("without it", _budget()) if begin else None
            everywhere = graph_blind_proba(scaled, split, longer, seed=seed + r, observe=observe)
            blind[r, out] = everywhere[nodes[out]]
    kept = np.flatnonzero(np.isfinite(P).all(axis=(1, 2, 3)))
    if not len(kept):
        return advise("training with the graph overflowed; try to fit with {}", normalization="sym")
    P = P[kept]
    chosen = np.empty((repeats, len(nodes)), dtype=np.int64)
    for r, k in np.ndindex(repeats, FOLDS):
        out = folds[r] == k
        chosen[r, out] = np.argmax([_score(p[:, ~out], y[~out], positive) for p in P])
    ours = np.take_along_axis(P, chosen[None, :, :, None], axis=0)[0]
    names = [str(name) for name in graph.class_names]
    test = evaluate(ours, y, names, positive=positive)
    other = WithoutGraph.of(blind, ours, y, positive=positive)
    scores = other.accuracy, test.accuracy, other.gain
    if other.average_precision and test.average_precision and other.average_precision_gain:
        scores = other.average_precision, test.average_precision, other.average_precision_gain
    return Comparison(
        "largest class" if graph.features is None else "MLP",
        *scores,
        nodes=len(nodes),
        model=str(entries[kept[np.bincount(chosen.ravel()).argmax()]]),
        graph_speaks=graph_speaks,
        repeats=repeats,
        positive=test.positive,
        chance=test.chance.value if test.chance else None,
    )


def _score(P: np.ndarray, y: np.ndarray, positive: int | None) -> float:
    """Of predictions [r, m, c]."""
    if positive is None:
        return float((P.argmax(axis=2) == y).mean())
    return float(rank_scores(P[:, :, positive], y == positive)["average_precision"].value)


def _affordable(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """As many of these nodes, in their order, as training can afford."""
    degrees = np.diff(graph.adjacency.indptr)
    nodes = nodes[degrees[nodes] <= MOST_FIELD // 10]
    reach = np.cumsum(degrees[nodes] + 1)
    values = num_stored(graph.features) / max(graph.num_nodes, 1) or 1
    few = (reach <= MOST_FIELD) & (np.minimum(reach, graph.num_nodes) * values <= MOST_VALUES)
    return np.sort(nodes[few])


def _entries(graph: Graph, split: Split) -> list[Architecture]:
    """What `fit` would try, but for dropout and what takes long in a large graph."""
    return [
        entry
        for entry in candidates(graph, split, Architecture())
        if entry.dropout == 0
        and (entry.prior != "cheby" or graph.num_edges <= MOST_EDGES)
        and (entry.num_layers == 1 or graph.num_edges <= MOST_FIELD)
    ]


def _split(graph: Graph, nodes: np.ndarray, seed: int) -> Split:
    return stratified_split(labels_of(graph.labels, nodes), validation=0.2, seed=seed)


def _probabilities(
    model: CPGNN,
    graph: Graph,
    split: Split,
    nodes: np.ndarray,
    settings: Settings,
    seed: int,
    observe: Observer | None,
) -> np.ndarray:
    """[m, c] for these nodes; NaN where beliefs overflowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalNotice)
        try:
            record = train(model, graph, split, settings, seed=seed, observe=observe)
        except BeliefOverflowError:
            return np.full((len(nodes), graph.num_classes), np.nan)
    model.num_layers = record.num_layers
    with torch.no_grad():
        logits = model(model.view(graph).of(nodes))
    return torch.softmax(logits.double(), dim=1).cpu().numpy()


def _budget() -> int:
    return SHORT.pretrain_epochs + SHORT.epochs

"""Does the graph help? What `fit` would fit, briefly, with the edges and without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.check.columns import dealt
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.arrays import num_stored
from cpgnn.engine.loop import Begin, expect
from cpgnn.engine.records import plain
from cpgnn.evaluation.metrics import Scored, evaluate
from cpgnn.evaluation.part import part_of, without_edges
from cpgnn.evaluation.without_graph import WithoutGraph
from cpgnn.graph import Graph
from cpgnn.splits import Split

FOLDS = 3
REPEATED_BELOW, REPEATS = 200, 3
"""With fewer labels than this, the folds are dealt so many times."""
LEAST_LABELS, LEAST_POSITIVES = 30, 6
MOST_LABELS = 6000
"""More labelled nodes than this are not needed to tell whether the graph helps."""
MOST_EDGES, MOST_VALUES = 100_000, 2_000_000
"""A graph with more edges or feature values than this is cut down to labelled nodes and their
neighbours. Labels are left out until that part is as small."""
MARGIN = 0.01
"""A difference must be surely larger than this where nothing else shows that the graph speaks: the
interval does not know how much another training would change."""
SAME_WITHOUT, LARGEST_CLASS = "the same model without edges", "the largest class"


@dataclass(frozen=True)
class Comparison:
    """Scores with and without the graph on nodes that neither model has seen."""

    without: str
    """What stands for "without the graph"."""
    score_without: Scored
    score_with: Scored
    difference: Scored
    """With minus without, on the same nodes."""
    nodes: int
    """How many that is."""
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
        made = {
            "without": self.without,
            f"{key}_without": self.score_without,
            f"{key}_with": self.score_with,
            **({"positive": self.positive, "chance": self.chance} if ranked else {}),
            "nodes": self.nodes,
            "difference": self.difference,
            "verdict": self.verdict,
            "interval": f"95 %: Wilson for the scores; {'MOVER' if ranked else 'Bonett and Price'} "
            f"for the difference on the same labelled nodes, each held out {self.held_out}, of the "
            "models trained here",
        }
        return dict(plain(made))

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
    """The default model, fitted briefly, against the same without edges; without features, against
    the largest class. Judged by accuracy, or by the average precision of the class `positive`.

    `labelled` are the nodes whose labels may be looked at. They are dealt into three parts of equal
    mix; each part is predicted by models that learned from the other two. Returns the reason, in
    words, where there is nothing to compare.
    """
    rng = np.random.default_rng(seed)
    nodes = _affordable(graph, rng.permutation(labelled)[:MOST_LABELS])
    y = graph.labels[nodes]
    if lacking := _lacking(graph, y, len(labelled), positive):
        return lacking
    part, nodes = _around(graph, nodes)
    alone = None if part.features is None else without_edges(part)
    repeats = REPEATS if len(nodes) < REPEATED_BELOW else 1
    ours = np.empty((repeats, len(nodes), graph.num_classes))
    blind = np.empty_like(ours)
    expect(begin, repeats * FOLDS)
    for r in range(repeats):
        folds = dealt(y, FOLDS, rng)
        for k in range(FOLDS):
            if begin is not None:
                begin("with and without the graph", 1)
            out = folds == k
            split = Split(nodes[~out], nodes[:0], nodes[:0])
            ours[r, out] = _probabilities(part, split, positive, seed + r)[nodes[out]]
            blind[r, out] = np.bincount(y[~out], minlength=graph.num_classes) / (~out).sum()
            if alone is not None:
                blind[r, out] = _probabilities(alone, split, positive, seed + r)[nodes[out]]
    names = [str(name) for name in graph.class_names]
    test = evaluate(ours, y, names, positive=positive)
    other = WithoutGraph.of(blind, ours, y, positive=positive)
    scores = other.accuracy, test.accuracy, other.gain
    if other.average_precision and test.average_precision and other.average_precision_gain:
        scores = other.average_precision, test.average_precision, other.average_precision_gain
    return Comparison(
        LARGEST_CLASS if alone is None else SAME_WITHOUT,
        *scores,
        nodes=len(nodes),
        graph_speaks=graph_speaks,
        repeats=repeats,
        positive=test.positive,
        chance=test.chance.value if test.chance else None,
    )


def _lacking(graph: Graph, y: np.ndarray, visible: int, positive: int | None) -> str:
    """Why these labels, out of `visible` ones, are not enough; "" if they are."""
    if len(y) < LEAST_LABELS:
        total = int((graph.labels >= 0).sum())
        tested = total - visible
        there = f"there are {len(y):,}" if len(y) else "there is none"
        rest = f" ({total:,} in all, {tested:,} of them kept for the test)" if tested else ""
        beside = " besides those kept for the test" if tested else ""
        return f"it needs at least {LEAST_LABELS} labelled nodes{beside}; {there}{rest}"
    if len(np.unique(y)) < 2:
        return "it needs labels of two classes"
    if positive is not None and (y == positive).sum() < LEAST_POSITIVES:
        name = graph.class_names[positive]
        return f"it needs at least {LEAST_POSITIVES} labels of the class {str(name)!r}"
    return ""


def _probabilities(graph: Graph, split: Split, positive: int | None, seed: int) -> np.ndarray:
    """Of all nodes [n, c], by the default model."""
    model = CPGNNClassifier(budget="fast", seed=seed)
    if positive is not None:
        name = graph.class_names[positive]
        model.set_params(select_by="average_precision", positive=name)
    return model.fit(graph, split=split).prediction().probabilities


def _affordable(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """As many of these nodes, in their order, as training can afford; none with a tenth of all."""
    if _small(graph):
        return np.sort(nodes)
    degrees = graph.num_neighbours
    nodes = nodes[degrees[nodes] <= MOST_EDGES // 10]
    reach = np.cumsum(degrees[nodes] + 1)
    few = (reach <= MOST_EDGES) & (
        np.minimum(reach, graph.num_nodes) * _values(graph) <= MOST_VALUES
    )
    return np.sort(nodes[few])


def _small(graph: Graph) -> bool:
    return graph.num_edges <= MOST_EDGES and graph.num_nodes * _values(graph) <= MOST_VALUES


def _values(graph: Graph) -> float:
    """Feature values of a node, on average."""
    return num_stored(graph.features) / max(graph.num_nodes, 1) or 1


def _around(graph: Graph, nodes: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Of a large graph, these nodes, their neighbours and the edges between; and where they are."""
    if _small(graph):
        return graph, nodes
    near = np.unique(np.concatenate([nodes, graph.adjacency[nodes].indices]))
    chosen = np.isin(near, nodes)

    def cut(matrix: sp.csr_array) -> sp.csr_array:
        M = matrix[near][:, near].tocoo()
        kept = chosen[M.row] | chosen[M.col]
        where = (M.row[kept].astype(np.int32), M.col[kept].astype(np.int32))
        return sp.csr_array((M.data[kept], where), shape=M.shape)

    return part_of(graph, near, cut), np.searchsorted(near, nodes)

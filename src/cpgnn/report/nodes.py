"""What the search box of a report knows about each node, small enough for one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.classifier import CPGNNClassifier
from cpgnn.errors import InputError
from cpgnn.explanation.contributions import explain
from cpgnn.explanation.explanation import Explanation
from cpgnn.report.packing import packed, packed_texts, quantised, smallest_index
from cpgnn.report.suspects import reasons

TOP = 5
"""Neighbours shown for each node; the others are shown together."""
CLASSES = 6
"""Probabilities shown for each node, most probable first; the others are shown together."""
MOST = 20_000
"""Nodes that are explained for a page at most."""
MOST_DEEP = 2_000
"""The same for three and more layers, whose walks take long to take apart."""
BUDGET = 1_750_000
"""Bytes of the page that nodes may take; beyond it, the least interesting ones are left out."""
PARTS = ("", "train", "val", "test")


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Rows for the nodes at `shown` (positions, most interesting first), ready to be packed."""

    ids: list[str]
    """Of the shown nodes, then of neighbours that are mentioned but not shown themselves."""
    predicted: np.ndarray
    """Class of every id, as an index."""
    label: np.ndarray
    """[s]: 1 + its index, 0 = unknown."""
    part: np.ndarray
    """[s]: index into PARTS."""
    classes: np.ndarray
    """[s, T]: the most probable classes."""
    probabilities: np.ndarray
    """[s, T] in hundredths of a percent, as predictions.csv has them."""
    neighbours: np.ndarray
    """[s, TOP]: 1 + index into ids, 0 = no more."""
    links: np.ndarray
    """[s]: which of these neighbours are joined, a bit for each pair (see `links_between`)."""
    degree: np.ndarray
    """[s]: neighbours in all."""
    terms: np.ndarray
    """[s, 3 + TOP]: what speaks for the class rather than for the second most probable one:
    own prior, walks that return, the neighbours above, the other neighbours together."""
    words: list[str]

    def packed(self) -> dict[str, Any]:
        whole = ("predicted", "label", "part", "classes", "probabilities", "neighbours", "links")
        made = {name: packed(smallest_index(getattr(self, name))) for name in (*whole, "degree")}
        numbers, scale = quantised(self.terms)
        return made | {
            "shown": len(self.words),
            "ids": packed_texts(self.ids),
            "terms": packed(numbers),
            "scale": packed(scale),
            "words": packed_texts(self.words),
            "top": self.neighbours.shape[1],
            "perNode": self.classes.shape[1],
        }


def node_data(classifier: CPGNNClassifier, P: np.ndarray, first: np.ndarray) -> dict[str, Any]:
    """Packed rows of as many nodes as fit: those at `first`, test nodes, then the least certain;
    none of kinds that are not predicted."""
    predicted = classifier.graph_.predicted
    n = int(predicted.sum())
    shown = by_interest(P, first, classifier.split_.test)
    shown = shown[predicted[shown]][: MOST if classifier.num_layers_ < 3 else MOST_DEEP]
    words: list[str] = []
    while len(shown):
        try:
            table = node_table(classifier, P, shown, words)
        except InputError:  # too many walks come back to these nodes: explain fewer
            shown = shown[: len(shown) // 4]
            continue
        data, words = {**table.packed(), "all": n}, table.words
        size = len(json.dumps(data))
        if size <= BUDGET:
            return data
        shown = shown[: int(0.95 * len(shown) * BUDGET / size)]
    return {"shown": 0, "all": n}


def by_interest(P: np.ndarray, first: np.ndarray, test: np.ndarray) -> np.ndarray:
    """All positions: `first`, then the test nodes, then the others; least certain ones first."""
    rank = np.full(len(P), 2)
    rank[test] = 1
    rank[first] = 0
    return np.lexsort((P.max(axis=1), rank))


def node_table(
    classifier: CPGNNClassifier, P: np.ndarray, shown: np.ndarray, words: Sequence[str] = ()
) -> NodeTable:
    """Everything about the nodes at `shown`; P [n, c] as in predictions.csv.

    words: those of the first nodes, as far as they are known.
    """
    graph, split, s = classifier.graph_, classifier.split_, len(shown)
    explanation = explain(classifier, None, graph.node_ids.to_numpy()[shown])
    picked, terms = strongest(explanation, TOP)
    where = graph.positions(explanation.neighbours[picked[picked >= 0]])
    place = np.full(graph.num_nodes, -1)
    place[shown] = np.arange(s)
    mentioned = np.unique(where[place[where] < 0])
    place[mentioned] = s + np.arange(len(mentioned))
    neighbours = np.zeros(picked.shape, dtype=np.int64)
    neighbours[picked >= 0] = 1 + place[where]
    near = np.full(picked.shape, -1)
    near[picked >= 0] = where
    part = np.zeros(graph.num_nodes, dtype=np.int64)
    part[split.train], part[split.val], part[split.test] = 1, 2, 3
    listed = np.concatenate([shown, mentioned])
    classes = np.argsort(-P[shown], axis=1, kind="stable")[:, :CLASSES]
    names = graph.node_ids.astype(str).to_numpy()
    return NodeTable(
        ids=names[listed].tolist(),
        predicted=np.where(graph.predicted, P.argmax(axis=1), P.shape[1])[listed],
        label=graph.labels[shown] + 1,
        part=part[shown],
        classes=classes,
        probabilities=np.rint(1e4 * np.take_along_axis(P[shown], classes, axis=1)),
        neighbours=neighbours,
        links=links_between(graph.adjacency, near),
        degree=np.diff(explanation.pointer),
        terms=terms,
        words=[*words[:s], *(reasons(explanation, i) for i in range(len(words), s))],
    )


def links_between(A: sp.csr_array, near: np.ndarray) -> np.ndarray:
    """[s]: of the nodes in each row of `near` [s, m] (-1 = none), which pairs are joined by A.

    Bit k is the k-th pair of (0, 1), (0, 2), …, (1, 2), …
    """
    made = np.zeros(len(near), dtype=np.int64)
    for bit, (a, b) in enumerate(combinations(range(near.shape[1]), 2)):
        both = np.flatnonzero((near[:, a] >= 0) & (near[:, b] >= 0))
        if len(both):
            joined = np.asarray(A[near[both, a], near[both, b]]).ravel() != 0
            made[both[joined]] |= 1 << bit
    return made


def strongest(of: Explanation, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the `top` neighbours of each node that say most, [s, top], -1 = no more; and what
    there is to say: own prior, walks that return, those neighbours, all the others, [s, 3 + top].
    """
    owner, s, everyone = of.owner, len(of), np.arange(len(of))
    margin = of.margin(of.contributions, owner)
    order = np.lexsort((-np.abs(margin), owner))
    rank = np.arange(len(order)) - of.pointer[owner[order]]
    first = rank < top
    picked = np.full((s, top), -1)
    picked[owner[order[first]], rank[first]] = order[first]
    rest = order[~first]
    others = np.bincount(owner[rest], margin[rest], minlength=s)
    if of.far is not None:
        others = others + of.margin(of.far, everyone)
    through = np.where(picked >= 0, np.append(margin, 0.0)[picked], 0.0)
    own, returning = of.margin(of.prior, everyone), of.margin(of.returning, everyone)
    return picked, np.column_stack([own, returning, through, others])

"""What the report says of labels: do edges follow them, which are doubtful, which to ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cpgnn.check.independence import Independence
from cpgnn.doubt.labels import but_missed, review_labels
from cpgnn.doubt.suggest import suggest
from cpgnn.engine.formatting import percent
from cpgnn.run.run import Run

LISTED = 10
"""Labels and nodes that are listed at most."""
LARGE = 20_000
"""Nodes from which on the lists are left to the commands, which can take their time."""
DEALS = 499
"""Ways to deal the labels that are tried; `check` tries more."""


@dataclass(frozen=True)
class Labels:
    """The section about labels; a list that has nothing to say is empty."""

    speaks: str
    """Whether the classes depend on the edges, in words."""
    doubtful: tuple[tuple[str, ...], ...]
    """Node, its label, the class it rather looks like, how likely that is."""
    contradicted: int
    """How many labels are doubtful in all."""
    model_wrong: str
    """Of which classes so many are contradicted that none is listed, in words."""
    asked: tuple[tuple[str, str], ...]
    """Node, and why its label would teach most."""

    def __bool__(self) -> bool:
        return bool(self.speaks or self.doubtful or self.asked)


def labels(run: Run) -> Labels:
    """The lists of a run on a large graph, or that would take further training, stay empty."""
    graph, fitted = run.graph, run.classifier
    known = np.concatenate([fitted.split_.train, fitted.split_.val])
    found = Independence.of(graph, known, deals=DEALS)
    doubtful, asked, contradicted, model_wrong = [], [], 0, ""
    if graph.num_nodes < LARGE and fitted.out_of_fold() is not None:
        table, model_wrong = but_missed(review_labels(fitted), graph)
        contradicted = len(table)
        columns = (table[name][:LISTED] for name in ("id", "label", "suggested", "p_suggested"))
        for node, label, suggested, p in zip(*columns, strict=True):
            doubtful.append((str(node), str(label), str(suggested), percent(p, 0)))
    if graph.num_nodes < LARGE and graph.unlabelled.any():
        table = suggest(fitted, LISTED)
        asked = [(str(node), str(why)) for node, why in zip(table["id"], table["why"], strict=True)]
    return Labels(str(found or ""), tuple(doubtful), contradicted, model_wrong, tuple(asked))

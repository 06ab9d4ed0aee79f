"""What the edges are worth: a model on the same split that sees the features, never the graph.

For a blend it is the same blend on the same nodes without edges, since a gain over any weaker model
would not be the graph's merit. For the paper's models it is the MLP that they start from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cpgnn.engine.inputs import logits_of
from cpgnn.engine.loop import Observer
from cpgnn.engine.records import plain
from cpgnn.evaluation.calibration import softmax
from cpgnn.evaluation.metrics import (
    Scored,
    difference,
    gain_in_average_precision,
    rank_scores,
    share,
)
from cpgnn.graph import Graph
from cpgnn.model import Architecture
from cpgnn.settings import Settings
from cpgnn.splits import Split
from cpgnn.training import train


@dataclass(frozen=True)
class WithoutGraph:
    """Scores of that model, and how much better the model with the graph is on the same nodes."""

    accuracy: Scored
    gain: Scored
    """In accuracy."""
    average_precision: Scored | None = None
    average_precision_gain: Scored | None = None
    precision_at: dict[int, Scored] | None = None
    threshold: dict[str, Scored] | None = None
    """Precision and recall at a threshold chosen as the model's own is."""

    @classmethod
    def of(
        cls,
        blind: np.ndarray,
        P: np.ndarray,
        labels: np.ndarray,
        *,
        positive: int | None = None,
    ) -> WithoutGraph:
        """From the probabilities of both, [t, c] or [repeats, t, c], and the labels [t]."""
        right, other = P.argmax(axis=-1) == labels, blind.argmax(axis=-1) == labels
        accuracy = share(float(other.mean() * len(labels)), len(labels))
        gain = difference(right, other)
        if positive is None or not 0 < (labels == positive).sum() < len(labels):
            return cls(accuracy, gain)
        ours, theirs = (np.atleast_2d(p[..., positive]) for p in (P, blind))
        ranking = rank_scores(theirs, labels == positive)
        return cls(
            accuracy,
            gain,
            ranking["average_precision"],
            gain_in_average_precision(ours, theirs, labels == positive),
            ranking["precision_at"],
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; scores that there are none of are left out."""
        return {name: scores for name, scores in plain(self).items() if scores is not None}


def graph_blind_proba(
    graph: Graph,
    split: Split,
    settings: Settings,
    *,
    hidden: int = 64,
    dropout: float = 0.0,
    seed: int = 0,
    observe: Observer | None = None,
) -> np.ndarray:
    """Probabilities [n, c] of an MLP trained as the first phase of CPGNN trains its prior.

    The same layers, epochs, weight decay and choice of the epoch: for the MLP prior this is what
    phase 2 starts from. The graph must have features; they are taken as they are (scale them with
    `FeatureScaler` first).
    """
    model = Architecture("mlp", 0, hidden=hidden, dropout=dropout).build(graph, seed=seed)
    train(model, graph, split, settings.but(epochs=0), seed=seed, observe=observe)
    return softmax(logits_of(model, graph))

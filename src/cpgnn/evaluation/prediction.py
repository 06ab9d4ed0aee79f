"""What a fitted model says about a graph: computed once, read by everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cpgnn.blend.blend import Said
from cpgnn.engine.inputs import logits_of
from cpgnn.engine.scaling import match_names
from cpgnn.engine.text import count
from cpgnn.errors import BeliefOverflowError, Message, NotInductiveError, advise
from cpgnn.evaluation.calibration import softmax
from cpgnn.graph import Graph
from cpgnn.model import CPGNN, Architecture


@dataclass(frozen=True, eq=False)
class Prediction:
    """Logits and probabilities of n nodes."""

    graph: Graph
    """Features in the order of the fit."""
    scaled: Graph
    """The same as the network was fed with it."""
    logits: np.ndarray
    """[n, c]: of a blend; or B̄^(K) + 1/c, the prior's where K is 0."""
    nothing_known: np.ndarray
    """[n]: nodes without edges and features, of which the model cannot know a thing."""
    class_shares: np.ndarray | None
    """[c], of the training labels: the probabilities of those nodes."""
    temperature: float
    said: Said | None = None
    """Of a blend: what its logits are made of."""

    @cached_property
    def probabilities(self) -> np.ndarray:
        """softmax(logits / T), float64 [n, c]; the class shares where nothing is known."""
        P = softmax(self.logits, self.temperature)
        P[self.nothing_known] = self.class_shares
        return P


def finite_logits(model: CPGNN, scaled: Graph) -> np.ndarray:
    """One forward pass over all nodes, [n, c]."""
    logits = logits_of(model, scaled)
    if lost := int((~np.isfinite(logits)).any(axis=1).sum()):
        raise BeliefOverflowError(
            Message(
                f"Beliefs of {count(lost, 'node')} must be finite. Got infinite ones with "
                f"K = {model.num_layers}. ",
                advise("Try {}, or fewer layers.", normalization=("sym", "row")),
            )
        )
    return logits


def nothing_known(
    scaled: Graph, said: Said | None, architecture: Architecture | None, train: np.ndarray
) -> np.ndarray:
    """[n]: nodes without an edge whose features, as the network sees them, are 0 or not there.

    The built-in networks have no biases: for such a node they say the same as for every other. Not
    the training nodes, where the model knows these by heart; and nobody with a prior of the
    caller's own.
    """
    alone = scaled.num_neighbours == 0
    X: Any = scaled.features
    if X is not None and alone.any():
        alone &= ~np.asarray((X != 0).sum(axis=1), dtype=bool).ravel()
    if said is not None:
        alone &= said.inputs.labels < 0
    elif architecture is None:
        alone[:] = False
    elif X is None and architecture.prior != "link":
        alone[train] = False
    return alone


def strangers(why: str, graph: Graph) -> NotInductiveError:
    """Nodes that a model with "no features", say, cannot know."""
    return NotInductiveError(
        Message(
            f"A model fitted with {why} knows its nodes by position and cannot predict nodes it "
            f"has not seen. Got a graph of {graph.num_nodes:,} nodes that are not the fitted "
            "ones. ",
            advise(
                "Try features with {}, or fit again with the new nodes.", prior=("mlp", "cheby")
            ),
        )
    )


def in_order(graph: Graph, wanted: Sequence[str] | None) -> Graph:
    """The graph with its features in the order of the fit, where both name them."""
    given = graph.feature_names
    if wanted is None or given is None or tuple(wanted) == given:
        return graph
    X: Any = graph.features
    order, _ = match_names(wanted, given)
    mixed = None if graph.mixed is None else graph.mixed.reordered(order)
    return replace(graph, features=X[:, order], feature_names=tuple(wanted), mixed=mixed)

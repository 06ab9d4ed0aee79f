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
from cpgnn.evaluation.calibration import Scaling, softmax
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
    scaling: Scaling
    said: Said | None = None
    """Of a blend: what its logits are made of."""

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Of the scaled logits, float64 [n, c]; the class shares where nothing is known."""
        P = softmax(self.logits, *self.scaling)
        P[self.nothing_known] = self.class_shares
        return P


def finite_logits(model: CPGNN, scaled: Graph) -> np.ndarray:
    """One forward pass over all nodes, [n, c]."""
    logits = logits_of(model, scaled)
    if lost := int((~np.isfinite(logits)).any(axis=1).sum()):
        nodes, K = count(lost, "node"), model.num_layers
        text = f"Beliefs of {nodes} must be finite. Got infinite ones with K = {K}. "
        hint = advise("Try {}, or fewer layers.", normalization=("sym", "row"))
        raise BeliefOverflowError(Message(text, hint))
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
    text = (
        f"A model fitted with {why} knows its nodes by position and cannot predict nodes it has "
        f"not seen. Got a graph of {graph.num_nodes:,} nodes that are not the fitted ones. "
    )
    hint = "Try features with {}, or fit again with the new nodes."
    return NotInductiveError(Message(text, advise(hint, prior=("mlp", "cheby"))))


def as_in_fit(graph: Graph, wanted: Sequence[str] | None, fitted: Graph | None) -> Graph:
    """A later graph with its features in the order of the fit, where both name them, and asking
    for the kind of nodes that had labels there."""
    return _asking(in_order(graph, wanted), fitted)


def _asking(graph: Graph, fitted: Graph | None) -> Graph:
    before, now = None if fitted is None else fitted.kinds, graph.kinds
    if fitted is None or before is None or now is None:
        return graph
    wanted = tuple(before.names[code] for code in np.unique(before.codes[fitted.predicted]))
    asking = replace(now, asked=wanted)
    if (asking.labelled(graph.labels) == graph.predicted).all():
        return graph
    return replace(graph, kinds=asking)


def in_order(graph: Graph, wanted: Sequence[str] | None) -> Graph:
    given = graph.feature_names
    if wanted is None or given is None or tuple(wanted) == given:
        return graph
    X: Any = graph.features
    order, _ = match_names(wanted, given)
    mixed = None if graph.mixed is None else graph.mixed.reordered(order)
    return replace(graph, features=X[:, order], feature_names=tuple(wanted), mixed=mixed)

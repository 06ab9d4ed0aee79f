"""Where H̄ starts: from labels and the prior's beliefs, from paths between labels, or at random."""

from __future__ import annotations

import numpy as np
import torch

from cpgnn.compatibility import enhanced_belief, estimate_compatibility, initial_H_bar
from cpgnn.engine.distant import estimate_from_few
from cpgnn.engine.loop import InitialSource, evaluated
from cpgnn.engine.randomness import generator
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.settings import Settings
from cpgnn.splits import Split


def initial_source(graph: Graph, split: Split, settings: Settings) -> InitialSource:
    """Where H̄₀ comes from: chosen by how many labels there are, never by what they are.

    By default H comes from paths between labels where there are no features, so that the prior
    knows nothing of unlabelled neighbours, and fewer edges join two training nodes than there are
    pairs of classes: worth up to 13 points where like joins like (docs/doubt.md). The
    presets of the paper estimate it as the paper does.
    """
    if settings.init_H != "estimate":
        return "random" if settings.init_H == "glorot" else "paths"
    if settings.preset != "default" or graph.features is not None:
        return "beliefs"
    c, known = graph.num_classes, graph.adjacency[split.train][:, split.train]
    return "paths" if known.nnz / 2 < c * (c + 1) / 2 else "beliefs"


def initialise(
    model: CPGNN, graph: Graph, split: Split, settings: Settings, seed: int
) -> np.ndarray | None:
    """Sets H̄ to its start unless it was given; returns the estimate Ĥ it started from."""
    if model.given_H:
        return None
    if settings.init_H == "glorot":
        bound = (6 / (2 * model.num_classes)) ** 0.5
        H_bar = torch.empty(model.num_classes, model.num_classes)
        H_bar.uniform_(-bound, bound, generator=generator(seed))
        estimate = None
    else:
        estimate = estimated_compatibility(model, graph, split, settings)
        H_bar = torch.from_numpy(initial_H_bar(estimate))
    with torch.no_grad():
        model.H_bar.copy_(H_bar)
    return estimate


def estimated_compatibility(
    model: CPGNN, graph: Graph, split: Split, settings: Settings
) -> np.ndarray:
    """Ĥ from the training labels and the prior's beliefs about their neighbours; from paths between
    labels where `initial_source` says so."""
    if initial_source(graph, split, settings) == "paths":
        return estimate_from_few(
            graph.adjacency, graph.labels, split.train, num_classes=graph.num_classes
        )
    field = model.view(graph).of(split.train).wider
    nodes = np.arange(graph.num_nodes) if field.nodes is None else field.nodes
    logits = evaluated(model, model.prior_logits, field)
    B_p = torch.softmax(logits, dim=1).double().numpy(force=True)
    y = np.zeros(len(nodes), dtype=np.int64)
    inside = np.searchsorted(nodes, split.train)
    y[inside] = graph.labels[split.train]
    A = graph.adjacency[split.train][:, nodes].astype(np.float64)
    B_tilde = enhanced_belief(B_p, y, inside)
    return estimate_compatibility(A, B_tilde, y[inside], weighting=settings.weighting)

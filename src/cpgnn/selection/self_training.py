"""A second training with the surest predictions as labels, for graphs with few labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy.special import softmax

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.loop import Observer, Training
from cpgnn.errors import BeliefOverflowError
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.settings import Settings
from cpgnn.splits import Split
from cpgnn.training import train

SHARE = 0.5
"""Of the nodes that are predicted to be of a class, this share, the surest, take it as label."""

MAX_NODES = 50_000
"""Beyond this, training on half of all nodes takes longer than everything before it."""


def surest(P: np.ndarray, nodes: np.ndarray, share: float = SHARE) -> np.ndarray:
    """Of these nodes, the given share of every predicted class whose probability is highest.

    P [n, c]: probabilities.
    """
    predicted, sure = P.argmax(axis=1), P.max(axis=1)
    taken = []
    for c in range(P.shape[1]):
        alike = nodes[predicted[nodes] == c]
        order = np.argsort(-sure[alike], kind="stable")
        taken.append(alike[order[: int(share * len(alike))]])
    return np.concatenate(taken)


def with_guesses(worlds: Worlds, logits: np.ndarray, nodes: np.ndarray) -> Worlds:
    """The worlds with their surest predictions as lessons: of these nodes, as far as a world does
    not know their label. logits [k + 1, n, c].

    Each world guesses, and chooses whom it guesses, for itself: what it does not know of a fold,
    its guesses do not know either, so that beliefs out of fold stay honest. The nodes of that fold
    get guesses like all whose label is unknown: otherwise it would be surer about those than about
    the ones that it is judged by.
    """
    guesses = np.full(logits.shape[:2], -1)
    for f, R in enumerate(logits):
        sure = surest(softmax(R, axis=1), np.setdiff1d(nodes, worlds.fits(f)))
        guesses[f, sure] = R[sure].argmax(axis=1)
    guessed = np.flatnonzero((guesses >= 0).any(axis=0))
    return replace(worlds, guessed=guessed, guesses=guesses[:, guessed])


def self_trained(
    model: CPGNN,
    record: Training,
    fresh: CPGNN,
    graph: Graph,
    split: Split,
    settings: Settings,
    *,
    seed: int = 0,
    observe: Observer | None = None,
) -> tuple[CPGNN, Training, int]:
    """`fresh`, trained with predictions of the trained `model` as labels beside the known ones.

    Nodes outside `split.train` and `split.val` can get one; their own labels are not looked at.
    Returns the model to use, its training and how many labels were predictions: the model given,
    and 0, where the second training scores lower by more than a standard error of that score.
    """
    labelled = np.concatenate([split.train, split.val])
    with torch.no_grad():
        P = torch.softmax(model(graph), dim=1).numpy(force=True)
    taken = surest(P, np.setdiff1d(np.arange(graph.num_nodes), labelled))
    if len(taken) == 0:
        return model, record, 0
    labels = graph.labels.copy()
    labels[taken] = P[taken].argmax(axis=1)
    taught = graph.with_labels(labels, graph.class_names)
    more = Split(np.concatenate([split.train, taken]), split.val)
    try:
        second = train(fresh, taught, more, settings, seed=seed, observe=observe)
    except BeliefOverflowError:
        return model, record, 0
    standard_error = np.sqrt(record.score * (1 - record.score) / len(split.val))
    if second.score < record.score - standard_error:
        return model, record, 0
    return fresh, second, len(taken)

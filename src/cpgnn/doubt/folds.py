"""What a model says of labelled nodes if it has not seen their labels."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.arrays import class_sizes
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.text import count
from cpgnn.errors import must_be
from cpgnn.splits import NOBODY, Split

FOLDS = 5


def as_chosen(fitted: CPGNNClassifier) -> CPGNNClassifier:
    """An unfitted copy that repeats what validation chose: the model, and for how many epochs."""
    kept, architecture = fitted.kept_, fitted.architecture_
    again: CPGNNClassifier = clone(fitted)
    if architecture is not None:
        again.set_params(prior=architecture.prior, num_layers=architecture.num_layers)
    if kept is not None and kept.phase == 1:
        again.set_params(num_layers=0, pretrain_epochs=kept.epoch, epochs=0)
    elif kept is not None:
        again.set_params(epochs=kept.epoch)
    return again


def out_of_fold(
    fitted: CPGNNClassifier,
    among: np.ndarray | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Labelled nodes (all or these) [m], and probabilities [m, c] by models that had not seen
    their labels.

    What the fit kept is used. Otherwise the chosen model is trained once for each fold, on all
    labels outside of it and for the epochs that validation chose: no label is lost to validation,
    so two labels a class are enough. The only node of a class is left out: models that had not seen
    its label know no such class.
    """
    graph = fitted.graph_
    labelled = np.flatnonzero(graph.labels >= 0) if among is None else np.sort(among)
    P = fitted.prediction().probabilities.copy()
    kept = fitted.out_of_fold()
    if kept is not None:
        P[kept[0]] = kept[1]
        unseen = np.union1d(kept[0], np.union1d(fitted.split_.val, fitted.split_.test))
        labelled = np.intersect1d(labelled, unseen)
        return labelled, P[labelled]
    sizes = class_sizes(graph.labels[labelled], graph.num_classes)
    present = int((sizes > 0).sum())
    if present < 2 or len(labelled) < 4 or sizes.max() < 2:
        raise must_be(
            "The run",
            "have at least four labels of two classes, two of them alike, to hold some of them out",
            f"{count(len(labelled), 'label')} of {count(present, 'class', 'classes')}",
            "Label more nodes.",
        )
    c = graph.num_classes
    worlds = Worlds.of(graph.labels, c, labelled, NOBODY, num_folds=folds, seed=seed)
    for f in range(folds):
        train, hidden = worlds.fits(f), labelled[worlds.fold == f]
        if len(np.unique(graph.labels[train])) < 2 or not len(hidden):
            P[hidden] = 1 / c  # nothing was left to learn from
            continue
        again = as_chosen(fitted).fit(graph, split=Split(train), scaler=fitted.scaler_)
        again.temperature_, again.contrast_ = fitted.scaling_
        P[hidden] = again.prediction().probabilities[hidden]
    labelled = labelled[worlds.counts]
    return labelled, P[labelled]

"""Nodes as rows: what scikit-learn's cross-validation and searches need to work on a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.arrays import as_array
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.inputs import to_graph
from cpgnn.errors import check_count, must_be, wrong_value
from cpgnn.graph import Graph


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose rows are nodes of one graph, for `cross_val_score`, `GridSearchCV` etc.

    X is node ids (or positions, where no id is a number), y their classes. `fit` knows the labels
    in y and no other: labels of the graph itself are dropped first, so what is left out of a fit
    cannot reach it. Edges and features of all nodes are known throughout, as in `fit` of a graph.

    Parameters
    ----------
    graph : what `CPGNNClassifier.predict` takes
    estimator : CPGNNClassifier, optional
        Its parameters are searched as `estimator__num_layers`, etc.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : class names; columns of `predict_proba`
    """

    def __init__(self, graph: Any, estimator: CPGNNClassifier | None = None) -> None:
        self.graph = graph
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> NodeClassifier:
        """Learns from the classes `y` of the nodes `X`, [m] each."""
        graph = to_graph(self.graph, labels=False)
        nodes, (codes, names) = node_positions(graph, X), pd.factorize(np.asarray(y), sort=True)
        if len(codes) != len(nodes):
            raise wrong_value("y", f"have one class for each of {len(nodes)} nodes", len(codes))
        if len(np.unique(nodes)) != len(nodes):
            raise wrong_value("X", "name each node once", "a node twice")
        if (codes < 0).any():
            raise wrong_value("y", "have a class for each node", "an empty one")
        labels = np.full(graph.num_nodes, -1)
        labels[nodes] = codes
        made = CPGNNClassifier() if self.estimator is None else clone(self.estimator)
        self.estimator_ = made.fit(graph.with_labels(labels, names.tolist()))
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class for the nodes X, [m, c]."""
        check_is_fitted(self, "estimator_")
        P: np.ndarray = self.estimator_.predict_proba()
        return P[node_positions(self.estimator_.graph_, X)]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of the nodes X, by its name, [m]."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_clone__(self) -> NodeClassifier:
        """One graph serves all clones: it is frozen."""
        made = None if self.estimator is None else clone(self.estimator)
        return type(self)(self.graph, made)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


class NodeFolds:
    """Folds for `cv=`: the nodes of every class are shuffled and dealt in turn.

    Folds share no node, and each has about its share of every class. A class of fewer nodes than
    folds is left out of some; the only node of a class is never held out, since a model that never
    saw the class cannot be asked for it.
    """

    def __init__(self, n_splits: int = 5, *, seed: int = 0) -> None:
        check_count("n_splits", n_splits, least=2)
        check_count("seed", seed, least=0)
        self.n_splits, self.seed = n_splits, seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of X to train on and rows to hold out, `n_splits` times."""
        if groups is not None:
            hint = "Try StratifiedGroupKFold of scikit-learn."
            raise wrong_value("groups", "be None for these folds", "groups", hint)
        if y is None or len(np.asarray(y)) < self.n_splits:
            got = "none" if y is None else f"{len(np.asarray(y))} for {self.n_splits} folds"
            raise wrong_value("y", "have a class for each node, and at least one for a fold", got)
        codes, names = pd.factorize(np.asarray(y), sort=True)
        rows, none = np.arange(len(codes)), np.empty(0, dtype=np.int64)
        dealt = Worlds.of(
            codes, len(names), rows, none, num_folds=self.n_splits, seed=self.seed
        ).fold
        alone = np.bincount(codes, minlength=len(names))[codes] == 1
        for f in range(self.n_splits):
            held = (dealt == f) & ~alone
            yield rows[~held], rows[held]


def node_positions(graph: Graph, X: Any) -> np.ndarray:
    """Positions of the nodes X: ids, or positions if these are numbers and no id is one."""
    tuples = isinstance(X, list) and any(isinstance(id_, tuple) for id_ in X)
    given = as_array(X) if tuples else np.asarray(X)
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    if given.ndim != 1:
        raise wrong_value("X", "be a list of node ids", f"an array of shape {given.shape}")
    ids = graph.node_ids
    numbered = pd.api.types.is_numeric_dtype(ids) or any(isinstance(i, int) for i in ids)
    if not np.issubdtype(given.dtype, np.integer) or numbered:
        return graph.positions(given)
    if len(given) and not (given.min() >= 0 and given.max() < graph.num_nodes):
        got = given.min() if given.min() < 0 else given.max()
        raise must_be("A node position", f"lie between 0 and {graph.num_nodes - 1}", got)
    return given

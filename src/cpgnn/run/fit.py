"""A run: a user's graph fitted and measured on labels that were held out.

`train_run` is all of `cpgnn fit` but reading, writing and printing; see `cpgnn.run.folder`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from cpgnn.classifier import Begin, CPGNNClassifier
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import must_be
from cpgnn.evaluation.calibration import Calibration, softmax
from cpgnn.evaluation.metrics import Evaluation, evaluate
from cpgnn.evaluation.thresholds import Flag, Goal, check_flaggable, choose_flag
from cpgnn.evaluation.without_graph import WithoutGraph, graph_blind_proba
from cpgnn.graph import Graph
from cpgnn.io import FeatureColumns, LoadedGraph
from cpgnn.splits import Split, stratified_split

NO_NODES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted classifier, what it is worth on the test nodes, and which labels it used how."""

    classifier: CPGNNClassifier
    split: Split
    evaluation: Evaluation | None
    positive: int | None
    refitted: bool
    without_graph: WithoutGraph | None = None
    measured: CPGNNClassifier | None = None
    """The model that the scores are of, where `classifier` was refitted on all labels."""
    columns: FeatureColumns | None = None
    """How the feature file was read, so that a later one is read alike."""
    calibration: Calibration | None = None
    """Probabilities of the test nodes before and after the temperature."""
    flag: Flag | None = None

    @property
    def graph(self) -> Graph:
        graph: Graph | None = getattr(self.classifier, "graph_", None)
        if graph is None:
            hint = "Put graph.npz back, or give the edges and features of the graph to predict."
            raise must_be("The run", "have the graph it was fitted on", "none", hint)
        return graph


def train_run(
    loaded: LoadedGraph,
    classifier: CPGNNClassifier,
    *,
    test: float = 0.2,
    positive: str | None = None,
    goal: Goal | None = None,
    refit: bool = False,
    scaler: FeatureScaler | None = None,
    begin: Begin | None = None,
) -> Run:
    """`fit_run` but for the writing; `scaler` as in `CPGNNClassifier.fit`."""
    graph = loaded.graph
    split = choose_split(loaded, test=test, validation=classifier.validation, seed=classifier.seed)
    target = _positive_class(graph, positive)
    ranked = None if target is None else graph.class_names[target]
    if goal is not None:
        check_flaggable(graph, split, target)
    # A refit trains once, on known labels: so must what it repeats.
    twice = classifier.self_training and not refit
    fitted = clone(classifier).set_params(positive=ranked, self_training=twice)
    fitted.fit(graph, split=split, scaler=scaler, begin=begin)
    evaluation = calibration = None
    if len(split.test):
        R, y = fitted.logits()[split.test], graph.labels[split.test]
        names = [str(name) for name in graph.class_names]
        T = fitted.temperature_
        evaluation = evaluate(softmax(R, T), y, names, positive=target)
        calibration = Calibration.of(R, y, T, len(fitted.calibration_))
    flag = None
    if goal is not None and target is not None:
        p, hit = fitted.predict_proba()[:, target], graph.labels == target
        flag = choose_flag(p, hit, split, str(ranked), goal)
    blind = _without_graph(fitted, begin)
    measured = fitted
    if refit:
        fitted = refitted(fitted, begin)
    columns = loaded.columns
    if columns is not None:
        columns = columns.with_medians_of(graph.features)
    return Run(
        fitted, split, evaluation, target, refit, blind, measured, columns, calibration, flag
    )


def choose_split(loaded: LoadedGraph, *, test: float, validation: float, seed: int) -> Split:
    """The split that the labels file names, or a stratified one; what is missing is drawn."""
    labels = loaded.graph.labels
    names = loaded.graph.class_names
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    if (counts > 0).sum() < 2:
        got = f"only {names[0]!r}" if names else "no label at all"
        hint = (
            "Label some nodes of another class."
            if names
            else "Give a table of them: labels='labels.csv'."
        )
        raise must_be("The labels", "name at least two classes", got, hint)
    if loaded.split is None:
        if counts.min() < 2:
            rare = names[int(counts.argmin())]
            raise must_be(
                "Every class",
                "have at least two labelled nodes, one to train and one to validate",
                f"{counts.min()} of class {rare!r}",
                "Label more nodes of it, or leave it out.",
            )
        return stratified_split(labels, validation=validation, test=test, seed=seed)
    part = np.where(labels < 0, "none", np.where(loaded.split == "", "train", loaded.split))
    train, val, held_out = (np.flatnonzero(part == name) for name in ("train", "val", "test"))
    if len(train) == 0:
        raise must_be("The split column", "mark at least one labelled node 'train'", "none")
    if len(val) == 0:
        known = np.full(len(labels), -1)
        known[train] = labels[train]
        drawn = stratified_split(known, validation=validation, seed=seed)
        train, val = drawn.train, drawn.val
    return Split(train, val, held_out)


def _without_graph(fitted: CPGNNClassifier, begin: Begin | None) -> WithoutGraph | None:
    """The graph-blind MLP on the same test nodes; none without test labels or features."""
    graph, split, settings = fitted.graph_, fitted.split_, fitted.settings_
    if graph.features is None or len(split.test) == 0 or settings.pretrain_epochs == 0:
        return None
    blind = graph_blind_proba(
        graph,
        split,
        settings,
        hidden=fitted.hidden,
        dropout=fitted.dropout,
        seed=fitted.seed,
        scaler=fitted.scaler_,
        observe=begin("without the graph", settings.pretrain_epochs) if begin else None,
    )
    P = fitted.predict_proba()
    return WithoutGraph.of(blind[split.test], P[split.test], graph.labels[split.test])


def refitted(fitted: CPGNNClassifier, begin: Begin | None = None) -> CPGNNClassifier:
    """The same model trained on every label, for as many epochs as validation chose.

    What needs labels that were held out stays as it was: the temperature and the edge frequencies.
    """
    kept, architecture = fitted.kept_, fitted.architecture_
    assert architecture is not None
    labelled = np.flatnonzero(fitted.graph_.labels >= 0)
    again = clone(fitted).set_params(prior=architecture.prior, num_layers=architecture.num_layers)
    if kept is not None and kept.phase == 1:
        again.set_params(num_layers=0, pretrain_epochs=kept.epoch, epochs=0)
    elif kept is not None:
        again.set_params(epochs=kept.epoch)
    split = Split(labelled, NO_NODES, NO_NODES)
    again.fit(fitted.graph_, split=split, scaler=fitted.scaler_, begin=begin)
    again.temperature_, again.calibration_ = fitted.temperature_, fitted.calibration_
    again.edge_frequency_interval_ = fitted.edge_frequency_interval_
    again.edge_frequency_ = fitted.edge_frequency_
    return again


def _positive_class(graph: Graph, positive: str | None) -> int | None:
    names = [str(name) for name in graph.class_names]
    if positive is None:  # of two classes the rarer one is what people look for
        counts = np.bincount(graph.labels[graph.labels >= 0], minlength=len(names))
        return int(counts.argmin()) if len(names) == 2 else None
    if positive not in names:
        raise must_be("'positive'", f"be one of the classes {', '.join(names)}", repr(positive))
    return names.index(positive)

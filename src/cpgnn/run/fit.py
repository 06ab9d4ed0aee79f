"""`train_run`: all of `cpgnn fit` but reading, writing and printing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
from sklearn.base import clone

from cpgnn.check.finding import Finding
from cpgnn.check.structure import edge_rows, weights
from cpgnn.classifier import CPGNNClassifier
from cpgnn.compatibility import compatibility_error, recover_compatibility, sinkhorn_knopp
from cpgnn.doubt.folds import as_chosen, out_of_fold
from cpgnn.engine.arrays import class_sizes, labels_of
from cpgnn.engine.loop import Begin, expect
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import (
    Mention,
    Message,
    NumericalNotice,
    advise,
    check_choice,
    check_share,
    must_be,
    wrong_value,
)
from cpgnn.evaluation.conformal import Per, Promise, kept_on
from cpgnn.evaluation.cross_validation import FEW
from cpgnn.evaluation.metrics import RARE, positive_class
from cpgnn.evaluation.thresholds import Goal, check_flaggable
from cpgnn.graph import Graph
from cpgnn.homophily import compatibility_matrix
from cpgnn.io import LoadedGraph
from cpgnn.run.measure import Wanted, measure
from cpgnn.run.run import Run
from cpgnn.run.time_split import time_split, told
from cpgnn.splits import PARTS, Split, stratified_split

TEST = 0.2
"""The share of labels that is held out where nothing else is asked for."""
MOST_ROWS = 2_000_000
"""Rows of an edge file that are looked through for the report: half a second."""


def train_run(
    loaded: LoadedGraph,
    classifier: CPGNNClassifier,
    *,
    test: float = TEST,
    positive: str | None = None,
    goal: Goal | None = None,
    coverage: float | None = None,
    coverage_per: Per = "all",
    refit: bool = False,
    scaler: FeatureScaler | None = None,
    begin: Begin | None = None,
) -> Run:
    """`fit_run` but for the writing; `scaler` as in `CPGNNClassifier.fit`."""
    graph = loaded.graph
    edge_findings: tuple[Finding, ...] = ()
    if loaded.rows is not None and loaded.rows.shape[1] <= MOST_ROWS:
        found_in_rows = edge_rows(graph, loaded.rows, undirected=loaded.undirected)
        edge_findings = (*found_in_rows, *weights(graph))
    check_choice("coverage_per", coverage_per, get_args(Per))
    if coverage is not None:
        check_share("coverage", coverage, zero=False)
    elif coverage_per != "all":
        must = Message("come with ", Mention("coverage"))
        raise wrong_value("coverage_per", must, "it alone", advise("Add {}.", coverage=0.9))
    learned_on = graph
    share, seed = classifier.validation_share, classifier.seed
    if loaded.times is not None:
        split, learned_on, moment = time_split(loaded, test=test, validation=share)
        graph = graph.noting(told(loaded.times, split, learned_on, moment))
    else:
        split = choose_split(loaded, test=test, validation=share, seed=seed)
    if coverage is not None:
        _check_calibrated(graph.labels[np.concatenate([split.train, split.val])])
    names, sizes = [*map(str, graph.class_names)], class_sizes(graph.labels, graph.num_classes)
    target = positive_class(names, sizes, positive)
    if goal is not None:
        judged = np.concatenate([split.train, split.val]) if classifier.blends else split.val
        check_flaggable(graph, judged, target)
    # The only rare class of several is looked for in the report, not in training.
    ranked = target if positive is not None or graph.num_classes == 2 else None
    classifier = clone(classifier).set_params(
        positive=None if ranked is None else graph.class_names[ranked],
        select_by=classifier.select_by or _select_by(graph, positive, target),
        # A refit trains once, on known labels: so must what it repeats.
        self_training=classifier.self_training and not refit,
    )
    expect(begin, int(len(split.test) > 0 and graph.features is not None))  # without the graph
    fitted = classifier.fit(learned_on, split=split, scaler=scaler, begin=begin)
    if learned_on is not graph:
        fitted.see(graph)
    wanted = Wanted(target, positive is not None, goal)
    drawn = test > 0 and loaded.split is None and loaded.times is None
    found = measure(fitted, wanted, drawn=drawn, begin=begin)
    promise = None if coverage is None else promised(fitted, coverage, coverage_per)
    return Run(
        classifier=refitted(fitted, begin) if refit else fitted,
        split=split,
        positive=target,
        refitted=refit,
        model=fitted.name,
        kept=fitted.kept_,
        trials=fitted.trials_,
        history=history(fitted),
        **vars(found),
        promise=promise,
        edge_findings=edge_findings,
        columns=None if loaded.columns is None else loaded.columns.with_medians_of(graph.features),
        headers=loaded.headers,
        measured=fitted,
    )


def promised(fitted: CPGNNClassifier, coverage: float, per: Per) -> Promise:
    """Sets of classes for every node, and how well the promise is kept on the held-out nodes.

    Few validation nodes cannot calibrate: then training and validation nodes are held out in turn.
    """
    known, beliefs = np.union1d(fitted.split_.train, fitted.split_.val), None
    if len(fitted.split_.val) < FEW and len(known) >= 4 and fitted.out_of_fold() is None:
        beliefs = out_of_fold(fitted, known, seed=fitted.seed)
    made = fitted.promise(coverage, per, beliefs=beliefs)
    sets, test = fitted.sets(made), fitted.split_.test
    held_out = kept_on(sets, test, fitted.graph_.labels) if len(test) else None
    size = float(sets.sizes[fitted.graph_.predicted].mean())
    return replace(made, held_out=held_out, mean_size=size)


def _check_calibrated(labels: np.ndarray) -> None:
    """Refuse labels none of which can be held out, before anything is trained."""
    if np.unique(labels, return_counts=True)[1].max() < 2:
        must = Message("include two of one class, for ", Mention("coverage"))
        raise must_be("The labels", must, "one of each", "Label more nodes.")


def choose_split(loaded: LoadedGraph, *, test: float, validation: float, seed: int) -> Split:
    """The split that the labels file names, or a stratified one; what is missing is drawn."""
    labels = loaded.graph.labels
    names = loaded.graph.class_names
    counts = class_sizes(labels, len(names))
    if (counts > 0).sum() < 2:
        got = f"only {names[0]!r}" if names else "no label at all"
        hint = (
            "Label some nodes of another class."
            if names
            else advise("Give a table of them: {}.", labels="labels.csv")
        )
        raise must_be("The labels", "name at least two classes", got, hint)
    if loaded.split is None:
        return stratified_split(labels, validation=validation, test=test, seed=seed)
    part = np.where(labels < 0, "none", np.where(loaded.split == "", "train", loaded.split))
    train, val, held_out = (np.flatnonzero(part == name) for name in PARTS)
    if len(train) == 0:
        raise must_be("The split column", "mark at least one labelled node 'train'", "none")
    if len(val) == 0:
        drawn = stratified_split(labels_of(labels, train), validation=validation, seed=seed)
        train, val = drawn.train, drawn.val
    return Split(train, val, held_out)


def given_split(run: Run) -> Split | None:
    """The split of a run, if its labels named one: it is not what was drawn without."""
    if run.options.get("split_time"):
        return None
    drawn = stratified_split(
        run.graph.labels,
        validation=run.classifier.validation_share,
        test=run.options.get("test", TEST),
        seed=run.classifier.seed,
    )
    same = all(np.array_equal(getattr(drawn, name), getattr(run.split, name)) for name in PARTS)
    return None if same else run.split


def history(classifier: CPGNNClassifier) -> pd.DataFrame:
    """One row per epoch; where all labels are known, also how far the learned matrix then was.

    `compatibility_error` is the mean distance per cell of Ĥ from the true H, both doubly
    stochastic. The truth is looked at here, after training, and chooses nothing.
    """
    table, graph = classifier.history_, classifier.graph_
    if (graph.labels < 0).any() or not classifier.H_bars_:
        return table
    # A slow Sinkhorn is a matter for the kept matrix alone.
    with warnings.catch_warnings(action="ignore", category=NumericalNotice):
        true = sinkhorn_knopp(np.nan_to_num(compatibility_matrix(graph))).matrix
        errors = {
            epoch: compatibility_error(recover_compatibility(H_bar), true)
            for epoch, H_bar in classifier.H_bars_.items()
        }
    second = table["phase"] == 2
    return table.assign(compatibility_error=table["epoch"].where(second).map(errors))


def refitted(fitted: CPGNNClassifier, begin: Begin | None = None) -> CPGNNClassifier:
    """The same model trained on every label: a blend anew, another for as many epochs as validation
    chose.

    What needs labels that were held out stays as it was: the scaling of logits, edge frequencies.
    """
    labelled = np.flatnonzero(fitted.graph_.labels >= 0)
    again = as_chosen(fitted)
    again.fit(fitted.graph_, split=Split(labelled), scaler=fitted.scaler_, begin=begin)
    again.temperature_, again.contrast_ = fitted.scaling_
    again.calibration_ = fitted.calibration_
    again.edge_frequency_interval_ = fitted.edge_frequency_interval_
    again.edge_frequency_ = fitted.edge_frequency_
    return again


def _select_by(graph: Graph, positive: str | None, target: int | None) -> str | None:
    """The score that chooses if none was asked for: average precision, if a rare class was named.

    Accuracy hardly notices it: 99 % are right without finding one.
    """
    known = graph.labels[graph.labels >= 0]
    rare = positive is not None and (known == target).mean() < RARE
    return "average_precision" if rare else None

"""What a fitted model is worth: its scores, those of a model without the graph, its threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from cpgnn.classifier import CPGNNClassifier
from cpgnn.doubt.folds import as_chosen
from cpgnn.engine.loop import Begin, repeated
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.evaluation.calibration import Calibration
from cpgnn.evaluation.cross_validation import (
    FEW,
    FEW_POSITIVE,
    FOLDS,
    CrossValidated,
    affordable,
    cross_validated,
    expected_seconds,
)
from cpgnn.evaluation.metrics import HELD_OUT, Evaluation, evaluate
from cpgnn.evaluation.thresholds import (
    Flag,
    Goal,
    call_scores,
    choose_threshold,
    threshold_scores,
)
from cpgnn.evaluation.without_graph import WithoutGraph, graph_blind_proba, without_edges
from cpgnn.graph import Graph
from cpgnn.settings import BUDGETS
from cpgnn.splits import Split

WITHOUT = "without the graph"
Honest = tuple[np.ndarray, np.ndarray] | None
"""Nodes, and their probabilities by models that had not seen their labels."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found on labels that the model has not seen; nothing where none was held out."""

    evaluation: Evaluation | None = None
    known_only: Evaluation | None = None
    """The same without nodes that have neither edges nor features; None where there are none."""
    without_graph: WithoutGraph | None = None
    calibration: Calibration | None = None
    """Probabilities of the test nodes before and after the temperature."""
    flag: Flag | None = None


@dataclass(frozen=True)
class Wanted:
    """The class to look for, whether somebody named it, and what its threshold is for."""

    positive: int | None = None
    asked: bool = False
    goal: Goal | None = None


def measure(
    fitted: CPGNNClassifier,
    wanted: Wanted,
    *,
    drawn: bool = False,
    begin: Begin | None = None,
) -> Measured:
    """Scores on the test nodes of the split. Where it was `drawn` and they are few, or those of the
    class that is looked for, all labelled nodes are held out in turn, by the same fit or, on a
    large graph, a shorter one. A rare class gets a threshold, as does one with a goal.
    """
    own, split = fitted.prediction(), fitted.split_
    graph, test = own.graph, split.test
    nodes, P, measured_on = test, own.probabilities[test], HELD_OUT
    blind, unseen = without_graph(fitted, split, begin) if len(test) else (None, None)
    honest = fitted.out_of_fold()
    theirs = None if blind is None else blind[test]
    positives = int((graph.labels[test] == wanted.positive).sum())
    few = len(test) < FEW or (wanted.positive is not None and positives < FEW_POSITIVE)
    found = _cross_validated(fitted, wanted, begin) if drawn and few else None
    if found is not None:
        nodes, P, theirs = found.nodes, found.probabilities, found.without_graph
        measured_on = str(found)

    def score(among: np.ndarray) -> Evaluation:
        return evaluate(
            P[..., among, :],
            graph.labels[nodes[among]],
            [str(name) for name in graph.class_names],
            positive=wanted.positive,
            asked=wanted.asked,
            measured_on=measured_on,
        )

    every = np.arange(len(nodes))
    known = np.flatnonzero(~own.nothing_known[nodes])
    evaluation = score(every) if len(nodes) else None
    known_only = score(known) if 0 < len(known) < len(nodes) else None
    without = flag = calibration = None
    if theirs is not None:
        without = WithoutGraph.of(theirs, P, graph.labels[nodes], positive=wanted.positive)
    if wanted.goal or (evaluation is not None and evaluation.by_ranking):
        flag = _flag(own.probabilities, graph, split, wanted, honest)
    if flag is not None and blind is not None and without is not None:
        other = _flag(blind, graph, split, wanted, unseen)
        without = replace(without, threshold=None if other is None else other.test)
    if flag is not None and found is not None and found.called is not None:
        hit = graph.labels[found.nodes] == wanted.positive
        flag = replace(flag, test=call_scores(found.called, hit))
        if without is not None and found.called_without is not None:
            without = replace(without, threshold=call_scores(found.called_without, hit))
    known = test[~own.nothing_known[test]]
    if len(known):
        calibration = Calibration.of(
            own.logits[known], graph.labels[known], own.temperature, len(fitted.calibration_)
        )
    return Measured(evaluation, known_only, without, calibration, flag)


def without_graph(
    fitted: CPGNNClassifier, split: Split, begin: Begin | None = None
) -> tuple[np.ndarray | None, Honest]:
    """Probabilities of all nodes by the same blend without edges, or by the MLP that a model of the
    paper starts from; None without features or pretraining. Of a blend also those out of fold."""
    graph, settings = fitted.graph_, fitted.settings_
    if graph.features is None:
        return None, None
    if fitted.evidence_:
        if begin is not None:
            begin(WITHOUT, 1)
        again = clone(fitted).fit(without_edges(graph), split=split, scaler=fitted.scaler_)
        return again.prediction().probabilities, again.out_of_fold()
    if settings.pretrain_epochs == 0:
        return None, None
    made = graph_blind_proba(
        fitted.prediction().scaled,
        split,
        settings,
        hidden=fitted.hidden,
        dropout=fitted.dropout,
        seed=fitted.seed,
        observe=begin(WITHOUT, settings.pretrain_epochs) if begin else None,
    )
    return made, None


def _flag(P: np.ndarray, graph: Graph, split: Split, wanted: Wanted, honest: Honest) -> Flag | None:
    """The threshold that suits the `honest` nodes best, or else the validation nodes, and what it
    is worth on the test nodes; None where none of those that choose is positive."""
    nodes, seen = honest or (split.val, P[split.val])
    target, hit, test = wanted.positive, graph.labels == wanted.positive, split.test
    if target is None or not hit[nodes].any():
        return None
    chosen = choose_threshold(seen[:, target], hit[nodes], wanted.goal)
    scores = threshold_scores(chosen.value, P[test, target], hit[test]) if len(test) else None
    return Flag(str(graph.class_names[target]), chosen.value, chosen, scores)


def _called(
    P: np.ndarray, graph: Graph, split: Split, wanted: Wanted, honest: Honest
) -> np.ndarray:
    """Which nodes [n] reach the threshold of a model; none, if it could not choose one."""
    flag = _flag(P, graph, split, wanted, honest)
    return P[:, wanted.positive] >= (np.inf if flag is None else flag.value)


def _cross_validated(
    fitted: CPGNNClassifier, wanted: Wanted, begin: Begin | None
) -> CrossValidated | None:
    """The whole fit, choice of the model, of a threshold and all, once for each fold."""
    graph, budget = fitted.graph_, fitted.budget
    # Seven candidates are tried where none was named, and the best is trained twice.
    epochs = len(fitted.history_) * (3 if len(fitted.trials_) > 1 else 1)
    seconds = expected_seconds(graph, 0 if fitted.evidence_ else epochs)
    seconds *= BUDGETS[budget] if fitted.evidence_ else 1
    shorter = BUDGETS["fast"] / BUDGETS[budget] if fitted.evidence_ or not fitted.epochs else 1.0
    repeats, brief = affordable(seconds, shorter)
    tell = repeated(begin, repeats * FOLDS, "cross-validation") if repeats else None

    def predict(split: Split) -> dict[str, np.ndarray]:
        scaler: FeatureScaler = fitted.scaler_
        # One label a class leaves none to choose by: the model that all of them chose is repeated.
        again = clone(fitted) if len(split.val) else as_chosen(fitted)
        again.set_params(budget="fast" if brief else budget)
        again.fit(graph, split=split, scaler=scaler, begin=tell)
        P, (blind, unseen) = again.prediction().probabilities, without_graph(again, split, tell)
        made = {"probabilities": P}
        if blind is not None:
            made["without_graph"] = blind
        if wanted.positive is not None:
            made["called"] = _called(P, graph, split, wanted, again.out_of_fold())
            if blind is not None:
                made["called_without"] = _called(blind, graph, split, wanted, unseen)
        return made

    return cross_validated(
        graph.labels,
        predict,
        validation=fitted.validation_share,
        seed=fitted.seed,
        repeats=repeats,
        brief=brief,
    )

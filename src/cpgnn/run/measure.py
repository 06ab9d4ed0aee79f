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
from cpgnn.evaluation.part import without_edges
from cpgnn.evaluation.thresholds import Flag, Goal, call_scores, choose_threshold, threshold_scores
from cpgnn.evaluation.without_graph import WithoutGraph, graph_blind_proba
from cpgnn.graph import Graph
from cpgnn.settings import BUDGETS
from cpgnn.splits import Split

WITHOUT = "without the graph"
MOST_ALONE = 50_000
"""Nodes that the model without edges is shown; or those of the split, if they are more."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found on labels that the model has not seen; nothing where none was held out."""

    evaluation: Evaluation | None = None
    known_only: Evaluation | None = None
    """The same without nodes that have neither edges nor features; None where there are none."""
    without_graph: WithoutGraph | None = None
    calibration: Calibration | None = None
    """Probabilities of the test nodes before and after they are scaled."""
    flag: Flag | None = None


@dataclass(frozen=True)
class Wanted:
    """The class to look for, whether it was named, and what its threshold is for."""

    positive: int | None = None
    asked: bool = False
    goal: Goal | None = None


@dataclass(frozen=True, eq=False)
class Said:
    """What a model says of the nodes of the fitted graph."""

    probabilities: np.ndarray
    """[n, c]"""
    unseen: tuple[np.ndarray, np.ndarray] | None
    """Nodes, and their probabilities by models that had not seen their labels, where there are."""

    @classmethod
    def by(cls, model: CPGNNClassifier) -> Said:
        return cls(model.prediction().probabilities, model.out_of_fold())

    def spread(self, nodes: np.ndarray, n: int) -> Said:
        """The same for a graph of n nodes, where it is about these nodes."""
        if len(nodes) == n:
            return self
        probabilities = np.zeros((n, self.probabilities.shape[1]))
        probabilities[nodes] = self.probabilities
        unseen = None if self.unseen is None else (nodes[self.unseen[0]], self.unseen[1])
        return Said(probabilities, unseen)

    def flag(self, graph: Graph, split: Split, wanted: Wanted) -> Flag | None:
        """The threshold that suits the `unseen` nodes best, or else the validation nodes, and what
        it is worth on the test nodes; None where none of those that choose is positive."""
        P, test = self.probabilities, split.test
        nodes, seen = self.unseen or (split.val, P[split.val])
        target, hit = wanted.positive, graph.labels == wanted.positive
        if target is None or not hit[nodes].any():
            return None
        chosen = choose_threshold(seen[:, target], hit[nodes], wanted.goal)
        scores = threshold_scores(chosen.value, P[test, target], hit[test]) if len(test) else None
        return Flag(str(graph.class_names[target]), chosen.value, chosen, scores)

    def called(self, graph: Graph, split: Split, wanted: Wanted) -> np.ndarray:
        """Which nodes [n] reach that threshold; none, if there is none."""
        flag = self.flag(graph, split, wanted)
        return self.probabilities[:, wanted.positive] >= (np.inf if flag is None else flag.value)


def measure(
    fitted: CPGNNClassifier, wanted: Wanted, *, drawn: bool = False, begin: Begin | None = None
) -> Measured:
    """Scores on the test nodes of the split. Where it was `drawn` and they are few, or those of the
    class that is looked for, all labelled nodes are held out in turn, by the same fit or, on a
    large graph, a shorter one. A rare class gets a threshold, as does one with a goal.
    """
    own, split = fitted.prediction(), fitted.split_
    y, test = own.graph.labels, split.test
    blind = without_graph(fitted, begin) if len(test) else None
    nodes, P, measured_on = test, own.probabilities[test], HELD_OUT
    theirs = None if blind is None else blind.probabilities[test]
    positives = int((y[test] == wanted.positive).sum())
    few = len(test) < FEW or (wanted.positive is not None and positives < FEW_POSITIVE)
    found = _cross_validated(fitted, wanted, begin) if drawn and few else None
    if found is not None:
        nodes, P, theirs = found.nodes, found.probabilities, found.without_graph
        measured_on = str(found)

    def score(among: np.ndarray) -> Evaluation | None:
        if not among.any():
            return None
        return evaluate(
            P[..., among, :],
            y[nodes[among]],
            [str(name) for name in own.graph.class_names],
            positive=wanted.positive,
            asked=wanted.asked,
            measured_on=measured_on,
        )

    known = ~own.nothing_known[nodes]
    evaluation = score(np.ones(len(nodes), dtype=bool))
    without = flag = calibration = None
    if theirs is not None:
        without = WithoutGraph.of(theirs, P, y[nodes], positive=wanted.positive)
    if wanted.goal or (evaluation is not None and evaluation.by_ranking):
        flag = Said.by(fitted).flag(own.graph, split, wanted)
    if flag is not None and blind is not None and without is not None:
        other = blind.flag(own.graph, split, wanted)
        without = replace(without, threshold=None if other is None else other.test)
    if flag is not None and found is not None and found.called is not None:
        hit = y[nodes] == wanted.positive
        flag = replace(flag, test=call_scores(found.called, hit))
        if without is not None and found.called_without is not None:
            without = replace(without, threshold=call_scores(found.called_without, hit))
    test = test[~own.nothing_known[test]]
    if len(test):
        calibration = Calibration.of(
            own.logits[test], y[test], own.scaling, len(fitted.calibration_)
        )
    known_only = None if known.all() else score(known)
    return Measured(evaluation, known_only, without, calibration, flag)


def without_graph(fitted: CPGNNClassifier, begin: Begin | None = None) -> Said | None:
    """What the same blend says without edges, or the MLP that a model of the paper starts from;
    None without features or pretraining."""
    graph, split, settings = fitted.graph_, fitted.split_, fitted.settings_
    if graph.features is None:
        return None
    if fitted.evidence_:
        if begin is not None:
            begin(WITHOUT, 1)
        nodes = _shown_alone(graph, split, fitted.seed)
        there = (np.searchsorted(nodes, part) for part in (split.train, split.val, split.test))
        again = clone(fitted)
        again.fit(without_edges(graph, nodes), split=Split(*there), scaler=fitted.scaler_)
        return Said.by(again).spread(nodes, graph.num_nodes)
    if settings.pretrain_epochs == 0:
        return None
    made = graph_blind_proba(
        fitted.prediction().scaled,
        split,
        settings,
        hidden=fitted.hidden,
        dropout=fitted.dropout,
        seed=fitted.seed,
        observe=begin(WITHOUT, settings.pretrain_epochs) if begin else None,
    )
    return Said(made, None)


def _shown_alone(graph: Graph, split: Split, seed: int) -> np.ndarray:
    """The nodes that the model without edges is shown. It hears no neighbour, so of a large graph
    those of the split say what there is to measure; others only show what columns look like."""
    asked = np.concatenate([split.train, split.val, split.test])
    others = np.setdiff1d(np.arange(graph.num_nodes), asked)
    room = max(MOST_ALONE - len(asked), 0)
    if len(others) > room:
        others = np.random.default_rng(seed).choice(others, room, replace=False)
    return np.sort(np.concatenate([asked, others]))


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
        made: dict[str, np.ndarray] = {}
        for said, name, reach in (
            (Said.by(again), "probabilities", "called"),
            (without_graph(again, tell), "without_graph", "called_without"),
        ):
            if said is not None:
                made[name] = said.probabilities
                if wanted.positive is not None:
                    made[reach] = said.called(graph, split, wanted)
        return made

    return cross_validated(
        graph.labels,
        predict,
        validation=fitted.validation_share,
        seed=fitted.seed,
        repeats=repeats,
        brief=brief,
    )

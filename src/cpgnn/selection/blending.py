"""`prior="auto"`: several priors, one second stage, weighed and chosen by their worth out of fold.

0. Where the weights of edges span orders of magnitude, what is made of them is chosen first: raw,
   logarithms or none, each by boosted trees and the second stage on them.
1. Every affordable prior is cross-fitted (`portfolio`).
2. They are joined with the relations in the way that is worth most (`ways`).
3. Where labels are few, all of it once more with the surest predictions as lessons too, each world
   with its own; kept if the honest loss (or the score) is better.
4. All of it once more with other folds, other random numbers and the same γ; the mean in logits is
   kept, which is a blend again.
5. The honest logits tell how logits are scaled, and measure doubt; no node is held back for either.
   Where many nodes without features validate, theirs alone tell: models out of fold know fewer
   labels.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cpgnn.blend.blend import Blend, Said
from cpgnn.blend.mean import mean_of
from cpgnn.blend.second_stage import in_every_world
from cpgnn.engine.arrays import labels_of
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.loop import Begin, expect
from cpgnn.evaluation.calibration import Scaling, fit_scaling, fit_temperature
from cpgnn.graph import Graph
from cpgnn.priors.inputs import STRUCTURE_KEY, Basis, Inputs
from cpgnn.relations.derived import with_columns_of_others
from cpgnn.relations.edge_weights import Weights, weight_variants
from cpgnn.selection.portfolio import fit_again, fit_members
from cpgnn.selection.self_training import with_guesses
from cpgnn.selection.ways import GAMMAS, Score, Tried, choose, has_several, score_of
from cpgnn.settings import Settings
from cpgnn.splits import Split

FOLDS, FEW_FOLDS, MANY_NODES = {"fast": 2, "normal": 5, "thorough": 10}, 2, 200_000
"""Beliefs are kept for every node and world: fewer worlds where there are many nodes."""
ENOUGH = 300
"""Validation nodes that set the scaling alone, where there are no features."""
FEW_LABELS, MOST_GUESSED = 1_000, 50_000
"""Predictions serve as labels where at most so many nodes, and a quarter of all, train: beyond that
they gain little, and cost more than everything before."""
DEALS, MOST_TAUGHT, MOST_DEALT = 2, 2_000, 50_000
"""How often folds are dealt, where at most so many nodes train and there are at most so many: with
more labels it gains next to nothing. Three deals gained no more than two, ten folds nothing."""


@dataclass(frozen=True, eq=False)
class Honest:
    """Logits of labelled nodes by a model that did not learn from their labels."""

    nodes: np.ndarray
    """[m]"""
    logits: np.ndarray
    """[m, c]"""
    first: int = 0
    """Those from here on set the scaling."""
    only_T: bool = False
    """Whether that is a temperature alone, as for the paper's models."""

    @property
    def calibrating(self) -> np.ndarray:
        return self.nodes[self.first :]

    def scaling(self, labels: np.ndarray) -> Scaling:
        R, y = self.logits[self.first :], labels[self.calibrating]
        return Scaling(fit_temperature(R, y)) if self.only_T else fit_scaling(R, y)


@dataclass(frozen=True, eq=False)
class Blended:
    """A fitted blend and how it came about."""

    said: Said
    """About the graph of the fit; its `blend` is the model."""
    honest: Honest
    """Of training nodes, then of validation nodes."""
    trials: tuple[Tried, ...]
    score: float
    guessed: int = 0
    """How many predictions served as labels."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """A blend that was fitted on one deal of the folds."""

    blend: Blend
    honest: np.ndarray
    """[N + V, c]: honest logits of the judged nodes."""
    gamma: float
    """Of what is heard."""
    priors: tuple[Tried, ...]
    ways: tuple[Tried, ...]
    guessed: int


def fit_blend(
    scaled: Graph,
    split: Split,
    settings: Settings,
    prior: Any = "auto",
    *,
    budget: str = "normal",
    guess: bool = True,
    seed: int = 0,
    begin: Begin | None = None,
) -> Blended:
    """Training labels fit weights, validation labels only choose; the features must be scaled."""
    score, n = score_of(settings), scaled.num_nodes
    deal = partial(
        Worlds.of,
        scaled.labels,
        scaled.num_classes,
        split.train,
        split.val,
        num_folds=FOLDS[budget] if n <= MANY_NODES else FEW_FOLDS,
        class_weight=_class_weight(scaled, split, settings),
    )
    worlds, labels = deal(seed=seed), labels_of(scaled.labels, split.train)
    weights, weighed = choose_weights(scaled, labels, worlds, score, seed, begin)
    x, labelled = _inputs(weights(scaled), labels, seed), len(split.train)
    patient = prior == "auto" and budget != "fast"  # for what gains a little and costs much
    few = labelled <= min(FEW_LABELS, n / 4) and n <= MOST_GUESSED
    several_deals = labelled <= MOST_TAUGHT and n <= MOST_DEALT and not has_several(x)
    deals, guess = DEALS if patient and several_deals else 1, guess and patient and few
    fit = partial(_fit_deal, x, weights, prior, score, fast=budget == "fast", guess=guess)
    dealt = [fit(worlds, GAMMAS, seed=seed, announced=deals, begin=begin)]
    start, gammas = time.process_time(), [dealt[0].gamma]
    for other in _other_seeds(seed, deals - 1):
        dealt += [fit(deal(seed=other), gammas, seed=other, announced=0, begin=begin)]
    logits = np.mean([one.honest for one in dealt], axis=0)
    seconds = time.process_time() - start
    found = Tried.of(f"{deals} deals of the folds", logits, worlds, score, seconds)
    mean = [replace(found, note="kept: their mean")] if deals > 1 else []
    trials = (*weighed, *dealt[0].priors, *mean, *dealt[0].ways)
    guessed = max(one.guessed for one in dealt)
    said = mean_of([one.blend for one in dealt]).said(x)
    x.fitted()
    honest = _honest(logits, worlds, alone=x.graph.features is None)
    return Blended(said, honest, trials, found.score, guessed)


def _other_seeds(seed: int, number: int) -> list[int]:
    """Seeds that follow from this one, and are those of no other nearby."""
    return [int(word) >> 1 for word in np.random.SeedSequence(seed).generate_state(number)]


def _fit_deal(
    x: Inputs,
    weights: Weights,
    prior: Any,
    score: Score,
    worlds: Worlds,
    gammas: Sequence[float],
    *,
    fast: bool,
    guess: bool,
    seed: int,
    announced: int,
    begin: Begin | None,
) -> Dealt:
    """One deal of the folds; the pieces of so many are `announced`."""
    members = fit_members(x, worlds, prior, fast=fast, seed=seed, begin=begin, times=announced)
    if begin is not None:
        begin("neighbours", 1)
    chosen, judged, guessed = choose(members, x, worlds, score, gammas), worlds, 0
    if guess and worlds.counts.any():
        logs = [member.logs for member in members]
        logits = in_every_world(chosen.second, logs, chosen.way.propagators(x), worlds)
        taught = with_guesses(worlds, logits, np.flatnonzero(x.graph.predicted))
        counts = chosen.second.stages[-1].w
        again = fit_again(members, counts, x, taught, seed=seed, begin=begin)
        other = choose(again, x, taught, score, gammas)
        if other.merit > chosen.merit:
            chosen, judged, guessed = other, taught, int((taught.guesses[-1] >= 0).sum())
    blend = Blend(
        tuple(member.prior for member in chosen.members),
        chosen.way.hears,
        chosen.second.w_0,
        chosen.second.stages,
        x.basis,
        x.labels,
        worlds.num_classes,
        weights,
    )
    honest, priors = chosen.second.honest, chosen.worth(judged, score)
    return Dealt(blend, honest, chosen.way.gamma, priors, chosen.tried, guessed)


def _inputs(scaled: Graph, labels: np.ndarray, seed: int) -> Inputs:
    scaled, everyone = with_columns_of_others(scaled), np.arange(scaled.num_nodes)
    return Inputs(scaled, Basis.of(scaled, seed), everyone, len(everyone), labels)


def choose_weights(
    scaled: Graph,
    labels: np.ndarray,
    worlds: Worlds,
    score: Score,
    seed: int = 0,
    begin: Begin | None = None,
) -> tuple[Weights, list[Tried]]:
    """What to make of the weights of edges, by trees and a second stage; and what was tried.

    A part of a larger graph keeps them: the shape around its nodes was measured with them.
    """
    variants = weight_variants(scaled)
    if len(variants) == 1 or scaled.has(STRUCTURE_KEY):
        return variants[0], []
    expect(begin, len(variants))
    merits, tried = [], []
    for weights in variants:
        if begin is not None:
            begin(f"weights: {weights.how}", 1)
        start, x = time.process_time(), _inputs(weights(scaled), labels, seed)
        found = choose(fit_members(x, worlds, "trees", seed=seed), x, worlds, score)
        seconds, best = time.process_time() - start, found.tried[0]
        merits.append(found.merit)
        tried.append(Tried(f"weights: {weights.how}", best.score, best.loss, seconds))
    kept = int(np.argmax(merits))
    notes = ("kept" if i == kept else "not kept" for i in range(len(tried)))
    return variants[kept], [replace(t, note=note) for t, note in zip(tried, notes, strict=True)]


def _honest(logits: np.ndarray, worlds: Worlds, *, alone: bool) -> Honest:
    """`alone`: validation nodes, if there are enough, set the scaling alone: models out of fold
    know fewer labels and are less sure; the last one, which knows all, judges validation nodes."""
    alone, counts = alone and len(worlds.val) >= ENOUGH, worlds.counts
    first = int(counts[: len(worlds.train)].sum()) if alone else 0
    return Honest(worlds.judged[counts], logits[counts], first)


def _class_weight(graph: Graph, split: Split, settings: Settings) -> np.ndarray | None:
    if settings.class_weight is None:
        return None
    count = np.bincount(graph.labels[split.train], minlength=graph.num_classes)
    weight = 1 / np.maximum(count, 1)
    return np.asarray(weight * len(split.train) / (weight * count).sum())

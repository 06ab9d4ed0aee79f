"""`prior="auto"`: several priors, one second stage, weighed and chosen by their worth out of fold.

0. Where the weights of edges span orders of magnitude, what is made of them is chosen first: raw,
   logarithms or none, each by boosted trees and the second stage on them.
1. Every affordable prior is cross-fitted (`portfolio`).
2. All of them make the own part, weighed by the convex fit, pulled towards weights that follow
   their honest losses. (Adding them one by one, or the best alone, was worse on validation labels.)
3. Relations × γ on that own part, each a convex fit of milliseconds; the one with the smallest
   honest loss is kept (by accuracy was worse), or the highest score where one is asked for.
   With several kinds of nodes, two rounds are tried beside three (`FEWER_ROUNDS`). Stronger pulls
   on H̄ are tried with the best two: they are what is left of a graph that hardly
   helps. A graph is never left out: what it is worth can then be read. Directions, often no
   more than the order in which pairs were listed, are heard where that is better than merged edges
   by more than a standard error of the difference.
4. Where labels are few, all of it once more with the surest predictions as lessons too, each world
   with its own; kept if the honest loss (or the score) is better.
5. The honest logits tell how logits are scaled, and measure doubt; no node is held back for either.
   Where many nodes without features validate, theirs alone tell: models out of fold know fewer
   labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import log_softmax

from cpgnn.blend.blend import Blend, Hearing, Said
from cpgnn.blend.second_stage import (
    ROUNDS,
    USUAL,
    Opening,
    Pull,
    SecondStage,
    fit_second_stage,
    in_every_world,
)
from cpgnn.engine.arrays import labels_of
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.formatting import relation_name
from cpgnn.engine.loop import Begin, expect
from cpgnn.engine.scores import validation_score
from cpgnn.evaluation.calibration import Scaling, fit_scaling, fit_temperature
from cpgnn.graph import Graph
from cpgnn.priors.inputs import STRUCTURE_KEY, Basis, Inputs
from cpgnn.relations.derived import relation_sets, with_columns_of_others
from cpgnn.relations.edge_weights import Weights, weight_variants
from cpgnn.relations.relation import EDGES, TWO_HOPS
from cpgnn.selection.portfolio import Member, fit_again, fit_members, scores
from cpgnn.selection.self_training import with_guesses
from cpgnn.settings import Settings
from cpgnn.splits import Split

GAMMAS = (0.0, 0.5, 1.0)
LAMBDAS = (1.0, 10.0, 100.0, 1000.0)
"""The pull on H̄. The first is tried with every set of relations, the others with the best two."""
FEWER_ROUNDS = 2
"""Tried beside `ROUNDS` where there are several kinds of nodes: what those without labels pass on
can drift, from round to round, towards one class."""
PULLS = USUAL, Pull(own=30.0, sharpness=12.0)
"""Both tried where there are several kinds of nodes: the priors read different parts of such a
graph, and where labels are few, weights fitted to them are noise."""
FOLDS, FEW_FOLDS, MANY_NODES = {"fast": 2, "normal": 5, "thorough": 10}, 2, 200_000
"""Beliefs are kept for every node and world: fewer worlds where there are many nodes."""
ENOUGH = 300
"""Validation nodes that set the scaling alone, where there are no features."""


FEW_LABELS, MOST_GUESSED = 1_000, 50_000
"""Predictions serve as labels where at most so many nodes, and a quarter of all, train: beyond that
they gain little, and cost more than everything before."""


@dataclass(frozen=True)
class Tried:
    """A prior or a second stage, and what it is worth on nodes whose labels it did not see."""

    candidate: str
    score: float
    """Share of right classes, or the score that was asked for."""
    loss: float
    cpu_seconds: float
    note: str = ""


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
class Chosen:
    """Priors, the relations they are joined with, and the second stage that joins them."""

    members: list[Member]
    hears: tuple[Hearing, ...]
    second: SecondStage
    tried: tuple[Tried, ...]
    """The sets of relations, the best first."""
    merit: float
    """What it was chosen by: higher is better."""

    def propagators(self, x: Inputs) -> list[sp.csr_array]:
        return [x.propagator(one.relation, one.gamma) for one in self.hears]


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
    score = _scoring(settings)
    worlds = Worlds.of(
        scaled.labels,
        scaled.num_classes,
        split.train,
        split.val,
        num_folds=FOLDS[budget] if scaled.num_nodes <= MANY_NODES else FEW_FOLDS,
        class_weight=_class_weight(scaled, split, settings),
        seed=seed,
    )
    labels = labels_of(scaled.labels, split.train)
    weights, weighed = choose_weights(scaled, labels, worlds, score, seed, begin)
    x, fast = _inputs(weights(scaled), labels, seed), budget == "fast"
    members = fit_members(x, worlds, prior, fast=fast, seed=seed, begin=begin)
    if begin is not None:
        begin("neighbours", 1)
    chosen, guessed = choose(members, x, worlds, score), 0
    few = len(split.train) <= min(FEW_LABELS, scaled.num_nodes / 4)
    few = few and scaled.num_nodes <= MOST_GUESSED
    if guess and prior == "auto" and few and not fast:
        taught, other = _taught_guesses(chosen, x, worlds, score, seed, begin)
        if other.merit > chosen.merit:
            chosen, guessed = other, int((taught.guesses[-1] >= 0).sum())
    blend, trials = _blend(chosen, x, worlds, weights), _trials(chosen, worlds, score)
    honest = _honest(chosen.second.honest, worlds, alone=x.graph.features is None)
    best = chosen.tried[0].score
    del members, chosen  # beliefs of every node in every world: more than all that follows
    said = blend.said(x)
    x.fitted()
    return Blended(said, honest, (*weighed, *trials), best, guessed)


def _taught_guesses(
    chosen: Chosen,
    x: Inputs,
    worlds: Worlds,
    score: Scoring,
    seed: int,
    begin: Begin | None,
) -> tuple[Worlds, Chosen]:
    """The worlds with the surest predictions as lessons, and what is chosen there."""
    logs = [member.logs for member in chosen.members]
    logits = in_every_world(chosen.second, logs, chosen.propagators(x), worlds)
    taught = with_guesses(worlds, logits, np.flatnonzero(x.graph.predicted))
    counts = chosen.second.stages[-1].w
    again = fit_again(chosen.members, counts, x, taught, seed=seed, begin=begin)
    return taught, choose(again, x, taught, score)


def _inputs(scaled: Graph, labels: np.ndarray, seed: int) -> Inputs:
    scaled, everyone = with_columns_of_others(scaled), np.arange(scaled.num_nodes)
    return Inputs(scaled, Basis.of(scaled, seed), everyone, len(everyone), labels)


def choose_weights(
    scaled: Graph,
    labels: np.ndarray,
    worlds: Worlds,
    score: Scoring,
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


@dataclass(frozen=True)
class _Way:
    """A way to join priors and relations."""

    hears: tuple[Hearing, ...]
    lam: float
    rounds: int
    pull: Pull

    def __str__(self) -> str:
        heard = ", ".join(relation_name(one.relation) for one in self.hears)
        name = f"{heard}, γ = {self.hears[0].gamma:g}, λ = {self.lam:g}"
        name += "" if self.rounds == ROUNDS else f", {self.rounds} rounds"
        return name if self.pull == USUAL else f"{name}, μ = {self.pull.own:g}"


def choose(members: list[Member], x: Inputs, worlds: Worlds, score: Scoring) -> Chosen:
    """The second stage on all members: see the steps above."""
    logs = [member.logs for member in members]
    y = worlds.labels[worlds.judged]
    found: dict[_Way, tuple[float, SecondStage, Tried]] = {}

    def attempt(way: _Way) -> None:
        start = time.process_time()
        P = [x.propagator(one.relation, one.gamma) for one in way.hears]
        second = fit_second_stage(
            logs, P, worlds, lam=way.lam, rounds=way.rounds, opening=openings[way.pull]
        )
        log_p = log_softmax(second.honest, axis=1)
        loss, accuracy = scores(log_p, worlds)
        value = accuracy if score is None else score(second.honest, y)
        tried = Tried(str(way), value, loss, time.process_time() - start)
        found[way] = (-loss if score is None else value, second, tried)

    several = x.graph.kinds is not None and not x.graph.predicted.all()
    rounds, pulls = ((ROUNDS, FEWER_ROUNDS), PULLS) if several else ((ROUNDS,), PULLS[:1])
    openings = {pull: Opening.of(logs, worlds, pull) for pull in pulls}
    for hears, r, pull in product(hearings(x), rounds, pulls):
        attempt(_Way(hears, LAMBDAS[0], r, pull))
    ranked = sorted(found, key=lambda key: -found[key][0])
    for way in ranked[:2]:
        for lam in LAMBDAS[1:]:
            attempt(replace(way, lam=lam))
    ranked = sorted(found, key=lambda key: -found[key][0])
    kept = ranked[0]
    merged = next((key for key in ranked if _hears_merged(key.hears)), None)
    if score is None and merged is not None and _hears_directions(kept.hears, x.graph):
        directed, plain = found[kept][1].honest, found[merged][1].honest
        kept = kept if clearly_better(directed, plain, worlds) else merged
    ranked.sort(key=lambda key: key != kept)  # what is kept is listed first
    merit, second, _ = found[kept]
    return Chosen(members, kept.hears, second, tuple(found[key][2] for key in ranked), merit)


def _hears_merged(hears: tuple[Hearing, ...]) -> bool:
    return any(one.relation == EDGES for one in hears)


def _hears_directions(hears: tuple[Hearing, ...], graph: Graph) -> bool:
    one_way = (kind for kind in graph.edge_types if kind.directed)
    names = {relation.name for kind in one_way for relation in kind.relations()}
    return any(one.relation in names for one in hears)


def clearly_better(honest: np.ndarray, other: np.ndarray, worlds: Worlds) -> bool:
    """Whether honest logits [N + V, c] have a smaller loss than others, by more than a standard
    error of the difference, node by node."""
    y, share = worlds.labels[worlds.judged], worlds.shares()
    losses = (-log_softmax(R, axis=1)[np.arange(len(y)), y] for R in (other, honest))
    gain = np.subtract(*losses)
    mean = float((share * gain).sum())
    return mean > float(np.sqrt((share**2 * (gain - mean) ** 2).sum()))


def _blend(chosen: Chosen, x: Inputs, worlds: Worlds, weights: Weights) -> Blend:
    second = chosen.second
    return Blend(
        tuple(member.prior for member in chosen.members),
        chosen.hears,
        second.w_0,
        second.stages,
        x.basis,
        x.labels,
        worlds.num_classes,
        weights,
    )


def _honest(logits: np.ndarray, worlds: Worlds, *, alone: bool) -> Honest:
    """`alone`: validation nodes, if there are enough, set the scaling alone: models out of fold
    know fewer labels and are less sure; the last one, which knows all, judges validation nodes."""
    alone = alone and len(worlds.val) >= ENOUGH
    return Honest(worlds.judged, logits, len(worlds.train) if alone else 0)


def _trials(chosen: Chosen, worlds: Worlds, score: Scoring) -> list[Tried]:
    """What the priors are worth, then the sets of relations."""
    counts = zip(chosen.members, chosen.second.stages[-1].w, strict=True)
    return [*(_prior_trial(member, w, worlds, score) for member, w in counts), *chosen.tried]


Scoring = Callable[[np.ndarray, np.ndarray], float] | None
"""Of honest logits and labels; None: by the loss, and accuracy is what is told."""


def _scoring(settings: Settings) -> Scoring:
    if settings.select_by == "accuracy":
        return None
    score = validation_score(settings.select_by, settings.positive)
    return lambda logits, y: score(torch.from_numpy(logits), torch.from_numpy(y))


def _prior_trial(member: Member, w: float, worlds: Worlds, score: Scoring) -> Tried:
    honest = worlds.honest(member.logs)
    loss, accuracy = scores(honest, worlds)
    if score is not None:
        accuracy = score(honest.astype(np.float64), worlds.labels[worlds.judged])
    return Tried(member.name, accuracy, loss, member.cpu_seconds, f"counts {w:.2f}")


def hearings(x: Inputs) -> list[tuple[Hearing, ...]]:
    """The sets of relations that are tried: merged or apart, with and without those further off."""
    return [
        tuple(Hearing(name, gamma) for name in names)
        for gamma in GAMMAS
        for names in relation_sets(x.graph, x.relations)
        if gamma > 0 or TWO_HOPS not in names
    ]


def _class_weight(graph: Graph, split: Split, settings: Settings) -> np.ndarray | None:
    if settings.class_weight is None:
        return None
    count = np.bincount(graph.labels[split.train], minlength=graph.num_classes)
    weight = 1 / np.maximum(count, 1)
    return np.asarray(weight * len(split.train) / (weight * count).sum())

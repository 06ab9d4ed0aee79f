"""How priors and relations are joined: several ways are tried, one is kept.

All priors make the own part, weighed by the convex fit, pulled towards weights that follow their
honest losses. (Adding them one by one, or the best alone, was worse on validation labels.) On it,
relations × γ, each a convex fit of milliseconds; the one with the smallest honest loss is kept (by
accuracy was worse), or the highest score where one is asked for. With several kinds of nodes, two
rounds are tried beside three (`FEWER_ROUNDS`). Stronger pulls on H̄ are tried with the best two:
they are what is left of a graph that hardly helps. A graph is never left out: what it is worth can
then be read. Directions, often no more than the order in which pairs were listed, are heard where
that is better than merged edges by more than a standard error of the difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import log_softmax

from cpgnn.blend.blend import Hearing
from cpgnn.blend.second_stage import (
    ROUNDS,
    USUAL,
    Opening,
    Pull,
    SecondStage,
    fit_second_stage,
)
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.scores import validation_score
from cpgnn.graph import Graph
from cpgnn.priors.inputs import Inputs
from cpgnn.relations.derived import relation_sets
from cpgnn.relations.relation import EDGES, TWO_HOPS
from cpgnn.selection.portfolio import Member
from cpgnn.settings import Settings

GAMMAS = (0.0, 0.5, 1.0)
LAMBDAS = (1.0, 10.0, 100.0, 1000.0)
"""The pull on H̄. The first is tried with every set of relations, the others with the best two."""
FEWER_ROUNDS = 2
"""Tried beside `ROUNDS` where there are several kinds of nodes: what those without labels pass on
can drift, from round to round, towards one class."""
PULLS = USUAL, Pull(own=30.0, sharpness=12.0)
"""Both tried where there are several kinds of nodes: the priors read different parts of such a
graph, and where labels are few, weights fitted to them are noise."""

Score = Callable[[np.ndarray, np.ndarray], float] | None
"""Of honest logits and labels; None: by the loss, and accuracy is what is told."""


def score_of(settings: Settings) -> Score:
    if settings.select_by == "accuracy":
        return None
    score = validation_score(settings.select_by, settings.positive)
    return lambda logits, y: score(torch.from_numpy(logits), torch.from_numpy(y))


@dataclass(frozen=True)
class Tried:
    """A prior or a second stage, and what it is worth on nodes whose labels it did not see."""

    candidate: str
    score: float
    """Share of right classes, or the score that was asked for."""
    loss: float
    cpu_seconds: float
    note: str = ""

    @classmethod
    def of(
        cls, candidate: str, honest: np.ndarray, worlds: Worlds, score: Score, cpu_seconds: float
    ) -> Tried:
        """By honest logits, or log-beliefs, [N + V, c]."""
        y, counts = worlds.labels[worlds.judged], worlds.counts
        losses = -log_softmax(honest, axis=1)[np.arange(len(y)), y]
        loss, honest, y = float((losses * worlds.shares()).sum()), honest[counts], y[counts]
        if not len(y):
            return cls(candidate, np.nan, np.nan, cpu_seconds)
        right = float((honest.argmax(axis=1) == y).mean())
        value = right if score is None else score(honest.astype(np.float64), y)
        return cls(candidate, value, loss, cpu_seconds)


@dataclass(frozen=True)
class Way:
    """A way to join priors and relations."""

    hears: tuple[Hearing, ...]
    lam: float
    rounds: int
    pull: Pull

    def __str__(self) -> str:
        heard = ", ".join(one.relation for one in self.hears)
        name = f"{heard}, γ = {self.gamma:g}, λ = {self.lam:g}"
        name += "" if self.rounds == ROUNDS else f", {self.rounds} rounds"
        return name if self.pull == USUAL else f"{name}, μ = {self.pull.own:g}"

    @property
    def hears_merged(self) -> bool:
        return any(one.relation == EDGES for one in self.hears)

    def hears_directions(self, graph: Graph) -> bool:
        one_way = (kind for kind in graph.edge_types if kind.directed)
        names = {relation.name for kind in one_way for relation in kind.relations()}
        return any(one.relation in names for one in self.hears)

    @property
    def gamma(self) -> float:
        """Of all its relations."""
        return self.hears[0].gamma

    def propagators(self, x: Inputs) -> list[sp.csr_array]:
        return [x.propagator(one.relation, one.gamma) for one in self.hears]

    def fitted(
        self, logs: list[np.ndarray], x: Inputs, worlds: Worlds, opening: Opening
    ) -> SecondStage:
        """The second stage on log-beliefs of priors, which `opening` begins with."""
        P = self.propagators(x)
        return fit_second_stage(logs, P, worlds, lam=self.lam, rounds=self.rounds, opening=opening)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Priors, the way in which they are joined, and the second stage that joins them."""

    members: list[Member]
    way: Way
    second: SecondStage
    tried: tuple[Tried, ...]
    """All ways, the kept one first."""
    merit: float
    """What it was chosen by: higher is better."""

    def worth(self, worlds: Worlds, score: Score) -> tuple[Tried, ...]:
        """What the priors are worth."""
        return tuple(
            replace(
                Tried.of(one.name, worlds.honest(one.logs), worlds, score, one.cpu_seconds),
                note=f"counts {w:.2f}",
            )
            for one, w in zip(self.members, self.second.stages[-1].w, strict=True)
        )


def choose(
    members: list[Member],
    x: Inputs,
    worlds: Worlds,
    score: Score,
    gammas: Sequence[float] = GAMMAS,
) -> Chosen:
    """The second stage on all members, in the way that is worth most."""
    logs = [member.logs for member in members]
    rounds, pulls = ((ROUNDS, FEWER_ROUNDS), PULLS) if has_several(x) else ((ROUNDS,), PULLS[:1])
    openings = {pull: Opening.of(logs, worlds, pull) for pull in pulls}
    found: dict[Way, tuple[float, SecondStage, Tried]] = {}

    def attempt(way: Way) -> None:
        start = time.process_time()
        second = way.fitted(logs, x, worlds, openings[way.pull])
        seconds = time.process_time() - start
        tried = Tried.of(str(way), second.honest, worlds, score, seconds)
        found[way] = (-tried.loss if score is None else tried.score, second, tried)

    for hears, r, pull in product(hearings(x, gammas), rounds, pulls):
        attempt(Way(hears, LAMBDAS[0], r, pull))
    ranked = sorted(found, key=lambda way: -found[way][0])
    for way in ranked[:2]:
        for lam in LAMBDAS[1:]:
            attempt(replace(way, lam=lam))
    ranked = sorted(found, key=lambda way: -found[way][0])
    kept = ranked[0]
    merged = next((way for way in ranked if way.hears_merged), None)
    if score is None and merged is not None and kept.hears_directions(x.graph):
        directed, plain = found[kept][1].honest, found[merged][1].honest
        kept = kept if clearly_better(directed, plain, worlds) else merged
    ranked.sort(key=lambda way: way != kept)  # what is kept is listed first
    merit, second, _ = found[kept]
    return Chosen(members, kept, second, tuple(found[way][2] for way in ranked), merit)


def has_several(x: Inputs) -> bool:
    """Whether there are nodes of kinds that are not predicted."""
    return x.graph.kinds is not None and not x.graph.predicted.all()


def hearings(x: Inputs, gammas: Sequence[float]) -> list[tuple[Hearing, ...]]:
    """The sets of relations that are tried: merged or apart, with and without those further off."""
    return [
        tuple(Hearing(name, gamma) for name in names)
        for gamma in gammas
        for names in relation_sets(x.graph, x.relations)
        if gamma > 0 or TWO_HOPS not in names
    ]


def clearly_better(honest: np.ndarray, other: np.ndarray, worlds: Worlds) -> bool:
    """Whether honest logits [N + V, c] have a smaller loss than others, by more than a standard
    error of the difference, node by node."""
    y, share = worlds.labels[worlds.judged], worlds.shares()
    losses = (-log_softmax(R, axis=1)[np.arange(len(y)), y] for R in (other, honest))
    gain = np.subtract(*losses)
    mean = float((share * gain).sum())
    return mean > float(np.sqrt((share**2 * (gain - mean) ** 2).sum()))

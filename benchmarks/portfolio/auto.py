"""`auto`: several priors, one second stage, chosen and weighed by what they are worth out of fold.

1. Every affordable prior is cross-fitted (`portfolio`).
2. Own part: all of them, weighed by the convex fit, pulled towards weights that follow their
   honest losses. (Adding them one by one, or the best alone, was worse on validation labels.)
3. Second stage: relations × γ on that own part, each a convex fit of milliseconds; the one with
   the smallest honest *loss* is kept (by accuracy was worse). Without relations only if that is
   better by more than a standard error: a graph that costs nothing is kept and can be read.
4. A temperature from the honest logits; no node is held back for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from cpgnn.cross_fitting import Worlds
from cpgnn.evaluation.calibration import fit_temperature
from portfolio.portfolio import Inputs, Member, fit_members
from portfolio.second_stage import SecondStage, fit_second_stage

GAMMAS = (0.0, 0.5, 1.0)
NONE = "none"
LAMBDAS = (1.0, 10.0, 100.0)
"""The pull on H̄. The first is tried with every set of relations, the others with the best two: they
are what is left of a graph that hardly helps."""


@dataclass(frozen=True)
class Trial:
    step: str
    name: str
    loss: float
    accuracy: float
    cpu: float


@dataclass(eq=False)
class Fitted:
    """logits [n, c] (calibrated), and how they came about."""

    logits: np.ndarray
    temperature: float
    members: list[Member]
    relations: str
    second: SecondStage
    honest: np.ndarray
    trials: list[Trial] = field(default_factory=list)


def node_losses(honest: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[N + V]: -log of the probability of the label."""
    return -log_softmax(honest, axis=1)[np.arange(len(y)), y]


def honest_scores(honest: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    return float(node_losses(honest, y).mean()), float((honest.argmax(1) == y).mean())


def fit_auto(
    adjacency: sp.csr_array,
    features: Any,
    labels: np.ndarray,
    num_classes: int,
    train: np.ndarray,
    val: np.ndarray,
    *,
    use: str = "train",
    num_folds: int = 5,
    seed: int = 0,
    names: list[str] | None = None,
) -> Fitted:
    """`use`: "train" fits weights on the training labels, validation labels only choose;
    "train+val" fits on both and chooses by cross-validation alone."""
    if use == "train+val":
        train, val = np.concatenate([train, val]), val[:0]
    worlds = Worlds.of(labels, num_classes, train, val, num_folds=num_folds, seed=seed)
    inputs = Inputs(adjacency, features, worlds, seed)
    return choose(fit_members(inputs, names), inputs)


def choose(members: list[Member], x: Inputs) -> Fitted:
    """The second stage on all members: see the steps above."""
    worlds = x.worlds
    y = worlds.labels[worlds.judged]
    trials = [Trial("prior", m.name, m.loss, m.accuracy, m.cpu) for m in members]
    logs = np.stack([m.logs for m in members])
    sets = propagator_sets(x)
    found: dict[str, tuple[np.ndarray, SecondStage]] = {}

    def attempt(name: str, lam: float) -> None:
        start = time.process_time()
        second = fit_second_stage(logs, sets[name], worlds, lam=lam)
        losses = node_losses(second.honest, y)
        accuracy = float((second.honest.argmax(1) == y).mean())
        label = name if name == NONE else f"{name} λ={lam:g}"
        cpu = time.process_time() - start
        trials.append(Trial("stage", label, float(losses.mean()), accuracy, cpu))
        found[label] = losses, second

    for name in sets:
        attempt(name, LAMBDAS[0])
    ranked = sorted((n for n in found if n != NONE), key=lambda n: found[n][0].mean())
    for label in ranked[:2]:
        for lam in LAMBDAS[1:]:
            attempt(label.rsplit(" λ", 1)[0], lam)
    alone, _ = found[NONE]
    name = min((n for n in found if n != NONE), key=lambda n: found[n][0].mean())
    worse = found[name][0] - alone
    if worse.mean() > worse.std() / np.sqrt(len(y)):
        name = NONE
    second = found[name][1]
    T = fit_temperature(second.honest, y)
    return Fitted(second.logits[-1] / T, T, members, name, second, second.honest / T, trials)


def propagator_sets(x: Inputs) -> dict[str, list[sp.csr_array]]:
    sets: dict[str, list[sp.csr_array]] = {NONE: []}
    for gamma in GAMMAS:
        near = x.edges.propagator(gamma)
        sets[f"edges γ={gamma:g}"] = [near]
        if x.two_hops is not None and gamma > 0:
            sets[f"edges, two hops γ={gamma:g}"] = [near, x.two_hops.propagator(gamma)]
    return sets

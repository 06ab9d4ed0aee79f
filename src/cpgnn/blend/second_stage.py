"""The second stage: own part in log-odds, and one matrix for every relation, fitted at once.

    logits_v = Σ_m w_m log B_m(v) + b + Σ_r Σ_u P_r(v, u) (B(u) − 1/c) H̄_r

Given beliefs B, this is linear in (w, b, H̄): the fit is one convex problem,

    mean_v CE(logits_v, y_v) + 1/N · ( μ ‖w − w⁰‖² + μ ‖b‖² + λ Σ_r s_r² ‖H̄_r‖² )

w⁰: "the priors alone" is where the penalty pulls to, so that a useless graph costs nothing; a prior
counts there by its honest loss ℓ_m, w⁰ = softmax(−q ℓ_m / min ℓ); w ≥ 0.
s_r² is the mean square of the relation's inputs: λ means the same for counts and means.
B(u): the label where the world of v knows it, u's belief elsewhere; first that of the priors, then
that of the fitted stage itself, which is fitted anew (`ROUNDS` fits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from torch import Tensor

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.sparse import csr_tensor, product

ROUNDS = 3
"""Fits, each with the beliefs of the one before: what is known travels a hop a round."""


@dataclass(frozen=True)
class Pull:
    """How the weights of priors are held: μ and q above."""

    own: float = 10.0
    """μ: 1 and 30 were worse on validation labels of graphs with one kind of nodes."""
    sharpness: float = 2.0
    """q: a prior with twice the loss of the best counts e^-q of it at the start."""


USUAL = Pull()


@dataclass(frozen=True, eq=False)
class Stage:
    """Weights of one round: w [M], b [c], H̄ [R, c, c]."""

    w: np.ndarray
    b: np.ndarray
    H_bar: np.ndarray

    @classmethod
    def before(cls, w_0: np.ndarray, c: int) -> Stage:
        """The priors alone, before anybody is heard."""
        return cls(w_0, np.zeros(c), np.zeros((0, c, c)))

    def own(self, logs: Sequence[np.ndarray]) -> np.ndarray:
        """Σ_m w_m log B_m + b of log-beliefs [..., n, c], one array a prior; float32."""
        total = np.zeros_like(logs[0])
        worlds = range(len(total)) if total.ndim == 3 else [...]  # one at a time: nodes are many
        for w, log_B in zip(self.w, logs, strict=True):
            for f in worlds if w else ():
                total[f] += np.float32(w) * log_B[f]
        total += self.b.astype(np.float32)
        return total

    def __call__(self, logs: Sequence[np.ndarray], heard: Sequence[np.ndarray]) -> np.ndarray:
        """The equation above; `heard` [..., n, c] a relation."""
        logits = self.own(logs)
        for Z, H_bar in zip(heard, self.H_bar, strict=True):
            logits += Z @ H_bar.astype(np.float32)
        return logits

    def everywhere(
        self, logs: Sequence[np.ndarray], P: Sequence[Hearers], B: np.ndarray
    ) -> np.ndarray:
        """The same for all nodes, from beliefs B [n, c] or [k + 1, n, c]."""
        each, (n, c) = torch.from_numpy(spoken(B)), B.shape[-2:]
        total = None
        for P_r, H_bar in zip(P, self.H_bar.astype(np.float32), strict=True):
            heard = product(P_r.matrix, each).numpy()
            if P_r is P[-1]:
                del each  # not needed while the last is added
            said = (heard.reshape(-1, c) @ H_bar).reshape(heard.shape)
            del heard
            total = P_r.added(said, total)
            del said
        assert total is not None
        logits = self.own(logs)
        logits += total.reshape(n, -1, c).transpose(1, 0, 2) if B.ndim == 3 else total
        return logits


@dataclass(frozen=True, eq=False)
class Hearers:
    """P [n, n] without the rows of those who hear nobody, where they are the most: a relation costs
    its entries, however many relations there are."""

    matrix: Tensor
    """[m, n], on the same memory."""
    rows: np.ndarray | None
    """Which nodes they are [m]; None: all."""

    @classmethod
    def of(cls, P: sp.csr_array) -> Hearers:
        n, rows = P.shape[0], np.flatnonzero(np.diff(P.indptr))
        if 2 * len(rows) > n:
            return cls(csr_tensor(P), None)
        parts = P.data, P.indices, np.append(P.indptr[rows], P.indptr[-1])
        return cls(csr_tensor(sp.csr_array(parts, shape=(len(rows), n))), rows)

    def added(self, said: np.ndarray, total: np.ndarray | None) -> np.ndarray:
        """total [n, …] + what these nodes are told [m, …]; None: nothing so far."""
        if self.rows is None:
            return said if total is None else np.add(total, said, out=total)
        if total is None:
            total = np.zeros((self.matrix.shape[1], said.shape[1]), dtype=said.dtype)
        total[self.rows] += said
        return total


def spoken(B: np.ndarray) -> np.ndarray:
    """B − 1/c, all worlds beside each other: [n, (k + 1)·c] of B [k + 1, n, c], or [n, c]."""
    centred = B - np.float32(1 / B.shape[-1])
    return centred if B.ndim == 2 else centred.transpose(1, 0, 2).reshape(B.shape[1], -1)


def beliefs(logits: np.ndarray) -> np.ndarray:
    """softmax over the last axis, class by class: reducing so short an axis takes longer."""
    top = logits[..., 0]
    for j in range(1, logits.shape[-1]):
        top = np.maximum(top, logits[..., j])
    B = logits - top[..., None]
    np.exp(B, out=B)
    B /= (B @ np.ones(B.shape[-1], dtype=B.dtype))[..., None]
    return B


def prior_weights(
    L: np.ndarray, y: np.ndarray, share: np.ndarray, sharpness: float = Pull.sharpness
) -> np.ndarray:
    """w⁰ [M] from honest log-beliefs L [N, M, c] of nodes that count `share` [N]."""
    loss = -(L[np.arange(len(y)), :, y] * share[:, None]).sum(axis=0)
    return np.asarray(softmax(-sharpness * loss / max(float(loss.min()), 1e-6)))


@dataclass(frozen=True, eq=False)
class Taught:
    """Nodes that teach a stage: honest log-beliefs L [N, M, c], what they hear Z [N, R, c], labels
    y [N], and what each counts, share [N] (summing to 1)."""

    L: np.ndarray
    Z: np.ndarray
    y: np.ndarray
    share: np.ndarray

    def of(self, rows: np.ndarray) -> Taught:
        share = self.share[rows]
        total = max(share.sum(), np.float32(1e-12))  # nobody counts: the priors stay alone
        return Taught(self.L[rows], self.Z[rows], self.y[rows], share / total)

    def parts(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """What a stage reads of them: [N, c] of each prior and of each relation."""
        return [*self.L.transpose(1, 0, 2)], [*self.Z.transpose(1, 0, 2)]


def fit_stage(
    of: Taught, lam: float, w_0: np.ndarray, start: Stage | None = None, *, own: float = Pull.own
) -> Stage:
    """argmin of the problem above; `own`: μ."""
    N, M, c = of.L.shape
    R = of.Z.shape[1]
    L, Z = of.L.astype(np.float64), of.Z.astype(np.float64)
    W_Y = np.eye(c)[of.y] * of.share[:, None]
    scale = np.sqrt((Z**2).mean(axis=(0, 2)) * c) + 1e-12  # [R]
    Zs = (Z / scale[None, :, None]).reshape(N, R * c)
    x_0 = np.concatenate([w_0, np.zeros(c + R * c * c)])
    if start is not None:
        x_0 = np.concatenate([start.w, start.b, (start.H_bar * scale[:, None, None]).ravel()])
    pull, pull_H = own / N, lam / N

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        w, b, H = x[:M], x[M : M + c], x[M + c :].reshape(R * c, c)
        logits = np.tensordot(L, w, axes=(1, 0)) + b + Zs @ H
        log_p = log_softmax(logits, axis=1)
        G = np.exp(log_p) * of.share[:, None] - W_Y
        value = -(log_p * W_Y).sum() + pull * (((w - w_0) ** 2).sum() + (b**2).sum())
        value += pull_H * (H**2).sum()
        gradient = [
            np.einsum("nmc,nc->m", L, G) + 2 * pull * (w - w_0),
            G.sum(axis=0) + 2 * pull * b,
            (Zs.T @ G + 2 * pull_H * H).ravel(),
        ]
        return value, np.concatenate(gradient)

    bounds = [(0, None)] * M + [(None, None)] * (len(x_0) - M)  # no prior is heard backwards
    found = minimize(
        objective, x_0, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}
    )
    H_bar = found.x[M + c :].reshape(R, c, c) / scale[:, None, None]
    return Stage(found.x[:M], found.x[M : M + c], H_bar)


@dataclass(frozen=True, eq=False)
class SecondStage:
    """What was fitted, and what it says."""

    w_0: np.ndarray
    stages: tuple[Stage, ...]
    """One a round; the last is the model, those before it make the beliefs that it hears."""
    honest: np.ndarray
    """[N + V, c]: logits of the judged nodes, by weights that were not fitted to them."""


def in_every_world(
    made: SecondStage,
    logs: Sequence[np.ndarray],
    propagators: Sequence[sp.csr_array],
    worlds: Worlds,
) -> np.ndarray:
    """Logits [k + 1, n, c]: what the fitted stage says where the labels of a fold are unknown."""
    P = [Hearers.of(one) for one in propagators]
    logits = Stage.before(made.w_0, worlds.num_classes)(logs, ())
    for stage in made.stages:
        logits = stage.everywhere(logs, P, worlds.with_labels(beliefs(logits)))
    return logits


@dataclass(frozen=True, eq=False)
class Opening:
    """What every fit of a second stage on the same priors starts from."""

    L: np.ndarray
    """[N + V, M, c]: honest log-beliefs of the judged nodes."""
    w_0: np.ndarray
    """[M]"""
    B: np.ndarray
    """[k + 1, n, c]: what the priors alone believe, and the labels that a world knows."""
    own: float
    """μ"""

    @classmethod
    def of(cls, logs: Sequence[np.ndarray], worlds: Worlds, pull: Pull = USUAL) -> Opening:
        """logs: log-beliefs [k + 1, n, c] in every world, one array a prior."""
        L = np.stack([worlds.honest(log_B) for log_B in logs], axis=1)
        y, share = worlds.labels[worlds.judged], worlds.shares()
        w_0 = prior_weights(L, y, share, pull.sharpness)
        logits = Stage.before(w_0, worlds.num_classes)(logs, ())
        return cls(L, w_0, worlds.with_labels(beliefs(logits)), pull.own)


def fit_second_stage(
    logs: Sequence[np.ndarray],
    propagators: Sequence[sp.csr_array],
    worlds: Worlds,
    *,
    lam: float = 1.0,
    rounds: int = ROUNDS,
    opening: Opening | None = None,
) -> SecondStage:
    """logs: log-beliefs [k + 1, n, c] in every world, one array a prior; opening: theirs."""
    N, y, share = len(worlds.train), worlds.labels[worlds.judged], worlds.shares()
    opening = opening or Opening.of(logs, worlds)
    L, w_0, B = opening.L, opening.w_0, opening.B
    everyone = [Hearers.of(P) for P in propagators]
    rows = [P[worlds.judged] for P in propagators]
    stages: list[Stage] = []
    train = np.arange(N)
    for _ in range(rounds):
        if stages:
            B = worlds.with_labels(beliefs(stages[-1].everywhere(logs, everyone, B)))
        taught = Taught(L, _heard_by_judged(rows, B, worlds), y, share)
        before = stages[-1] if stages else None
        stages.append(fit_stage(taught.of(train), lam, w_0, before, own=opening.own))
    honest = stages[-1](*taught.parts()).astype(np.float64)
    for f in range(worlds.num_folds):
        held = np.flatnonzero(worlds.fold == f)
        others = taught.of(np.flatnonzero(worlds.fold != f))
        part = fit_stage(others, lam, w_0, stages[-1], own=opening.own)
        honest[held] = part(*taught.of(held).parts())
    return SecondStage(w_0, tuple(stages), honest)


def _heard_by_judged(rows: Sequence[sp.csr_array], B: np.ndarray, worlds: Worlds) -> np.ndarray:
    """Σ_u P_r(v, u) (B(u) − 1/c) of each judged node v in its own world, [N + V, R, c]."""
    each, M = spoken(B), len(worlds.judged)
    shape = M, worlds.num_worlds, worlds.num_classes
    heard = [(P @ each).reshape(shape)[np.arange(M), worlds.world] for P in rows]
    return np.stack(heard, axis=1)

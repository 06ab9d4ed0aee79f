"""The second stage: own part in log-odds, and one matrix for every relation, fitted at once.

    logits_v = Σ_m w_m log B_m(v) + b + Σ_r Σ_u P_r(v, u) (B(u) − 1/c) H̄_r

Given beliefs B, this is linear in (w, b, H̄): the fit is one convex problem,

    mean_v CE(logits_v, y_v) + 1/N · ( 10 ‖w − w⁰‖² + 10 ‖b‖² + λ Σ_r s_r² ‖H̄_r‖² )

w⁰: "the priors alone" is where the penalty pulls to, so that a useless graph costs nothing; a prior
counts there by its honest loss ℓ_m, w⁰ = softmax(−2 ℓ_m / min ℓ); w ≥ 0.
s_r² is the mean square of the relation's inputs: λ means the same for counts and means.
B(u): the label where the world of v knows it, u's belief elsewhere; first that of the priors, then
that of the fitted stage itself, which is fitted anew (`ROUNDS` fits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from cpgnn.engine.cross_fitting import Worlds

OWN_WEIGHT = 10.0
"""The pull on w and b; 1 and 30 were worse on validation labels."""
ROUNDS = 3
"""Fits, each with the beliefs of the one before: what is known travels a hop a round."""
SHARPNESS = 2.0
"""A prior with twice the loss of the best counts e^-2 of it at the start."""


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
        for w, log_B in zip(self.w, logs, strict=True):
            if w:
                total += np.float32(w) * log_B
        return total + self.b.astype(np.float32)

    def __call__(self, logs: Sequence[np.ndarray], heard: Sequence[np.ndarray]) -> np.ndarray:
        """The equation above; `heard` [..., n, c] a relation."""
        logits = self.own(logs)
        for Z, H_bar in zip(heard, self.H_bar, strict=True):
            logits += Z @ H_bar.astype(np.float32)
        return logits


def heard(P: sp.csr_array, B: np.ndarray) -> np.ndarray:
    """P (B − 1/c) for B [n, c], or for every world at once: [k + 1, n, c]."""
    c = B.shape[-1]
    if B.ndim == 2:
        return np.asarray(P @ (B - np.float32(1 / c)))
    K, n, _ = B.shape
    flat = np.ascontiguousarray((B - np.float32(1 / c)).transpose(1, 0, 2).reshape(n, K * c))
    return np.asarray((P @ flat).reshape(P.shape[0], K, c).transpose(1, 0, 2))


def prior_weights(L: np.ndarray, y: np.ndarray, share: np.ndarray) -> np.ndarray:
    """w⁰ [M] from honest log-beliefs L [N, M, c] of nodes that count `share` [N]."""
    loss = -(L[np.arange(len(y)), :, y] * share[:, None]).sum(axis=0)
    return np.asarray(softmax(-SHARPNESS * loss / max(float(loss.min()), 1e-6)))


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
        return Taught(self.L[rows], self.Z[rows], self.y[rows], share / share.sum())


def fit_stage(of: Taught, lam: float, w_0: np.ndarray, start: Stage | None = None) -> Stage:
    """argmin of the problem above."""
    N, M, c = of.L.shape
    R = of.Z.shape[1]
    L, Z = of.L.astype(np.float64), of.Z.astype(np.float64)
    W_Y = np.eye(c)[of.y] * of.share[:, None]
    scale = np.sqrt((Z**2).mean(axis=(0, 2)) * c) + 1e-12  # [R]
    Zs = (Z / scale[None, :, None]).reshape(N, R * c)
    x_0 = np.concatenate([w_0, np.zeros(c + R * c * c)])
    if start is not None:
        x_0 = np.concatenate([start.w, start.b, (start.H_bar * scale[:, None, None]).ravel()])
    pull, pull_H = OWN_WEIGHT / N, lam / N

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
    logits = Stage.before(made.w_0, worlds.num_classes)(logs, ())
    for stage in made.stages:
        B = worlds.with_labels(softmax(logits, axis=2))
        logits = stage(logs, [heard(P, B) for P in propagators])
    return logits


def fit_second_stage(
    logs: Sequence[np.ndarray],
    propagators: Sequence[sp.csr_array],
    worlds: Worlds,
    *,
    lam: float = 1.0,
    rounds: int = ROUNDS,
) -> SecondStage:
    """logs: log-beliefs [k + 1, n, c] in every world, one array a prior."""
    N, y, share = len(worlds.train), worlds.labels[worlds.judged], worlds.shares()
    L = np.stack([worlds.honest(log_B) for log_B in logs], axis=1)  # [N + V, M, c]
    w_0 = prior_weights(L, y, share)
    logits = Stage.before(w_0, worlds.num_classes)(logs, ())
    stages: list[Stage] = []
    train = np.arange(N)
    for _ in range(rounds):
        B = worlds.with_labels(softmax(logits, axis=2))
        Z = [heard(P, B) for P in propagators]
        taught = Taught(L, np.stack([worlds.honest(z) for z in Z], axis=1), y, share)
        stages.append(fit_stage(taught.of(train), lam, w_0, stages[-1] if stages else None))
        logits = stages[-1](logs, Z)
    honest = worlds.honest(logits).astype(np.float64)
    for f in range(worlds.num_folds):
        held = np.flatnonzero(worlds.fold == f)
        part = fit_stage(taught.of(np.flatnonzero(worlds.fold != f)), lam, w_0, stages[-1])
        logs_held = [taught.L[held, m] for m in range(len(logs))]
        honest[held] = part(logs_held, [taught.Z[held, r] for r in range(len(Z))])
    return SecondStage(w_0, tuple(stages), honest)

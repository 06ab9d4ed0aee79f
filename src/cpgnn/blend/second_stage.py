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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from torch import Tensor

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.sparse import csr_tensor, product

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
        total += self.b.astype(np.float32)
        return total

    def __call__(self, logs: Sequence[np.ndarray], heard: Sequence[np.ndarray]) -> np.ndarray:
        """The equation above; `heard` [..., n, c] a relation."""
        logits = self.own(logs)
        for Z, H_bar in zip(heard, self.H_bar, strict=True):
            logits += Z @ H_bar.astype(np.float32)
        return logits

    def everywhere(
        self, logs: Sequence[np.ndarray], P: Sequence[Tensor], B: np.ndarray
    ) -> np.ndarray:
        """The same for all nodes, from beliefs B [n, c] or [k + 1, n, c] and P_r of `tensors`."""
        heard = (product(P_r, said) for P_r, said in zip(P, self._said(B), strict=True))
        total = reduce(Tensor.add_, heard).numpy()
        logits = self.own(logs)
        n, c = B.shape[-2:]
        logits += total.reshape(n, -1, c).transpose(1, 0, 2) if B.ndim == 3 else total
        return logits

    def _said(self, B: np.ndarray) -> Iterator[Tensor]:
        """(B − 1/c) H̄_r of each relation in turn, all worlds side by side, [n, …]."""
        each, (n, c) = spoken(B), B.shape[-2:]
        *others, last = self.H_bar.astype(np.float32)
        for H_bar in others:
            yield torch.from_numpy((each.reshape(-1, c) @ H_bar).reshape(n, -1))
        said = (each.reshape(-1, c) @ last).reshape(n, -1)
        del each  # not needed while this is heard
        yield torch.from_numpy(said)


def tensors(propagators: Sequence[sp.csr_array]) -> list[Tensor]:
    """P_r [n, n] for `Stage.everywhere`, on the same memory."""
    return [csr_tensor(P) for P in propagators]


def spoken(B: np.ndarray) -> np.ndarray:
    """B − 1/c, all worlds beside each other: [n, (k + 1)·c] of B [k + 1, n, c], or [n, c]."""
    centred = B - np.float32(1 / B.shape[-1])
    return centred if B.ndim == 2 else centred.transpose(1, 0, 2).reshape(B.shape[1], -1)


def beliefs(logits: np.ndarray) -> np.ndarray:
    """softmax over the last axis, class by class: reducing so short an axis takes longer."""
    top = logits[..., 0]
    for j in range(1, logits.shape[-1]):
        top = np.maximum(top, logits[..., j])
    B = np.exp(logits - top[..., None])
    B /= (B @ np.ones(B.shape[-1], dtype=B.dtype))[..., None]
    return B


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

    def parts(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """What a stage reads of them: [N, c] of each prior and of each relation."""
        return [*self.L.transpose(1, 0, 2)], [*self.Z.transpose(1, 0, 2)]


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
    P, logits = tensors(propagators), Stage.before(made.w_0, worlds.num_classes)(logs, ())
    for stage in made.stages:
        logits = stage.everywhere(logs, P, worlds.with_labels(beliefs(logits)))
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
    B = worlds.with_labels(beliefs(Stage.before(w_0, worlds.num_classes)(logs, ())))
    everyone, rows = tensors(propagators), [P[worlds.judged] for P in propagators]
    stages: list[Stage] = []
    train = np.arange(N)
    for _ in range(rounds):
        if stages:
            B = worlds.with_labels(beliefs(stages[-1].everywhere(logs, everyone, B)))
        taught = Taught(L, _heard_by_judged(rows, B, worlds), y, share)
        stages.append(fit_stage(taught.of(train), lam, w_0, stages[-1] if stages else None))
    honest = stages[-1](*taught.parts()).astype(np.float64)
    for f in range(worlds.num_folds):
        held = np.flatnonzero(worlds.fold == f)
        part = fit_stage(taught.of(np.flatnonzero(worlds.fold != f)), lam, w_0, stages[-1])
        honest[held] = part(*taught.of(held).parts())
    return SecondStage(w_0, tuple(stages), honest)


def _heard_by_judged(rows: Sequence[sp.csr_array], B: np.ndarray, worlds: Worlds) -> np.ndarray:
    """Σ_u P_r(v, u) (B(u) − 1/c) of each judged node v in its own world, [N + V, R, c]."""
    each, M = spoken(B), len(worlds.judged)
    shape = M, worlds.num_worlds, worlds.num_classes
    heard = [(P @ each).reshape(shape)[np.arange(M), worlds.world] for P in rows]
    return np.stack(heard, axis=1)

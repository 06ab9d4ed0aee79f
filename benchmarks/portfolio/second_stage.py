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

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from cpgnn.cross_fitting import Worlds

OWN_WEIGHT = 10.0
"""The pull on w and b; 1 and 30 were worse on validation labels."""
ROUNDS = 3
"""Fits, each with the beliefs of the one before: what is known travels a hop a round."""
SHARPNESS = 2.0
"""A prior with twice the loss of the best counts e^-2 of it at the start."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Fitted weights: w [M], b [c], H [R, c, c]."""

    w: np.ndarray
    b: np.ndarray
    H: np.ndarray

    def __call__(self, L: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """logits [..., c] of L [..., M, c] (log-beliefs) and Z [..., R, c] (what is heard)."""
        own = np.einsum("...mc,m->...c", L, self.w) + self.b
        return own + np.einsum("...rc,rcd->...d", Z, self.H)


def heard(P: sp.csr_array, B: np.ndarray) -> np.ndarray:
    """P (B − 1/c) for every world at once: B [k + 1, n, c] -> [k + 1, n, c]."""
    K, n, c = B.shape
    flat = np.ascontiguousarray((B - 1 / c).transpose(1, 0, 2).reshape(n, K * c))
    return (P @ flat).reshape(P.shape[0], K, c).transpose(1, 0, 2)


def prior_weights(L: np.ndarray, y: np.ndarray, sharpness: float = SHARPNESS) -> np.ndarray:
    """w⁰ [M] from honest log-beliefs L [N, M, c]."""
    loss = -L[np.arange(len(y)), :, y].mean(axis=0)
    return softmax(-sharpness * loss / max(float(loss.min()), 1e-6))


def fit_stage(
    L: np.ndarray,
    Z: np.ndarray,
    y: np.ndarray,
    lam: float,
    w_0: np.ndarray,
    start: Stage | None = None,
) -> Stage:
    """argmin of the problem above; L [N, M, c], Z [N, R, c], y [N]."""
    N, M, c = L.shape
    R = Z.shape[1]
    Y = np.eye(c)[y]
    L, Z = L.astype(np.float64), Z.astype(np.float64)
    scale = np.sqrt((Z**2).mean(axis=(0, 2)) * c) + 1e-12  # [R]
    Zs = (Z / scale[None, :, None]).reshape(N, R * c)
    x_0 = np.concatenate([w_0, np.zeros(c + R * c * c)])
    if start is not None:
        x_0 = np.concatenate([start.w, start.b, (start.H * scale[:, None, None]).ravel()])

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        w, b, H = x[:M], x[M : M + c], x[M + c :].reshape(R * c, c)
        logits = np.tensordot(L, w, axes=(1, 0)) + b + Zs @ H
        log_p = log_softmax(logits, axis=1)
        G = (np.exp(log_p) - Y) / N
        dw = np.einsum("nmc,nc->m", L, G)
        pull, pull_H = 2 * OWN_WEIGHT / N, 2 * lam / N
        value = -(log_p * Y).sum() / N + (pull / 2) * (((w - w_0) ** 2).sum() + (b**2).sum())
        value += (pull_H / 2) * (H**2).sum()
        gradient = np.concatenate(
            [
                dw + pull * (w - w_0),
                G.sum(axis=0) + pull * b,
                (Zs.T @ G + pull_H * H).ravel(),
            ]
        )
        return value, gradient

    bounds = [(0, None)] * M + [(None, None)] * (len(x_0) - M)  # no prior is heard backwards
    found = minimize(
        objective, x_0, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}
    )
    x = found.x
    H = x[M + c :].reshape(R, c, c) / scale[:, None, None]
    return Stage(x[:M], x[M : M + c], H)


@dataclass(frozen=True, eq=False)
class SecondStage:
    """What was fitted, and its log-beliefs in every world."""

    stage: Stage
    logits: np.ndarray
    """[k + 1, n, c]."""
    honest: np.ndarray
    """[N + V, c]: logits of the judged nodes, by weights that were not fitted to them."""
    beliefs: np.ndarray
    """[n, c] of the last world: what neighbours speak with, the label where it is known."""
    propagators: list[sp.csr_array]


def fit_second_stage(
    logs: np.ndarray,
    propagators: list[sp.csr_array],
    worlds: Worlds,
    *,
    lam: float = 1.0,
    rounds: int = ROUNDS,
) -> SecondStage:
    """logs [M, k + 1, n, c]: log-beliefs of the priors in every world."""
    N = len(worlds.train)
    y = worlds.labels[worlds.judged]
    L = np.ascontiguousarray(logs.transpose(1, 2, 0, 3))  # [k + 1, n, M, c]
    L_judged = worlds.honest(L)
    w_0 = prior_weights(L_judged, y)
    logits = np.einsum("mknc,m->knc", logs, w_0.astype(np.float32))
    stage = None
    for _ in range(rounds if propagators else 1):
        B = worlds.with_labels(softmax(logits, axis=2))
        if propagators:
            Z = np.stack([heard(P, B) for P in propagators], axis=2)  # [k + 1, n, R, c]
        else:
            Z = np.zeros((*logits.shape[:2], 0, logits.shape[2]), dtype=np.float32)
        Z_judged = worlds.honest(Z)
        stage = fit_stage(L_judged[:N], Z_judged[:N], y[:N], lam, w_0, stage)
        logits = stage(L, Z).astype(np.float32)
    assert stage is not None
    honest = worlds.honest(logits).astype(np.float64)
    for f in range(worlds.num_folds):
        fits, held = np.flatnonzero(worlds.fold != f), np.flatnonzero(worlds.fold == f)
        part = fit_stage(L_judged[fits], Z_judged[fits], y[fits], lam, w_0, stage)
        honest[held] = part(L_judged[held], Z_judged[held])
    return SecondStage(stage, logits, honest, B[-1], propagators)

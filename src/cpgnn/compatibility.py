"""The compatibility matrix: estimating it, centring it, reading it back.

H̄ is the centred matrix that propagation multiplies with; Ĥ is the doubly stochastic matrix that
people read. Neither is an edge frequency: see `edge_frequency`.
"""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import hardshrink

from cpgnn.errors import NumericalNotice, check_choice, must_be
from cpgnn.homophily import row_normalized

Weighting = Literal["edge", "node"]


class Balanced(NamedTuple):
    """What `sinkhorn_knopp` returns."""

    matrix: np.ndarray
    rounds: int
    residual: float
    """Largest distance of a row or column sum from 1."""


def sinkhorn_knopp(
    matrix: np.ndarray, *, tolerance: float = 1e-12, max_rounds: int = 3000
) -> Balanced:
    """The doubly stochastic D₁ M D₂ of a non-negative square M, by scaling columns, then rows.

    Stops when a round changes M by less than `tolerance` (L1). A zero row or column becomes 1/c
    first. A pattern of zeros can make convergence slow or impossible (two classes with an exact
    0, for example): the last iterate is returned with its residual, and a `NumericalNotice`.
    """
    M = np.array(matrix, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise must_be("The matrix", "be square", M.shape)
    if not np.isfinite(M).all() or (M < 0).any():
        raise must_be("The matrix", "be finite and not negative", M.tolist())
    c = len(M)
    M[M.sum(axis=1) == 0] = 1 / c
    M[:, M.sum(axis=0) == 0] = 1 / c
    rounds = 0
    for rounds in range(1, max_rounds + 1):  # noqa: B007 - reported
        before = M
        M = M / M.sum(axis=0)
        M = M / M.sum(axis=1, keepdims=True)
        if np.abs(M - before).sum() < tolerance:
            break
    residual = float(np.abs(M.sum(axis=0) - 1).max())
    if residual > 1e-6:
        warnings.warn(
            f"Sinkhorn stopped after {rounds} rounds with column sums off by {residual:.1e}: "
            "because of its zeros, no doubly stochastic matrix is close to it.",
            NumericalNotice,
            stacklevel=2,
        )
    return Balanced(M, rounds, residual)


def enhanced_belief(B_p: np.ndarray, labels: np.ndarray, train: np.ndarray) -> np.ndarray:
    """B̃ = Y_train + (1 - M) ∘ B_p: known labels where there are any, the prior elsewhere.

    A training node without a label (-1) keeps its prior.
    """
    B = np.array(B_p, dtype=np.float64)
    known = np.asarray(train)[labels[train] >= 0]
    B[known] = 0.0
    B[known, labels[known]] = 1.0
    return B


def estimate_compatibility(
    A: sp.csr_array,
    B_tilde: np.ndarray,
    labels: np.ndarray,
    *,
    weighting: Weighting = "node",
) -> np.ndarray:
    """Ĥ = Sinkhorn(Y_trainᵀ A B̃), float64 [c, c].

    A [t, s]: rows of the t training nodes; B̃ [s, c]; labels [t], where -1 (unknown) does not count.
    With `weighting="edge"` every edge counts once, as the paper writes; with "node" the neighbour
    beliefs of each training node are averaged first, so that every labelled node counts once, as
    the authors' code does.
    """
    check_choice("weighting", weighting, get_args(Weighting))
    c = B_tilde.shape[1]
    messages = A @ B_tilde
    if weighting == "node":
        messages = np.nan_to_num(row_normalized(messages))
    C = np.zeros((c, c))
    known = labels >= 0
    np.add.at(C, labels[known], messages[known])
    return sinkhorn_knopp(_filled(row_normalized(C))).matrix


def _filled(H: np.ndarray) -> np.ndarray:
    """Rows without evidence (NaN) taken from the column; what is unknown shares 1 - row sum."""
    unknown = np.isnan(H[:, 0])
    if not unknown.any():
        return H
    H = H.copy()
    H[np.ix_(unknown, ~unknown)] = H[np.ix_(~unknown, unknown)].T
    rest = 1 - H[np.ix_(unknown, ~unknown)].sum(axis=1, keepdims=True)
    H[np.ix_(unknown, unknown)] = np.maximum(rest, 0) / unknown.sum()
    return H


def initial_H_bar(H_hat: np.ndarray) -> np.ndarray:
    """H̄₀ = ½(Ĥ + Ĥᵀ) - 1/c: symmetric and centred around 0."""
    H_hat = np.asarray(H_hat, dtype=np.float64)
    return (H_hat + H_hat.T) / 2 - 1 / len(H_hat)


def centering_penalty(H_bar: Tensor) -> Tensor:
    """Σ_i |Σ_j H̄_ij|, which Φ multiplies with η: how far the rows are from being centred.

    A row sum that is 0 but for rounding, as in H̄₀, counts as 0: the sign of its gradient would
    be noise, and Adam makes a full step of any sign.
    """
    rounding = 0.01 * torch.finfo(H_bar.dtype).eps ** 0.5
    return torch.linalg.vector_norm(hardshrink(H_bar.sum(dim=1), rounding), ord=1)


def recalibration(H_bar: np.ndarray) -> float:
    """α = min {a ≥ 1 : 0 ≤ H̄/a + 1/c ≤ 1}."""
    c = len(H_bar)
    upper = H_bar.max() / (1 - 1 / c) if c > 1 else 1.0
    return float(max(1.0, -H_bar.min() * c, upper))


def recover_compatibility(H_bar: np.ndarray) -> np.ndarray:
    """Ĥ = Sinkhorn(H̄/α + 1/c), the doubly stochastic matrix that H̄ stands for."""
    H_bar = np.asarray(H_bar, dtype=np.float64)
    H = H_bar / recalibration(H_bar) + 1 / len(H_bar)
    return sinkhorn_knopp(np.clip(H, 0, 1)).matrix


def compatibility_error(H_hat: np.ndarray, H: np.ndarray) -> float:
    """δ̄_H = Σ|Ĥ - H| / c², over the rows of H that have evidence."""
    return float(np.nanmean(np.abs(H_hat - H)))


def edge_frequency(A: sp.csr_array, B: np.ndarray) -> np.ndarray:
    """Rows of BᵀAB scaled to sum 1, float64 [c, c]: Definition 2 with beliefs for labels.

    Entry (i, j) reads "of the edges of class i, this share leads to class j". B [n, c] holds a
    distribution over the classes for every node. Unlike Ĥ it is not doubly stochastic: with one
    frequent and one rare class the two differ widely.
    """
    B = np.asarray(B, dtype=np.float64)
    return row_normalized(B.T @ (A @ B))

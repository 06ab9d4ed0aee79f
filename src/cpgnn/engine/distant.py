"""H from few labels: what labels several steps apart tell (distant compatibility estimation).

With nine labels in ten thousand nodes hardly any edge joins two of them, but many paths do, and
the labels at the two ends of a path of ℓ edges follow H^ℓ. Paths that turn back on themselves
would say that everybody is like himself, so only non-backtracking paths count. H is the symmetric
doubly stochastic matrix whose powers come closest to what the paths of length 1 … 5 show:

    E(H) = Σ_ℓ w^(ℓ-1) ‖P̂^(ℓ) - H^ℓ‖²

(Krishna Kumar P., Langton and Gatterbauer, SIGMOD 2020.) Long paths are many, so they are weighed
most; an odd length tells the signs apart that an even power hides. The paper recommends w = 10,
its public code runs the restarted estimate with 100: with nine labels that is worth four points
(`benchmarks/few_labels.py`), and with many it makes no difference.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import minimize
from scipy.sparse.linalg import eigsh

from cpgnn.compatibility import initial_H_bar, sinkhorn_knopp
from cpgnn.engine.arrays import pattern
from cpgnn.engine.sparse import SparseOperator
from cpgnn.errors import NumericalNotice
from cpgnn.propagation import propagate

LENGTHS = 5
WEIGHT = 100.0
"""What paths one step longer weigh more."""
RESTARTS = 10
PRIOR = 1e-3
"""What every count of paths gets, in units of the mean count of its length."""
SPREAD = 0.5
"""ρ(A)·ρ(H̄) of linearised propagation: below 1, so that it converges."""


def path_counts(
    A: sp.csr_array, labels: np.ndarray, train: np.ndarray, num_classes: int, lengths: int = LENGTHS
) -> np.ndarray:
    """M^(ℓ) [lengths, c, c]: non-backtracking paths of ℓ edges by the labels at their ends.

    With N^(0) = X, the one-hot labels of the training nodes,

        N^(1) = A X,  N^(2) = A N^(1) - D X,  N^(ℓ) = A N^(ℓ-1) - (D - I) N^(ℓ-2),

    and M^(ℓ) = Xᵀ N^(ℓ). Every edge counts once, whatever its weight. Time and memory are linear
    in the edges: no power of A is ever formed.
    """
    A = pattern(A, np.float64)
    d = np.diff(A.indptr).astype(np.float64)[:, None]
    X = np.zeros((A.shape[0], num_classes))
    X[train, labels[train]] = 1
    N = [X, A @ X]
    M = []
    for step in range(1, lengths + 1):
        if step > 1:
            back = d if step == 2 else d - 1
            N = [N[1], A @ N[1] - back * N[0]]
        M.append(X.T @ N[1])
    return np.stack(M)


def path_frequencies(M: np.ndarray) -> np.ndarray:
    """P̂^(ℓ) [lengths, c, c]: M^(ℓ) with rows and columns scaled to sum 1.

    Classes with more labels or more edges have more paths, M_ij ∝ a_i (H^ℓ)_ij a_j: what is left
    when a is scaled away is doubly stochastic, like H^ℓ. A little is added to every count, so that
    a class that no path reaches gets 1/c.
    """
    with warnings.catch_warnings():  # zeros that cannot be balanced: close is enough here
        warnings.simplefilter("ignore", NumericalNotice)
        return np.stack(
            [
                sinkhorn_knopp(M_l + PRIOR * (M_l.mean() or 1.0), max_rounds=100).matrix
                for M_l in np.maximum(M, 0.0)
            ]
        )


def centred_basis(c: int) -> np.ndarray:
    """Q [c, c - 1]: orthonormal columns that each sum to 0.

    H = 1/c + Q S Qᵀ with a symmetric S is every symmetric matrix with rows that sum to 1, and
    H^ℓ = 1/c + Q S^ℓ Qᵀ.
    """
    centred = np.eye(c) - 1 / c
    return np.linalg.qr(centred[:, : c - 1])[0]


def power_energy(
    S: np.ndarray, R: np.ndarray, Q: np.ndarray, weight: float = WEIGHT
) -> tuple[float, np.ndarray]:
    """Σ_ℓ w^(ℓ-L) ‖R_ℓ - S^ℓ‖² + w ‖min(H, 0)‖² and its gradient for a symmetric S.

    R_ℓ = ½Qᵀ(P̂^(ℓ) + P̂^(ℓ)ᵀ)Q [c - 1, c - 1]; the second term keeps H = 1/c + Q S Qᵀ from
    becoming negative. ∂‖R - S^ℓ‖²/∂S = -2 Σ_r S^r (R - S^ℓ) S^(ℓ-1-r).
    """
    powers = [np.eye(len(S))]
    for _ in R:
        powers.append(powers[-1] @ S)
    energy, gradient = 0.0, np.zeros_like(S)
    for step, target in enumerate(R, start=1):
        rest = target - powers[step]
        w = weight ** (step - len(R))
        energy += w * float((rest**2).sum())
        for r in range(step):
            gradient -= 2 * w * powers[r] @ rest @ powers[step - 1 - r]
    below = np.minimum(1 / len(Q) + Q @ S @ Q.T, 0)
    energy += weight * float((below**2).sum())
    return energy, gradient + 2 * weight * Q.T @ below @ Q


def fit_powers(
    P: np.ndarray, *, restarts: int = RESTARTS, weight: float = WEIGHT, seed: int = 0
) -> np.ndarray:
    """argmin_H E(H) over symmetric doubly stochastic H, from P̂^(ℓ) [lengths, c, c].

    E has many minima. The descents start at the real ℓ-th roots of R_ℓ (odd powers have one, even
    ones a sign for each eigenvalue) and, up to `restarts`, at random matrices.
    """
    c = P.shape[1]
    Q = centred_basis(c)
    R = np.stack([Q.T @ (P_l + P_l.T) @ Q / 2 for P_l in P])
    rng = np.random.default_rng(seed)
    best: tuple[float, np.ndarray] | None = None

    def energy(s: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = power_energy(_symmetric(s, c - 1), R, Q, weight)
        return value, gradient.ravel()

    for start in _starts(R, restarts, rng):
        how = {"method": "L-BFGS-B", "options": {"maxiter": 200}}
        found = minimize(energy, start.ravel(), jac=True, **how)
        if best is None or found.fun < best[0]:
            best = float(found.fun), _symmetric(found.x, c - 1)
    assert best is not None
    H_bar = Q @ best[1] @ Q.T
    H_bar /= max(1.0, -c * float(H_bar.min(initial=0.0)))  # what the penalty left below 0
    return (H_bar + H_bar.T) / 2 + 1 / c


def _symmetric(s: np.ndarray, size: int) -> np.ndarray:
    S = s.reshape(size, size)
    return (S + S.T) / 2


def _starts(R: np.ndarray, restarts: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Roots of R_1, R_2, …, then random matrices, all with a spectrum in [-1, 1]."""
    size, starts = R.shape[1], []
    for step, target in enumerate(R, start=1):
        values, V = np.linalg.eigh(target)
        root = np.sign(values) * np.abs(values) ** (1 / step)
        signs = [np.ones(size)] if step % 2 else [np.sign(rng.normal(size=size)), -np.ones(size)]
        starts += [
            (V * np.clip(root if step % 2 else np.abs(root) * s, -1, 1)) @ V.T for s in signs
        ]
    while len(starts) < restarts:
        S = rng.normal(size=(size, size)) / (2 * max(size, 1))
        starts.append((S + S.T) / 2)
    return starts[:restarts]


def estimate_from_few(
    A: sp.csr_array,
    labels: np.ndarray,
    train: np.ndarray,
    *,
    num_classes: int | None = None,
    seed: int = 0,
) -> np.ndarray:
    """H [c, c], symmetric and doubly stochastic, from the labels of the training nodes alone.

    A [n, n]; labels [n], read at `train` only; c is the largest training label + 1 unless given.
    A class without labels, or without paths to others, gets 1/c.
    """
    c = int(labels[train].max()) + 1 if num_classes is None else num_classes
    return fit_powers(path_frequencies(path_counts(A, labels, train, c)), seed=seed)


def spread_labels(
    A: sp.csr_array,
    labels: np.ndarray,
    train: np.ndarray,
    H: np.ndarray | None = None,
    *,
    num_layers: int = 10,
) -> np.ndarray:
    """Centred beliefs [n, c] of every node from few labels and no features; argmax is the class.

    Linearised belief propagation, B̄ = X̄ + ε A B̄ H̄ for `num_layers` steps, with ε such that
    ε ρ(A) ρ(H̄) = ½. Without H, `estimate_from_few` finds it. Beliefs are 0 where no label reaches.
    """
    H = estimate_from_few(A, labels, train) if H is None else np.asarray(H, dtype=np.float64)
    H_bar, c = initial_H_bar(H), len(H)
    X = np.zeros((A.shape[0], c))
    X[train] = -1 / c
    X[train, labels[train]] += 1
    growth = spectral_radius(A) * float(np.abs(np.linalg.eigvalsh(H_bar)).max())
    if growth < 1e-12:
        return X
    operator = SparseOperator.from_scipy(A, "cpu", torch.float64, symmetric=True)
    B = propagate(
        operator, torch.from_numpy(X), torch.from_numpy(H_bar * SPREAD / growth), num_layers
    )
    return np.asarray(B.numpy())


def spectral_radius(A: sp.csr_array) -> float:
    """ρ(A) of a symmetric A, to a thousandth."""
    if A.shape[0] < 3 or A.nnz == 0:
        return float(np.abs(np.linalg.eigvalsh(A.toarray())).max()) if A.nnz else 0.0
    start = np.ones(A.shape[0])  # the same answer every time
    top = eigsh(A.astype(np.float64), k=1, v0=start, tol=1e-3, return_eigenvectors=False)
    return float(abs(top[0]))

"""What a prior can read: own columns, the neighbourhood's, the shape of the graph around a node.

Dense blocks are [n, d] float32 with d small; a wide sparse X is projected first, so that no dense
n × F copy is ever made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.arrays import pattern

LARGE = 1 << 23
"""Values of a block that no cache holds: from there on torch's product takes half the time."""


def times(M: sp.csr_array, Z: np.ndarray) -> np.ndarray:
    """M Z for a block of columns."""
    if Z.size < LARGE:
        return np.asarray(M @ Z)
    import torch  # workers of Spark, which have small blocks, start without it

    from cpgnn.engine.sparse import csr_tensor, product

    return np.asarray(product(csr_tensor(M), torch.from_numpy(Z)).numpy())


def principal_directions(X: Any, d: int, seed: int = 0) -> np.ndarray:
    """V [F, d], the leading right singular vectors of X [n, F]; columns beyond its rank are 0.

    Sparse X is never filled: random projection with two power steps, products with X alone.
    """
    n, F = X.shape
    Q = X @ np.random.default_rng(seed).standard_normal((F, min(d + 16, n))).astype(np.float32)
    for _ in range(2):
        Q, _ = np.linalg.qr(Q)
        Q, _ = np.linalg.qr(X.T @ Q)
        Q = X @ Q
    Q, _ = np.linalg.qr(Q)
    _, _, Vt = np.linalg.svd(np.asarray((X.T @ Q).T), full_matrices=False)
    V = np.zeros((F, d), dtype=np.float32)
    V[:, : min(d, len(Vt))] = Vt[:d].T
    return V


def mean_of_neighbours(A: sp.csr_array) -> sp.csr_array:
    """R = D^-1 A."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    scale = np.divide(1, degree, out=np.zeros_like(degree, dtype=np.float64), where=degree > 0)
    return sp.csr_array(sp.diags_array(scale.astype(np.float32)) @ A, dtype=np.float32)


def with_self(A: sp.csr_array) -> sp.csr_array:
    """Ã = D̃^-½ (A + I) D̃^-½."""
    S = sp.csr_array(A + sp.eye_array(A.shape[0], format="csr", dtype=np.float32))
    scale = np.asarray(S.sum(axis=1)).ravel().astype(np.float32) ** -0.5
    S.data *= np.repeat(scale, np.diff(S.indptr))  # in place: a product would copy all entries
    S.data *= scale[S.indices]
    return S


def powered(A: sp.csr_array, Z: np.ndarray, steps: int = 3) -> np.ndarray:
    """Ã^k Z, the input of SGC."""
    S = with_self(A)
    for _ in range(steps):
        Z = times(S, Z)
    return Z


def personalised(A: sp.csr_array, Z: np.ndarray, alpha: float = 0.1, steps: int = 10) -> np.ndarray:
    """Z_{t+1} = α Z + (1 - α) Ã Z_t: columns smoothed by personalised PageRank."""
    S, S_Z, own = with_self(A), Z, alpha * Z
    for _ in range(steps):
        S_Z = times(S, S_Z)
        S_Z *= 1 - alpha
        S_Z += own
    return S_Z


def hops(A: sp.csr_array, Z: np.ndarray, steps: int = 2) -> list[np.ndarray]:
    """[Z, R Z, R² Z]: own columns and their means over one and two hops; a missing value counts
    neither above nor below the line."""
    R, blocks = mean_of_neighbours(A), [Z]
    known = ~np.isnan(Z)
    if known.all():
        for _ in range(steps):
            blocks.append(times(R, blocks[-1]))
        return blocks
    above, below = np.where(known, Z, 0).astype(np.float32), known.astype(np.float32)
    for _ in range(steps):
        above, below = times(R, above), times(R, below)
        with np.errstate(invalid="ignore", divide="ignore"):
            blocks.append(above / below)
    return blocks


def extremes(A: sp.csr_array, Z: np.ndarray) -> list[np.ndarray]:
    """The largest and smallest value among the neighbours; missing where there is none."""
    n, d = Z.shape
    large = np.full((n, d), np.nan, dtype=np.float32)
    small = large.copy()
    rows = np.flatnonzero(np.diff(A.indptr))
    starts = A.indptr[rows]
    for j in range(d):  # a column at a time: nnz values, never nnz × d
        values = Z[A.indices, j]
        large[rows, j] = np.fmax.reduceat(values, starts)
        small[rows, j] = np.fmin.reduceat(values, starts)
    return [large, small]


STRUCTURE = (
    "degree",
    "degree, mean of neighbours",
    "degree, largest of neighbours",
    "degree, smallest of neighbours",
    "core number",
    "PageRank",
    "triangles",
)


def structure(A: sp.csr_array) -> np.ndarray:
    """[n, 7]: see `STRUCTURE`; all but the last, a share, are logarithms."""
    degree = np.diff(A.indptr).astype(np.float32)
    log_degree = np.log1p(degree)[:, None]
    large, small = extremes(A, log_degree)
    blocks = [
        log_degree,
        mean_of_neighbours(A) @ log_degree,
        large,
        small,
        np.log1p(core_number(A))[:, None],
        np.log(pagerank(A))[:, None],
        clustering(A)[:, None],
    ]
    return np.concatenate(blocks, axis=1).astype(np.float32)


def core_number(A: sp.csr_array) -> np.ndarray:
    """The k of the largest k-core that holds the node: peeled in rounds, all at once."""
    degree = np.diff(A.indptr).astype(np.int64)
    core = np.zeros(len(degree), dtype=np.float32)
    left = np.ones(len(degree), dtype=bool)
    k = 0
    while left.any():
        peeled = left & (degree <= k)
        if not peeled.any():
            k = int(degree[left].min())
            continue
        core[peeled] = k
        left &= ~peeled
        rows = np.flatnonzero(peeled)
        gone = A[rows].indices
        degree -= np.bincount(gone, minlength=len(degree))
    return core


def pagerank(A: sp.csr_array, alpha: float = 0.85, steps: int = 30) -> np.ndarray:
    """In multiples of the mean of nodes with edges; who has none is reached by chance alone."""
    n = A.shape[0]
    degree = np.asarray(A.sum(axis=1)).ravel()
    share = np.divide(1, degree, out=np.zeros(n), where=degree > 0)
    p = np.ones(n)
    for _ in range(steps):
        p = (1 - alpha) + alpha * (A.T @ (p * share))
    return p


def clustering(A: sp.csr_array, most: int = 20_000_000) -> np.ndarray:
    """Of the pairs of neighbours of v, the share that is joined; NaN where it costs too much."""
    counts = np.diff(A.indptr).astype(np.float64)
    if (counts**2).sum() > most:
        return np.full(A.shape[0], np.nan, dtype=np.float32)
    ones = pattern(A)
    closed = np.asarray(((ones @ ones).multiply(ones)).sum(axis=1)).ravel()
    pairs = counts * (counts - 1)
    return np.divide(closed, pairs, out=np.zeros_like(pairs), where=pairs > 0).astype(np.float32)


def label_shares_around(
    A: sp.csr_array,
    known: np.ndarray,
    labels: np.ndarray,
    c: int,
    alpha: float = 0.1,
    steps: int = 10,
) -> np.ndarray:
    """log of the shares of known labels around a node, by personalised PageRank [n, c].

    A little of the uniform belief is mixed in: a node that nothing reaches knows nothing.
    """
    Y = np.zeros((A.shape[0], c), dtype=np.float32)
    Y[known, labels[known]] = 1
    return log_shares(personalised(A, Y, alpha, steps))


def log_shares(Z: np.ndarray) -> np.ndarray:
    """log of the shares in each row of Z [n, c], with a little of the uniform belief."""
    Z = Z + np.float32(2e-3 / Z.shape[1])
    return np.log(Z / Z.sum(axis=1, keepdims=True))

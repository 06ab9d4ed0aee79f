"""Propagation taken apart: which part of a node's belief came through which neighbour.

B̄^(K) = Σ_{k ≤ K} M^k B̄^(0) H̄^k is a sum over walks: a walk w → … → u → v of length k brings
B̄^(0)_w H̄^k, times the entries of M along it, to v. `split_walks` sorts the walks that end at v:

- length 0: the node's own prior belief;
- walks that start at v and come back: the node's own prior belief once more, as an echo;
- all others, by the neighbour u through which they arrive (a walk that starts elsewhere and
  passes v on its way is one of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.arrays import pattern
from cpgnn.errors import InputError

BLOCK = 2_000_000
"""Products of a sparse row with M that are made at a time, so that memory stays bounded."""
MOST = 5_000_000_000
"""Products beyond which a call is refused: minutes of work. Only K ≥ 3 comes near."""


@dataclass(frozen=True, eq=False)
class Walks:
    """The walks that end at s nodes with m neighbours in all, float64; c classes.

    Neighbours of the i-th node are rows pointer[i]:pointer[i + 1] of the arrays over neighbours.
    """

    pointer: np.ndarray
    """[s + 1]"""
    neighbours: np.ndarray
    """Positions of the neighbours, [m]."""
    own: np.ndarray
    """B̄^(0), the walks of length 0, [s, c]."""
    returning: np.ndarray
    """Walks of length ≥ 2 that start at the node itself, [s, c]."""
    arriving: np.ndarray
    """All other walks, by the neighbour they arrive through, [m, c]."""
    beliefs: np.ndarray
    """What each neighbour believes when it speaks, without the echo of the node itself, [m, c]."""


def split_walks(
    M: sp.csr_array, B_0: np.ndarray, H_bar: np.ndarray, num_layers: int, nodes: np.ndarray
) -> Walks:
    """The terms of B̄^(K)_v for every v of `nodes`; own + returning + Σ arriving = B̄^(K)_v.

    M [n, n] as propagation multiplies with it; B_0 [n, c]; H_bar [c, c]; K = `num_layers` ≥ 1.
    A walk that starts at v, and takes k steps to u before the last, has the weight M_vu (M^k)_uv.
    """
    M = M.astype(np.float64)
    B_0, H_bar = np.asarray(B_0, dtype=np.float64), np.asarray(H_bar, dtype=np.float64)
    B = B_0
    for _ in range(num_layers - 1):
        B = B_0 + M @ (B @ H_bar)
    edges = M[nodes]
    beliefs, own = B[edges.indices], B_0[nodes]
    to = np.repeat(np.arange(len(nodes)), np.diff(edges.indptr))
    returning, echo = np.zeros_like(own), own
    for walks in closed_walks(M, nodes, num_layers):
        echo = echo @ H_bar  # B̄^(0)_v H̄^k
        beliefs -= walks[:, None] * echo[to]
        weight = np.bincount(to, edges.data * walks, minlength=len(nodes))
        returning += weight[:, None] * (echo @ H_bar)
    arriving = edges.data[:, None] * (beliefs @ H_bar)
    return Walks(edges.indptr, edges.indices, own, returning, arriving, beliefs)


def closed_walks(M: sp.csr_array, nodes: np.ndarray, num_layers: int) -> list[np.ndarray]:
    """(M^k)_uv for k = 1 … K-1 and every edge from v in `nodes` to u, in their order; each [m].

    Row v of (Mᵀ)^k, kept sparse and read at the neighbours of v alone. That takes as many
    products as there are walks of up to K-1 steps from v, at most (K-2)·nnz(M).
    """
    if num_layers < 2:
        return []
    T = sp.csr_array(M.T.tocsr())
    parts = []
    for block in _blocks(T, nodes, num_layers):
        edges, R = M[block], T[block]
        found = [_read(R, edges)]
        for _ in range(num_layers - 2):
            R = R @ T
            found.append(_read(R, edges))
        parts.append(found)
    return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]


def _read(R: sp.csr_array, at: sp.csr_array) -> np.ndarray:
    """R's values where `at` stores an entry, in its order; 0 where R stores none."""
    if not at.nnz:
        return np.zeros(0)
    R.sort_indices()
    row = np.repeat(np.arange(at.shape[0]), np.diff(at.indptr))
    return np.asarray(R[row, at.indices]).ravel()


def _blocks(T: sp.csr_array, nodes: np.ndarray, num_layers: int) -> Iterator[np.ndarray]:
    """`nodes` in pieces of about BLOCK products each; an error where all are more than MOST."""
    steps = pattern(T, np.float64)
    walks = np.diff(T.indptr).astype(np.float64)
    work = walks[nodes]
    for _ in range(num_layers - 2):
        walks = steps @ walks
        work += np.minimum(walks[nodes], T.nnz)
    if work.sum() > MOST:
        raise InputError(
            f"The walks that come back to {len(nodes):,} nodes within {num_layers} steps must take "
            f"at most {MOST:,} products. Got {work.sum():,.0f}. "
            f"Try {max(1, int(len(nodes) * MOST / work.sum())):,} nodes at a time."
        )
    piece = np.cumsum(work) // BLOCK
    yield from np.split(nodes, np.flatnonzero(np.diff(piece)) + 1)

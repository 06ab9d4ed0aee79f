"""Relations: who a node hears. P_r = D_r^-γ A_r, one H̄_r each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.arrays import pattern

EDGES, TWO_HOPS, SHARED = "edges", "two hops", " (shared)"
MAX_ENTRIES = 20_000_000
"""Entries of "exactly two hops" above which it is left out (12 bytes each, and as many again while
it is built)."""


@dataclass(frozen=True, eq=False)
class Relation:
    """A_r [n, n] without a diagonal; row v lists whom v hears, with weights."""

    name: str
    matrix: sp.csr_array

    def propagator(self, gamma: float) -> sp.csr_array:
        """P = D^-γ A; rows of isolated nodes are 0."""
        A = self.matrix
        degree = np.asarray(A.sum(axis=1)).ravel()
        with np.errstate(divide="ignore"):
            scale = np.where(degree > 0, degree**-gamma, 0.0).astype(np.float32)
        data = A.data * np.repeat(scale, np.diff(A.indptr))
        return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)


def edges(A: sp.csr_array) -> Relation:
    return Relation(EDGES, sp.csr_array(A, dtype=np.float32))


def two_hops(A: sp.csr_array, max_entries: int = MAX_ENTRIES) -> Relation | None:
    """Nodes at distance exactly two, each once; None above the memory limit.

    The limit holds for Σ d² (what the product writes), which bounds the entries of A².
    """
    counts = np.diff(A.indptr).astype(np.float64)
    return None if (counts**2).sum() > max_entries else Relation(TWO_HOPS, at_distance_two(A))


def at_distance_two(A: sp.csr_array) -> sp.csr_array:
    """1 for each pair at distance exactly two: A² > 0, no edge and not the node itself."""
    ones = pattern(A)
    S = sp.csr_array(ones @ ones)
    S.data[:] = 1
    S = S - S.multiply(ones)
    S.setdiag(0)
    S = sp.csr_array(S, dtype=np.float32)
    S.eliminate_zeros()
    S.sort_indices()
    return S

"""What the baselines multiply with. Matrices belong to the graph, their tensors to a view of it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from cpgnn.engine.arrays import normalized
from cpgnn.engine.sparse import SparseOperator
from cpgnn.engine.views import View
from cpgnn.graph import Graph
from cpgnn.relations.relation import at_distance_two

SMALL = 50
"""Nodes up to which eigenvalues are those of the dense matrix."""


def with_self_loops(view: View) -> SparseOperator:
    """Â = D̃^-½ (A + I) D̃^-½ on all nodes, D̃ the degrees of A + I."""
    graph = view.graph

    def matrix() -> sp.csr_array:
        A = sp.csr_array(graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32))
        return normalized(A, graph.degrees + 1, "sym")

    return view.whole.rows_of("with self-loops", matrix, symmetric=True)


def two_hops(graph: Graph) -> sp.csr_array:
    """Pairs at distance exactly two, normalised "sym"."""

    def matrix() -> sp.csr_array:
        two = at_distance_two(graph.adjacency)
        return normalized(two, np.diff(two.indptr).astype(np.float64), "sym")

    return graph.once(("two hops",), matrix)


def largest_eigenvalue(graph: Graph) -> float:
    """λ_max of the normalised Laplacian I - D^-½ A D^-½, in [1, 2]; 2 where it is not found."""

    def value() -> float:
        L = sp.eye_array(graph.num_nodes) - graph.matrix("sym").astype(np.float64)
        if graph.num_nodes <= SMALL:
            return float(np.linalg.eigvalsh(L.toarray())[-1])
        # Lanczos would draw its first vector from numpy's global state.
        first = np.random.default_rng(0).normal(size=graph.num_nodes)
        try:
            found = eigsh(L, 1, which="LA", v0=first, tol=1e-6, return_eigenvectors=False)
        except ArpackNoConvergence:
            return 2.0
        return float(found[0])

    return graph.once(("largest eigenvalue",), value)

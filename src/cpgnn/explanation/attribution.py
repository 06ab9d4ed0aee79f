"""What each input adds to an output: the sums behind `features`, each for one node.

Networks: integrated gradients from an input of zeros, in closed form for one hidden layer. Other
estimators: Shapley values over sampled orders of the columns. Trees have their own (TreeSHAP).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import softmax

from cpgnn.engine.arrays import dense
from cpgnn.graph import Graph
from cpgnn.priors.cheby import ChebyPrior, chebyshev
from cpgnn.priors.contract import narrow
from cpgnn.priors.network import Network

STEPS = 64
MOST_WALKS, MOST_ROWS, MOST_CELLS = 512, 20_000, 1 << 22
"""For a node: sampled orders of its columns, rows that an estimator is asked for in them, and cells
of these at a time."""


def network_slopes(network: Network, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Slopes D [F, c] and start R(0) [c] with x D + R(0) = R(x), float64; x is one row [F].

    D_f = ∫ ∂R/∂x_f (αx) dα. A hidden unit a + b with a = xW is on for the share
    (relu(a + b) − relu(b)) / a of the way from 0 to x.
    """
    W, b, W_2, b_2 = (
        np.asarray(w, np.float64) for w in (network.W, network.b, network.W_2, network.b_2)
    )
    a = np.asarray(x @ W).ravel()
    share = (b > 0).astype(np.float64)
    np.divide(np.maximum(a + b, 0) - np.maximum(b, 0), a, out=share, where=np.abs(a) > 1e-9)
    return (W * share) @ W_2, np.maximum(b, 0) @ W_2 + b_2


def through_softmax(terms: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Terms [m, c] of logits R = Σ terms as terms of softmax(R) − 1/c, by integrated gradients.

    For networks without biases: their logits grow in proportion along the way, so the terms are
    multiplied by ∫ (diag B − B Bᵀ) dα with B = softmax(αR).
    """
    t, weight = np.polynomial.legendre.leggauss(STEPS)
    alpha, weight = ((t + 1) / 2) ** 2, weight * (t + 1) / 2  # denser near 0, where B turns
    B = softmax(alpha[:, None] * R, axis=1)
    turn: np.ndarray = np.diag(weight @ B) - (B * weight[:, None]).T @ B
    return terms @ turn


def cheby_terms(prior: ChebyPrior, graph: Graph, v: int) -> np.ndarray:
    """[2, F, c]: what the columns of v itself, and those of all others, add to the logits of v.

    The prior has no biases, so its gradient is the same all the way from 0: the sum is exact.
    Without features a column is a node.
    """
    view = graph.view(prior.W_1.device, prior.W_1.dtype).of(np.array([v]))
    middle = view.widened(prior.order)
    outer = middle.widened(prior.order)
    nodes = np.arange(graph.num_nodes) if outer.nodes is None else outer.nodes
    with torch.no_grad():
        Z = outer.features @ prior.W_1
    Z = Z.detach().requires_grad_()
    with torch.enable_grad():
        H = torch.relu(chebyshev(middle, Z, prior.order))
        R = chebyshev(view, narrow(H, prior.W_2), prior.order)[0]
        slopes = [torch.autograd.grad(r, Z, retain_graph=True)[0].double() for r in R]
    X: Any = graph.features
    X = sp.eye_array(graph.num_nodes, format="csr") if X is None else sp.csr_array(X)
    X, W = X[nodes].astype(np.float64), prior.W_1.double().numpy(force=True)
    own = nodes == v
    made = np.zeros((2, X.shape[1], len(R)))
    for k, slope in enumerate(slopes):
        for side, rows in enumerate((own, ~own)):
            Y = X[rows].T @ slope.numpy(force=True)[rows]
            made[side, :, k] = (Y * W).sum(axis=1)
    return made


def sampled_shapley(
    f: Callable[[Any], np.ndarray], x: Any, background: Any, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """φ [F, c], start [c] and the standard errors of φ [F, c]; φ.sum(0) + start is f(x) exactly.

    x: one row [1, F]. A walk starts at a row of the background [B, F] and takes over the columns of
    x one by one, in a random order and then in the reverse; what f changes by is the column's.
    """
    rng = np.random.default_rng(seed)
    goal, F = dense(x).ravel(), x.shape[1]
    starts: list[np.ndarray] = []
    gains: list[np.ndarray] = []
    rows_left = MOST_ROWS
    while len(gains) < 2 or (len(gains) < MOST_WALKS and rows_left > 0):
        walks: list[tuple[np.ndarray, np.ndarray]] = []
        cells = 0
        most = min(MOST_CELLS, rows_left * F)
        while not walks or (cells < most and len(gains) + len(walks) < MOST_WALKS):
            start = dense(background[[rng.integers(background.shape[0])]]).ravel()
            order = rng.permutation(np.flatnonzero(goal != start))
            walks.append((start, order))
            cells += 2 * (len(order) + 1) * F
        rows = np.concatenate(
            [_path(start, goal, way) for start, order in walks for way in (order, order[::-1])]
        )
        rows_left -= len(rows)
        said = np.asarray(f(sp.csr_array(rows) if sp.issparse(x) else rows), np.float64)
        at = 0
        for _, order in walks:
            gain = np.zeros((F, said.shape[1]))
            starts.append(said[at])
            for way in (order, order[::-1]):
                gain[way] += np.diff(said[at : at + len(way) + 1], axis=0) / 2
                at += len(way) + 1
            gains.append(gain)
    every = np.stack(gains)
    spread = every.std(axis=0, ddof=1) / np.sqrt(len(every))
    return every.mean(axis=0), np.mean(starts, axis=0), spread


def _path(start: np.ndarray, goal: np.ndarray, way: np.ndarray) -> np.ndarray:
    """[steps + 1, F]: from `start`, one column of `goal` more in each row."""
    rows = np.tile(start, (len(way) + 1, 1))
    rows[:, way] = np.where(np.tri(len(way) + 1, len(way), -1, dtype=bool), goal[way], start[way])
    return rows

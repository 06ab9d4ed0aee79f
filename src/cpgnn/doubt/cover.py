"""Labels that cover a graph: no node that the model doubts is far from one that has a label.

Nodes are asked for one by one, each time the one that brings the most doubt nearest to a label:

    Σ_u w(u) · min_v ‖Z(u) - Z(v)‖     over the nodes u without a label and v with one or asked for

is made as small as possible (k-medoids, greedily). What "near" means is learned from the labels:
Z(v) puts three views of v side by side, own features, features around it (Ã² X) and who it is
joined to (principal coordinates of Ã), each with rows of norm 1 and weighed by how much more often
the nearest other label in that view is right than the commonest class would be. With fewer than
four labels a class that is a guess, and all weigh the same.

So is the model's own doubt while labels are few: w(u) goes from 1 to the doubt,

    w(u) = 1 - t + t (1 - max P(u)) / mean(1 - max P),     t = labels / (10 c), at most 1.

On graphs outside the paper doubt alone was worse than a random choice at first, and coverage alone
was later.
"""

from __future__ import annotations

import numpy as np

from cpgnn.evaluation.prediction import Prediction
from cpgnn.graph import Graph
from cpgnn.priors.columns import principal_directions, with_self
from cpgnn.priors.inputs import Basis, Inputs
from cpgnn.relations.derived import near

MOST = 3_000
"""Nodes to bring near, nodes to ask and labels that are looked at; of more, a random choice."""
WIDTH, FEW_WIDE, MANY = 64, 16, 100_000
"""Principal coordinates of a view; those of the edges where nodes are many, and what many are."""
TELLING = 4
"""Labels a class from which the views are weighed."""
TRUSTED = 10
"""Labels a class from which doubt alone counts."""
LEAST = 0.02
"""What a view counts whose nearest labels tell nothing."""


def covering(
    own: Prediction, pool: np.ndarray, k: int, rng: np.random.Generator, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """k nodes of the pool (positions in it), most telling first, and for how many nodes without a
    label each stands: those that are nearer to it than to any other label."""
    graph, P = own.graph, own.probabilities
    labelled, unlabelled = np.flatnonzero(graph.labels >= 0), np.flatnonzero(graph.unlabelled)
    known, around = (rng.permutation(nodes)[:MOST] for nodes in (labelled, unlabelled))
    among = rng.permutation(len(pool))[:MOST]
    blocks = views(own.scaled, seed)
    shares = weights([Z[known] for Z in blocks], graph.labels[known], P.shape[1])
    Z = np.concatenate([np.sqrt(a) * Z for a, Z in zip(shares, blocks, strict=True)], axis=1)
    doubt = 1 - P[around].max(axis=1)
    t = min(1.0, len(labelled) / (TRUSTED * P.shape[1]))
    w = (1 - t + t * doubt / max(float(doubt.mean()), 1e-12)).astype(np.float32)
    far, D = distances(Z[known], Z[around]).min(axis=0), distances(Z[pool[among]], Z[around])
    order = medoids(D, far, w, k)
    chosen = D[order]
    nearest = chosen.argmin(axis=0)[chosen.min(axis=0) < far]
    stands_for = np.bincount(nearest, minlength=len(order)) * (len(unlabelled) / len(around))
    rest = rng.permutation(np.setdiff1d(np.arange(len(pool)), among[order]))[: k - len(order)]
    return np.concatenate([among[order], rest]), np.concatenate([stands_for, np.ones(len(rest))])


def views(scaled: Graph, seed: int = 0) -> list[np.ndarray]:
    """Own columns and Ã² of them, where there are features, and the edges: [n, d], unit rows."""
    A = with_self(near(scaled))
    d = WIDTH if scaled.num_nodes <= MANY else FEW_WIDE
    edges = A @ principal_directions(A, min(d, scaled.num_nodes), seed)
    if scaled.features is None:
        return [unit(edges)]
    everyone = np.arange(scaled.num_nodes)
    x = Inputs(scaled, Basis.of(scaled, seed), everyone, len(everyone), scaled.labels)
    X = x.coordinates[:, :WIDTH]
    return [unit(A @ (A @ X)), unit(edges), unit(X)]


def unit(Z: np.ndarray) -> np.ndarray:
    """Rows of norm 1; rows of zeros stay."""
    return np.asarray(Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-9))


def distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """‖X_i - Y_j‖, float32."""
    squares = np.square(X).sum(axis=1)[:, None] + np.square(Y).sum(axis=1) - 2 * (X @ Y.T)
    return np.asarray(np.sqrt(np.maximum(squares, 0)), dtype=np.float32)


def weights(blocks: list[np.ndarray], labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Of every view of the labelled nodes, with sum 1."""
    if len(labels) < TELLING * num_classes:
        return np.full(len(blocks), 1 / len(blocks))
    commonest = np.bincount(labels).max() / len(labels)
    gain = np.array([right_nearest(Z, labels) - commonest for Z in blocks])
    gain = np.maximum(gain, LEAST)
    return np.asarray(gain / gain.sum())


def right_nearest(Z: np.ndarray, labels: np.ndarray) -> float:
    """How often the label of the nearest other row is right."""
    D = distances(Z, Z)
    np.fill_diagonal(D, np.inf)
    return float((labels[D.argmin(axis=1)] == labels).mean())


def medoids(D: np.ndarray, far: np.ndarray, w: np.ndarray, k: int) -> np.ndarray:
    """Up to k rows of D [m, u], one by one, each the one that lessens Σ_u w_u far_u most.

    far_u is how far u is from the nearest row taken so far. What a row would gain only becomes less
    from one step to the next, so that only the best are worked out again.
    """
    far, m = far.copy(), len(D)
    gain, seen = np.full(m, np.inf), np.full(m, -1)
    order: list[int] = []
    for step in range(min(k, m)):
        best = int(gain.argmax())
        while seen[best] < step:
            gain[best] = float(w @ np.maximum(far - D[best], 0))
            seen[best] = step
            best = int(gain.argmax())
        order.append(best)
        gain[best] = -1.0
        seen[best] = m
        far = np.minimum(far, D[best])
    return np.array(order)

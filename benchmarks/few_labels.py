"""Accuracy from few labels and no features: H by one hop, H by paths up to five, the true H.

Graphs as in the published curve: 10,000 nodes, three classes of one size, H = [[1, 3, 1],
[3, 1, 1], [1, 1, 3]] / 5, 250,000 edges, degrees in and out that fall with the rank to the power
-0.3; 9, 23, 57, 226 and 900 labels, the same share of every class; linearised propagation, ten
steps. A node whose beliefs are all alike is not classified. Published means are beside. One hop is
the published estimate: M counts the edges between labels, its rows are scaled to sum 1 (those
without a count stay 0), and H is the nearest symmetric matrix whose rows sum to 1. Of nine labels
no two are joined in five draws of six, so these are drawn more often.

    python few_labels.py          every graph is appended to results/few_labels.jsonl, once
    python few_labels.py --time   seconds of `estimate_from_few` with 900 labels, by edges
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.distant import estimate_from_few, path_counts
from cpgnn.engine.distant import spread_labels as spread
from measuring import RESULTS, keep

RUNS = RESULTS / "few_labels.jsonl"
NODES, CLASSES, EDGES, EXPONENT = 10_000, 3, 250_000, -0.3
H = np.array([[1, 3, 1], [3, 1, 1], [1, 1, 3]]) / 5
LABELS = (9, 23, 57, 226, 900)
GRAPHS, DRAWS = 20, {9: 25, 23: 5, 57: 5, 226: 5, 900: 5}
PUBLISHED = {
    "one hop": (0.10, 0.34, 0.60, 0.73, 0.83),
    "paths": (0.53, 0.58, 0.68, 0.75, 0.83),
    "true H": (0.54, 0.59, 0.68, 0.76, 0.83),
}


def planted(seed: int, nodes: int = NODES, edges: int = EDGES) -> tuple[sp.csr_array, np.ndarray]:
    """A [n, n] and labels [n] of a graph of that shape."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(nodes) % CLASSES)
    members = [np.flatnonzero(labels == c) for c in range(CLASSES)]
    out, into = ([_ranked(len(m), rng) for m in members] for _ in range(2))
    ends = []
    for i in range(CLASSES):
        for j in range(CLASSES):
            count = round(edges * H[i, j] / CLASSES)
            u = rng.choice(members[i], count, p=out[i])
            v = rng.choice(members[j], count, p=into[j])
            ends.append(np.stack([u, v]))
    u, v = np.concatenate(ends, axis=1)
    A = sp.csr_array((np.ones(len(u)), (u, v)), shape=(nodes, nodes))
    A = sp.csr_array(A + A.T)
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1
    return A, labels


def _ranked(size: int, rng: np.random.Generator) -> np.ndarray:
    weight = np.arange(1, size + 1) ** EXPONENT
    return rng.permutation(weight / weight.sum())


def drawn(labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` nodes, as equally many of every class as possible."""
    shuffled = [rng.permutation(np.flatnonzero(labels == c)) for c in range(CLASSES)]
    return np.array([shuffled[k % CLASSES][k // CLASSES] for k in range(count)])


def accuracy(A: sp.csr_array, labels: np.ndarray, train: np.ndarray, H_hat: np.ndarray) -> float:
    """Mean over the classes of the share of their other nodes that are classified rightly."""
    B = spread(A, labels, train, H_hat)
    right = (B.argmax(axis=1) == labels) & (np.ptp(B, axis=1) > 0)
    rest = np.setdiff1d(np.arange(len(labels)), train)
    return float(np.mean([right[rest][labels[rest] == c].mean() for c in range(CLASSES)]))


def from_one_hop(A: sp.csr_array, labels: np.ndarray, train: np.ndarray) -> np.ndarray:
    """H = C ½(P + Pᵀ) C + 1/c, P the counted edges M with rows that sum to 1, C = I - 1/c."""
    M = path_counts(A, labels, train, CLASSES, 1)[0]
    total = M.sum(axis=1, keepdims=True)
    P = M / np.where(total > 0, total, 1.0)
    C = np.eye(CLASSES) - 1 / CLASSES
    return C @ (P + P.T) @ C / 2 + 1 / CLASSES


def measure(seed: int) -> dict[str, Any]:
    A, labels = planted(seed)
    rng = np.random.default_rng(seed + 1_000_000)
    found: dict[str, Any] = {"seed": seed, "degree": A.nnz / A.shape[0]}
    for count in LABELS:
        ways: dict[str, list[float]] = {way: [] for way in PUBLISHED}
        for train in (drawn(labels, count, rng) for _ in range(DRAWS[count])):
            matrices = from_one_hop(A, labels, train), estimate_from_few(A, labels, train), H
            for way, H_hat in zip(PUBLISHED, matrices, strict=True):
                ways[way].append(accuracy(A, labels, train, H_hat))
        found[str(count)] = {way: float(np.mean(values)) for way, values in ways.items()}
    return found


def timed() -> None:
    """Graphs of the same shape, 50 neighbours a node: is the time linear in the edges?"""
    rows = []
    for edges in (10**5, 10**6, 10**7):
        A, labels = planted(0, nodes=edges // 25, edges=edges)
        train = drawn(labels, 900, np.random.default_rng(0))
        wall, cpu = time.perf_counter(), time.process_time()
        estimate_from_few(A, labels, train)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rows.append({"edges": A.nnz // 2, "nodes": len(labels), "cpu_s": cpu, "wall_s": wall})
    keep("few_labels_time", rows, "H from 900 labels by paths (`python few_labels.py --time`)")


def main() -> None:
    if "--time" in sys.argv:
        return timed()
    runs = [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []
    done = {run["seed"] for run in runs}
    for seed in range(GRAPHS):
        if seed not in done:
            runs.append(measure(seed))
            with RUNS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    lines = [
        f"Accuracy with few labels, mean of {len(runs)} graphs and {min(DRAWS.values())} draws of "
        f"labels each ({DRAWS[9]} of nine), beside the published mean (`python few_labels.py`)\n",
        "| H from | " + " | ".join(f"{count} labels" for count in LABELS) + " |",
        "|---" * (1 + len(LABELS)) + "|",
    ]
    for way, published in PUBLISHED.items():
        means = [float(np.mean([run[str(count)][way] for run in runs])) for count in LABELS]
        cells = [
            f"{ours:.3f} ({theirs:.2f})" for ours, theirs in zip(means, published, strict=True)
        ]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    (RESULTS / "few_labels.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

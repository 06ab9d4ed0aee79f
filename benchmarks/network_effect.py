"""Does the graph say anything about the classes? False alarms and power of the test in `check`.

Graphs of 600 nodes, three classes, eight neighbours a node on average; 2, 5 or 10 labels a class
are known. Shuffled: the labels have nothing to do with the graph. Beside the permutation test, at
the level 0.05: χ² of the classes at both ends of the edges between known labels, by its asymptotic
p-value, which is the idea of the published network-effect test.

    python network_effect.py
"""

from __future__ import annotations

import json

import numpy as np
from scipy.stats import chi2_contingency

from cpgnn import Graph
from cpgnn.check.independence import LEVEL, Independence
from cpgnn.homophily import class_edge_counts
from measuring import RESULTS

NODES, CLASSES, DEGREE, DEALS = 600, 3, 8, 999
GRAPHS = {"shuffled": 1000, 0.1: 200, 0.5: 200, 0.9: 200}


def graph_of(h: float, seed: int) -> Graph:
    """Edges stay inside their class with probability h."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(NODES) % CLASSES)
    u, v = rng.integers(0, NODES, (2, 40 * NODES * DEGREE))
    share = np.where(y[u] == y[v], h, (1 - h) / (CLASSES - 1))
    keep = np.flatnonzero((u < v) & (rng.random(len(u)) < share))
    pairs = np.unique(np.stack([u[keep], v[keep]], axis=1), axis=0)
    pairs = pairs[rng.permutation(len(pairs))[: NODES * DEGREE // 2]]
    return Graph.from_edges(*pairs.T, num_nodes=NODES, labels=y, class_names=range(CLASSES))


def alarms(kind: str | float, per_class: int, seed: int) -> tuple[bool, bool]:
    """Whether each of the two tests says that the graph speaks."""
    rng = np.random.default_rng(seed + 10_000)
    graph = graph_of(0.5 if isinstance(kind, str) else kind, seed)
    y = rng.permutation(graph.labels) if kind == "shuffled" else graph.labels
    known = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[:per_class] for c in range(CLASSES)]
    )
    labels = np.full(NODES, -1)
    labels[known] = y[known]
    graph = graph.with_labels(labels, graph.class_names)
    ours = Independence.of(graph, known, seed=seed, deals=DEALS)
    C = class_edge_counts(graph)
    seen = C.sum(axis=1) > 0
    C = C[np.ix_(seen, seen)] / 2  # each edge once
    theirs = len(C) > 1 and chi2_contingency(C, correction=False).pvalue <= LEVEL
    return bool(ours is not None and ours.speaks), bool(theirs)


def main() -> None:
    rows = []
    for kind, graphs in GRAPHS.items():
        for per_class in (2, 5, 10):
            found = np.array([alarms(kind, per_class, seed) for seed in range(graphs)])
            ours, theirs = found.mean(axis=0)
            name = kind if isinstance(kind, str) else f"h = {kind}"
            rows.append(
                {
                    "graphs": f"{graphs} {name}",
                    "labels a class": per_class,
                    "ours": float(ours),
                    "χ² on edges": float(theirs),
                }
            )
    lines = [
        "How often the graph is said to speak, at the level 0.05 (`python network_effect.py`)\n",
        f"| {' | '.join(rows[0])} |",
        "|---" * len(rows[0]) + "|",
        *(
            f"| {row['graphs']} | {row['labels a class']} | {row['ours']:.3f} "
            f"| {row['χ² on edges']:.3f} |"
            for row in rows
        ),
    ]
    (RESULTS / "network_effect.json").write_text(json.dumps(rows, indent=1) + "\n")
    (RESULTS / "network_effect.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

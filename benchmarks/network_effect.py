"""Does the graph say anything about the classes? False alarms and power of the test in `check`.

Graphs of 600 nodes, eight neighbours a node on average; three classes of which 2, 5 or 10 labels
each are known, or five classes with 2 labels each. Shuffled: the labels have nothing to do with the
graph. Beside the permutation test, at the level 0.05: χ² of the classes at both ends of the edges
between known labels, by its asymptotic p-value, which is the idea of the published network-effect
test.

    python network_effect.py      what results/network_effect.json has is not run again
"""

from __future__ import annotations

import json

import numpy as np
from scipy.stats import chi2_contingency

from cpgnn import Graph
from cpgnn.check.independence import LEVEL, Independence
from cpgnn.homophily import class_edge_counts
from measuring import RESULTS

NODES, DEGREE, DEALS = 600, 8, 999
CASES = ((3, 2), (3, 5), (3, 10), (5, 2))
"""Classes, and labels of each."""
GRAPHS = {"shuffled": 1000, 0.1: 200, 0.5: 200, 0.9: 200}


def graph_of(h: float, classes: int, seed: int) -> Graph:
    """Edges stay inside their class with probability h."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(NODES) % classes)
    u, v = rng.integers(0, NODES, (2, 40 * NODES * DEGREE))
    share = np.where(y[u] == y[v], h, (1 - h) / (classes - 1))
    keep = np.flatnonzero((u < v) & (rng.random(len(u)) < share))
    pairs = np.unique(np.stack([u[keep], v[keep]], axis=1), axis=0)
    pairs = pairs[rng.permutation(len(pairs))[: NODES * DEGREE // 2]]
    return Graph.from_edges(*pairs.T, num_nodes=NODES, labels=y, class_names=range(classes))


def alarms(kind: str | float, classes: int, per_class: int, seed: int) -> tuple[bool, bool]:
    """Whether each of the two tests says that the graph speaks."""
    rng = np.random.default_rng(seed + 10_000)
    graph = graph_of(0.5 if isinstance(kind, str) else kind, classes, seed)
    y = rng.permutation(graph.labels) if kind == "shuffled" else graph.labels
    known = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[:per_class] for c in range(classes)]
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
    path = RESULTS / "network_effect.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    done = {(row["graphs"], row["classes"], row["labels a class"]) for row in rows}
    for classes, per_class in CASES:
        for kind, graphs in GRAPHS.items():
            name = f"{graphs} {kind if isinstance(kind, str) else f'h = {kind}'}"
            if (name, classes, per_class) in done:
                continue
            found = np.array([alarms(kind, classes, per_class, seed) for seed in range(graphs)])
            ours, theirs = map(float, found.mean(axis=0))
            key = {"graphs": name, "classes": classes, "labels a class": per_class}
            rows.append(key | {"ours": ours, "χ² on edges": theirs})
            path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    lines = [
        "How often the graph is said to speak, at the level 0.05 (`python network_effect.py`)\n",
        f"| {' | '.join(rows[0])} |",
        "|---" * len(rows[0]) + "|",
        *(
            f"| {row['graphs']} | {row['classes']} | {row['labels a class']} | {row['ours']:.3f} "
            f"| {row['χ² on edges']:.3f} |"
            for row in rows
        ),
    ]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

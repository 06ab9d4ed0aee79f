"""Which nodes to label next: accuracy while labels are asked for, twenty at a time, by every rule.

Two labels a class to begin with, then ten batches. Half of the nodes are never asked and judge the
model (CPGNN with an MLP, one layer, 100 epochs, no validation nodes). Generated graphs (2,000
nodes, five classes, features) at h = 0.1, 0.5 and 0.9.

    python suggestions.py             every curve is appended to results/suggestions.jsonl
    python suggestions.py --paper     the paper's graphs, from CPGNN_DATA
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import get_args

import numpy as np
import torch

from cpgnn import (
    CPGNNClassifier,
    Graph,
    Split,
    generate_graph,
    load_dataset,
    mixhop_compatibility,
)
from cpgnn.doubt.suggest import Rule, suggest
from cpgnn.reference import gaussian_reference
from measuring import RESULTS

BATCH, BATCHES, SEEDS, SIZES = 20, 10, 3, (400,) * 5
NOBODY = np.empty(0, dtype=np.int64)


def generated() -> Iterator[tuple[str, int, Graph]]:
    for seed in range(SEEDS):
        for h in (0.1, 0.5, 0.9):
            graph = generate_graph(
                SIZES,
                mixhop_compatibility(len(SIZES), h),
                seed=seed,
                bootstrap="authors",
                reference=gaussian_reference(SIZES, separation=3.0, seed=seed),
            )
            yield f"h = {h}", seed, graph


def real() -> Iterator[tuple[str, int, Graph]]:
    for seed in range(SEEDS):
        for name in ("texas", "squirrel", "chameleon", "citeseer", "pubmed", "cora"):
            yield name, seed, load_dataset(name).graph


def curve(graph: Graph, rule: Rule, seed: int) -> list[float]:
    """Accuracy on the judging half after each batch."""
    rng = np.random.default_rng(seed)
    judging = rng.permutation(graph.num_nodes)[: graph.num_nodes // 2]
    askable = np.setdiff1d(np.arange(graph.num_nodes), judging)
    known = np.concatenate(
        [rng.permutation(askable[graph.labels[askable] == c])[:2] for c in range(graph.num_classes)]
    )
    found = []
    for batch in range(BATCHES + 1):
        labels = np.full(graph.num_nodes, -1)
        labels[known] = graph.labels[known]
        model = CPGNNClassifier("mlp", 1, pretrain_epochs=40, epochs=60, seed=seed)
        model.fit(graph.with_labels(labels, graph.class_names), split=Split(known, NOBODY, NOBODY))
        right = model.prediction().probabilities.argmax(axis=1) == graph.labels
        found.append(float(right[judging].mean()))
        if batch == BATCHES or len(known) == len(askable):
            break
        asked = suggest(model, BATCH, rule=rule, among=askable, seed=seed + batch)
        where = graph.node_ids.astype(str).get_indexer(asked["id"])
        known = np.concatenate([known, where])
    return found


def main() -> None:
    torch.set_num_threads(1)
    paper = "--paper" in sys.argv
    path = RESULTS / ("suggestions_paper.jsonl" if paper else "suggestions.jsonl")
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(run["graph"], run["seed"], run["rule"]) for run in runs}
    for name, seed, graph in real() if paper else generated():
        for rule in get_args(Rule):
            if (name, seed, rule) not in done:
                made = curve(graph, rule, seed)
                runs.append({"graph": name, "seed": seed, "rule": rule, "accuracy": made})
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(runs[-1]) + "\n")
    names = list(dict.fromkeys(run["graph"] for run in runs))
    lines = [
        "Mean accuracy while 200 labels are asked for, in batches of 20, by rule "
        f"(`python suggestions.py{' --paper' * paper}`)\n",
        f"| rule | {' | '.join(names)} |",
        "|---" * (1 + len(names)) + "|",
    ]
    for rule in get_args(Rule):
        means = []
        for name in names:
            mine = [run for run in runs if (run["graph"], run["rule"]) == (name, rule)]
            means.append(f"{np.mean([np.mean(run['accuracy'][1:]) for run in mine]):.3f}")
        lines.append(f"| {rule} | {' | '.join(means)} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

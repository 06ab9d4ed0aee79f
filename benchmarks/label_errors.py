"""Are planted label errors found? Precision at the number planted, 5 % of the labels.

Generated graphs (3,000 nodes, five classes, features, 30 % labelled) at h = 0.1, 0.5 and 0.9.
`review_labels` takes λ = 2, chosen on graphs of other seeds. Beside it: the same beliefs without
the labels of the neighbours (λ = 0), and an MLP that does not know the graph, out of fold too.

    python label_errors.py            every graph is appended to results/label_errors.jsonl
    python label_errors.py --paper    Cora and Pubmed, from CPGNN_DATA
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from cpgnn import (
    CPGNNClassifier,
    Graph,
    generate_graph,
    load_dataset,
    mixhop_compatibility,
    stratified_split,
)
from cpgnn.doubt.folds import out_of_fold
from cpgnn.doubt.labels import review_labels
from cpgnn.reference import gaussian_reference
from measuring import RESULTS

SIZES, GRAPHS, WRONG, LABELLED = (600,) * 5, 5, 0.05, 0.3
STRENGTHS = (0.0, 1.0, 2.0, 4.0, 8.0)


def generated() -> Iterator[tuple[str, int, Graph]]:
    for h in (0.1, 0.5, 0.9):
        for seed in range(GRAPHS):
            yield (
                f"h = {h}",
                seed,
                generate_graph(
                    SIZES,
                    mixhop_compatibility(len(SIZES), h),
                    seed=seed,
                    bootstrap="authors",
                    reference=gaussian_reference(SIZES, separation=3.0, seed=seed),
                ),
            )


def real() -> Iterator[tuple[str, int, Graph]]:
    for name in ("cora", "pubmed"):
        graph = load_dataset(name).graph
        yield from ((name, seed, graph) for seed in range(3))


def planted(graph: Graph, seed: int) -> tuple[Graph, np.ndarray]:
    """The graph with a share of labels, some of them wrong, and the nodes of these."""
    rng = np.random.default_rng(seed)
    known = stratified_split(graph.labels, validation=0, test=1 - LABELLED, seed=seed).train
    wrong = rng.permutation(known)[: round(WRONG * len(known))]
    labels = np.full(graph.num_nodes, -1)
    labels[known] = graph.labels[known]
    c = graph.num_classes
    labels[wrong] = (labels[wrong] + rng.integers(1, c, len(wrong))) % c
    return graph.with_labels(labels, graph.class_names), wrong


def measure(graph: Graph, seed: int) -> dict[str, Any]:
    spoilt, wrong = planted(graph, seed)
    split = stratified_split(spoilt.labels, validation=0.3, seed=seed)
    found: dict[str, Any] = {"planted": len(wrong)}
    ids = set(spoilt.node_ids[wrong].astype(str))
    for name, layers in (("with the graph", 1), ("without", 0)):
        model = CPGNNClassifier("mlp", layers, pretrain_epochs=60, epochs=140, seed=seed)
        model.fit(spoilt, split=split)
        beliefs = out_of_fold(model, seed=seed)
        for strength in STRENGTHS if layers else (0.0,):
            table = review_labels(model, beliefs=beliefs, strength=strength)
            hits = table["id"][: len(wrong)].isin(ids).sum()
            found[f"λ = {strength:g}" if layers else name] = float(hits / len(wrong))
    return found


def main() -> None:
    torch.set_num_threads(1)
    paper = "--paper" in sys.argv
    path = RESULTS / ("label_errors_paper.jsonl" if paper else "label_errors.jsonl")
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(run["graph"], run["seed"]) for run in runs}
    for name, seed, graph in real() if paper else generated():
        if (name, seed) not in done:
            runs.append({"graph": name, "seed": seed} | measure(graph, seed))
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    ways = [f"λ = {strength:g}" for strength in STRENGTHS] + ["without"]
    lines = [
        f"Planted label errors ({WRONG:.0%}): precision at the number planted "
        f"(`python label_errors.py{' --paper' * paper}`)\n",
        f"| graphs | how many | {' | '.join(ways)} |",
        "|---" * (2 + len(ways)) + "|",
    ]
    for name in dict.fromkeys(run["graph"] for run in runs):
        mine = [run for run in runs if run["graph"] == name]
        cells = [f"{np.mean([run[way] for run in mine]):.2f}" for way in ways]
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""Are planted label errors found? Precision at the number planted, 5 % of the labels.

Generated graphs (3,000 nodes, five classes, features, 30 % labelled) at h = 0.1, 0.5 and 0.9. The
model is `CPGNNClassifier(budget="fast")`, which keeps beliefs out of fold. `review_labels` takes
λ = 1, chosen on graphs of other seeds. Beside it: other λ, and an MLP that does not know the graph,
out of fold too.

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
STRENGTHS = (0.0, 1.0, 2.0, 4.0)


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
    found: dict[str, Any] = {"planted": len(wrong)}
    ids = set(spoilt.node_ids[wrong].astype(str))

    def precision(model: CPGNNClassifier, strength: float) -> float:
        table = review_labels(model, beliefs=beliefs, strength=strength)
        return float(table["id"][: len(wrong)].isin(ids).sum() / len(wrong))

    model = CPGNNClassifier(budget="fast", seed=seed).fit(spoilt)
    beliefs = out_of_fold(model, seed=seed)
    for strength in STRENGTHS:
        found[f"λ = {strength:g}"] = precision(model, strength)
    model = CPGNNClassifier("mlp", 0, pretrain_epochs=60, epochs=140, seed=seed).fit(spoilt)
    beliefs = out_of_fold(model, seed=seed)
    found["without"] = precision(model, 0.0)
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
        f"Planted label errors ({WRONG:.0%}): precision at the number planted, mean ± standard "
        f"deviation over graphs or draws (`python label_errors.py{' --paper' * paper}`)\n",
        f"| graphs | n | {' | '.join(ways)} |",
        "|---" * (2 + len(ways)) + "|",
    ]
    for name in dict.fromkeys(run["graph"] for run in runs):
        mine = [run for run in runs if run["graph"] == name]
        values = [[run[way] for run in mine] for way in ways]
        cells = [f"{np.mean(v):.2f} ± {np.std(v, ddof=1):.2f}" for v in values]
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

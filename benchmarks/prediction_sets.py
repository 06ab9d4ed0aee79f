"""Do sets of classes keep their promise of 90 %, and how large are they?

Generated graphs (5,000 nodes, five classes, features, 40 % of the labels, half of these for
validation) at h = 0.1, 0.5 and 0.9, twenty each. Three scores of the same model, calibrated on the
same nodes: plain probabilities; averaged with those of the neighbours, as where like joins like;
heard through H, which is what `predict_set` does.

    python prediction_sets.py             every graph is appended to results/prediction_sets.jsonl
    python prediction_sets.py --paper     the paper's graphs, ten splits 48/32/20, from CPGNN_DATA
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
    Split,
    generate_graph,
    load_dataset,
    mixhop_compatibility,
    stratified_split,
)
from cpgnn.evaluation.conformal import conformal_quantile
from cpgnn.reference import gaussian_reference
from measuring import RESULTS

COVERAGE, SIZES, GRAPHS = 0.9, (1000,) * 5, 20
LEAST = 50
"""Calibration nodes of a class for its coverage to count."""
PAPER = ("texas", "squirrel", "chameleon", "citeseer", "pubmed", "cora")


def generated() -> Iterator[tuple[str, int, Graph, Split]]:
    for h in (0.1, 0.5, 0.9):
        for seed in range(GRAPHS):
            graph = generate_graph(
                SIZES,
                mixhop_compatibility(len(SIZES), h),
                seed=seed,
                bootstrap="authors",
                reference=gaussian_reference(SIZES, separation=2.0, seed=seed),
            )
            split = stratified_split(graph.labels, validation=0.5, test=0.6, seed=seed)
            yield f"h = {h}", seed, graph, split


def real() -> Iterator[tuple[str, int, Graph, Split]]:
    for name in PAPER:
        graph = load_dataset(name).graph
        for seed in range(10):
            split = stratified_split(graph.labels, validation=0.4, test=0.2, seed=seed)
            yield name, seed, graph, split


def measure(graph: Graph, split: Split, seed: int) -> dict[str, Any]:
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=60, epochs=140, calibrate=True, seed=seed)
    model.fit(graph, split=split)
    P, y, test = model.predict_proba(), graph.labels, split.test
    held = model.calibration_ if len(model.calibration_) else split.val
    averaged = 1 - (P + graph.matrix("row") @ P) / 2
    averaged[np.diff(graph.adjacency.indptr) == 0] = 1 - P[np.diff(graph.adjacency.indptr) == 0]
    ways: dict[str, np.ndarray] = {}
    for way, S in (("plain", 1 - P), ("averaged", averaged)):
        ways[way] = conformal_quantile(S[held, y[held]], 1 - COVERAGE) >= S
    ours = model.predict_set(alpha=1 - COVERAGE)
    ways["through H"] = ours.contains
    classwise = model.predict_set(alpha=1 - COVERAGE, per="class")
    enough = [c for c, n in enumerate(classwise.promise.nodes) if n >= LEAST]
    return {
        "accuracy": float((P.argmax(axis=1) == y)[test].mean()),
        "strength": ours.promise.strength,
        "calibrated on": len(held),
        "coverage": {way: float(C[test, y[test]].mean()) for way, C in ways.items()},
        "size": {way: float(C[test].sum(axis=1).mean()) for way, C in ways.items()},
        "per class": {
            str(graph.class_names[c]): float(classwise.contains[nodes, c].mean())
            for c in enough
            if len(nodes := test[y[test] == c])
        },
    }


def main() -> None:
    torch.set_num_threads(1)
    paper = "--paper" in sys.argv
    path = RESULTS / ("prediction_sets_paper.jsonl" if paper else "prediction_sets.jsonl")
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(run["graph"], run["seed"]) for run in runs}
    for name, seed, graph, split in real() if paper else generated():
        if (name, seed) not in done:
            runs.append({"graph": name, "seed": seed} | measure(graph, split, seed))
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    lines = [
        f"Sets that promise {COVERAGE:.0%}: coverage and mean size on test nodes, mean ± standard "
        f"deviation over graphs or splits (`python prediction_sets.py{' --paper' * paper}`)\n",
        "| graphs | n | accuracy | coverage: plain | averaged | through H | size: plain | averaged "
        "| through H | coverage of each class, lowest to highest mean |",
        "|---" * 10 + "|",
    ]
    for name in dict.fromkeys(run["graph"] for run in runs):
        mine = [run for run in runs if run["graph"] == name]
        cells = [name, str(len(mine)), f"{np.mean([run['accuracy'] for run in mine]):.3f}"]
        for what in ("coverage", "size"):
            for way in mine[0][what]:
                values = [run[what][way] for run in mine]
                cells.append(f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}")
        classes = {c: [] for run in mine for c in run["per class"]}
        for run in mine:
            for c, share in run["per class"].items():
                classes[c].append(share)
        means = [float(np.mean(shares)) for shares in classes.values()]
        each = f"{min(means):.3f} to {max(means):.3f} ({len(means)} classes)" if means else ""
        lines.append("| " + " | ".join([*cells, each or f"none has {LEAST} nodes"]) + " |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

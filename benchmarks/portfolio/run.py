"""Fits the prototype on the graphs that `CPGNN_DATA` names; one result line for each fit.

From `benchmarks/`: `python -m portfolio.run results/portfolio.jsonl mid 0,1,2 wisconsin actor`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cpgnn.datasets.dataset import read_dataset
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.evaluation.calibration import reliability, softmax
from cpgnn.graph import Graph
from cpgnn.splits import Split, per_class_split
from portfolio.auto import fit_auto
from portfolio.explain import explain

EXPLAINED = 5
"""Test nodes whose logits are taken apart and added up again."""


def case(name: str, setting: str, split: int) -> tuple[Graph, Split]:
    """`setting`: "mid" is 48/32/20, "few" 10/10/80, "bare" 48/32/20 without features.

    Published masks where there are some, else random nodes of every class.
    """
    places = Path(os.environ["CPGNN_DATA"]).rglob(f"{name}.npz")
    data = read_dataset(next(places), name)
    graph = data.graph.with_features(None) if setting == "bare" else data.graph
    if setting == "few":
        return graph, per_class_split(graph.labels, train=0.1, test=0.8, seed=split)
    if data.splits:
        return graph, data.splits[split]
    return graph, per_class_split(graph.labels, train=0.48, test=0.2, seed=split)


def measured(name: str, setting: str, split: int) -> dict[str, Any]:
    """One fit on the training labels; validation labels choose, test labels are read at the end."""
    graph, parts = case(name, setting, split)
    start = time.process_time()
    X = FeatureScaler.fit(graph, "auto")(graph).features
    made = fit_auto(
        graph.adjacency, X, graph.labels, graph.num_classes, parts.train, parts.val, use="train"
    )
    cpu = time.process_time() - start
    y, test, N = graph.labels, parts.test, len(parts.train)
    right = made.honest.argmax(axis=1) == y[np.concatenate([parts.train, parts.val])]
    gaps = [
        np.ptp(explain(int(v), made.members, made.second).total / made.temperature - made.logits[v])
        for v in test[:EXPLAINED]
    ]
    P = softmax(made.logits[test], 1.0)
    return {
        "graph": name,
        "setting": setting,
        "split": split,
        "use": "train",
        "cpu_seconds": round(cpu, 2),
        "out_of_fold": float(right[:N].mean()),
        "validation": float(right[N:].mean()),
        "test": float((P.argmax(axis=1) == y[test]).mean()),
        "calibration_error": reliability(P, y[test]).error,
        "relations": made.relations,
        "weights": {
            m.name: round(float(w), 3)
            for m, w in zip(made.members, made.second.stage.w, strict=True)
        },
        "explanation_gap": float(max(gaps)),
    }


def main(out: str, setting: str, splits: str, *names: str) -> None:
    torch.set_num_threads(1)
    for split in map(int, splits.split(",")):
        for name in names:
            line = json.dumps(measured(name, setting, split))
            with open(out, "a", encoding="utf-8") as file:
                file.write(line + "\n")
            print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

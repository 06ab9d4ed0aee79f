"""Fits the default on the graphs that `CPGNN_DATA` names; one result line for each fit.

`python benchmarks/default.py benchmarks/results/default.jsonl mid 0,1,2 wisconsin actor`; what the
file already holds is not run again.
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

from cpgnn import CPGNNClassifier, explain
from cpgnn.datasets.dataset import read_dataset
from cpgnn.evaluation.calibration import reliability
from cpgnn.experiments.runner import processor
from cpgnn.graph import Graph
from cpgnn.splits import Split, per_class_split

DRAWS = 200
"""Draws of labels for the calibration error of exact probabilities."""
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


def exact_error(P: np.ndarray, seed: int = 0) -> float:
    """The mean calibration error of probabilities [n, c] whose labels were drawn from them."""
    rng, upto = np.random.default_rng(seed), P.cumsum(axis=1)
    drawn = (rng.random((DRAWS, len(P), 1)) * upto[:, -1:] > upto).sum(axis=2)
    return float(np.mean([reliability(P, y).error for y in drawn]))


def measured(name: str, setting: str, split: int) -> dict[str, Any]:
    """One fit on the training labels; validation labels choose, test labels are read at the end."""
    graph, parts = case(name, setting, split)
    start = time.process_time()
    fitted = CPGNNClassifier().fit(graph, split=parts)
    cpu = time.process_time() - start
    P, y, test = fitted.predict_proba(), graph.labels, parts.test
    right = fitted.honest_.logits.argmax(axis=1) == y[fitted.honest_.nodes]
    N = len(parts.train)
    gap = explain(fitted, nodes=graph.node_ids.to_numpy()[test[:EXPLAINED]]).error.max()
    return {
        "graph": name,
        "setting": setting,
        "split": split,
        "cpu_seconds": round(cpu, 2),
        "processor": processor(),
        "out_of_fold": float(right[:N].mean()),
        "validation": float(right[N:].mean()),
        "test": float((P[test].argmax(axis=1) == y[test]).mean()),
        "calibration_error": reliability(P[test], y[test]).error,
        "exact_calibration_error": exact_error(P[test]),
        "temperature": fitted.temperature_,
        "model": fitted.name,
        "evidence": {name: round(share, 4) for name, share in fitted.evidence_.items()},
        "explanation_gap": float(gap),
    }


def main(out: str, setting: str, splits: str, *names: str) -> None:
    torch.set_num_threads(1)
    done = set()
    if Path(out).exists():
        lines = map(json.loads, Path(out).read_text(encoding="utf-8").splitlines())
        done = {(line["graph"], line["setting"], line["split"]) for line in lines}
    for split in map(int, splits.split(",")):
        for name in names:
            if (name, setting, split) not in done:
                line = json.dumps(measured(name, setting, split))
                with open(out, "a", encoding="utf-8") as file:
                    file.write(line + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

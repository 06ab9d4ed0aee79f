"""Which settings deserve to be `default`: chosen on validation nodes alone.

The validation nodes of a split are cut in two. One half chooses the epoch, the other scores it;
the halves swap from split to split. No test label is read. Appends to results/tuning.jsonl and can
be stopped and resumed; prints the mean score of every variant, paired against `default`.

    CPGNN_DATA=… python tuning.py [--splits 4] [--methods mlp-1,mlp-2] [--only default,lr-0.05]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from cpgnn.datasets import load_dataset
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.experiments.store import ResultStore
from cpgnn.graph import Graph
from cpgnn.model import Architecture
from cpgnn.settings import preset
from cpgnn.splits import Split, per_class_split
from cpgnn.training import train

RESULTS = Path(__file__).parent / "results" / "tuning.jsonl"
DATASETS = ("texas", "chameleon", "citeseer", "cora")


@dataclass(frozen=True)
class Variant:
    """What it changes in the architecture and in preset `default`."""

    architecture: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


VARIANTS = {
    "default": Variant(),
    "lr-0.03": Variant(settings={"learning_rate": 0.03}),
    "lr-0.05": Variant(settings={"learning_rate": 0.05}),
    "decay-1e-4": Variant(settings={"prior_weight_decay": 1e-4}),
    "decay-2e-3": Variant(settings={"prior_weight_decay": 2e-3}),
    "dropout-0.5": Variant(architecture={"dropout": 0.5}),
    "edge-weighting": Variant(settings={"weighting": "edge"}),
}


def halves(split: Split, labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The validation nodes in two halves, alike in classes; which is first alternates."""
    shuffled = np.random.default_rng(seed).permutation(split.val)
    ordered = shuffled[np.argsort(labels[shuffled], kind="stable")]
    parts = ordered[0::2], ordered[1::2]
    return (parts[1], parts[0]) if seed % 2 else parts


def prepared(dataset: str, setting: str, number: int) -> tuple[Graph, Split, np.ndarray]:
    """The graph, a split whose validation nodes are one half of the paper's, and the other half."""
    data = load_dataset(dataset)
    graph = data.graph
    if setting == "featureless":
        split, graph = data.splits[number], graph.with_features(None)
    else:
        split = per_class_split(graph.labels, seed=number)
    choosing, scoring = halves(split, graph.labels, number)
    graph = FeatureScaler.fit(graph, preset("default").feature_scaling)(graph)
    return graph, Split(split.train, choosing, split.test[:0]), scoring


def run(dataset: str, setting: str, method: str, name: str, number: int) -> dict[str, Any]:
    graph, split, scoring = prepared(dataset, setting, number)
    variant = VARIANTS[name]
    prior, layers = method.split("-")
    settings = preset("default").but(**variant.settings)
    architecture = Architecture(prior, int(layers), **variant.architecture)  # type: ignore[arg-type]
    model = architecture.build(graph, seed=number)
    record = train(model, graph, split, settings, seed=number)
    with torch.no_grad():
        predicted = model(graph).argmax(dim=1).numpy()
    return {
        "score": round(100 * float((predicted == graph.labels)[scoring].mean()), 4),
        "nodes": len(scoring),
        "phase": record.phase,
        "epochs": len(record.epochs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--methods", default="mlp-1,mlp-2")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--only", default=",".join(VARIANTS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    store = ResultStore(RESULTS)
    known = store.read()
    for number in range(given.splits):
        for dataset in given.datasets.split(","):
            for setting in ("features", "featureless"):
                for method in given.methods.split(","):
                    for name in given.only.split(","):
                        key = "/".join([dataset, setting, method, name, str(number)])
                        if key not in known:
                            place = (dataset, setting, method, name, number)
                            store.append({"key": key} | run(*place))
    print(summary(store))


def summary(store: ResultStore) -> str:
    """Mean difference to `default` in points, over all runs that have their pair."""
    names = ("dataset", "setting", "method", "variant", "split")
    rows = [
        dict(zip(names, key.split("/"), strict=True)) | {"score": line["score"]}
        for key, line in store.read().items()
    ]
    table = pd.DataFrame(rows).pivot(
        index=["dataset", "setting", "method", "split"], columns="variant", values="score"
    )
    paired = table.sub(table["default"], axis=0)
    lines = [f"{'variant':<16}{'mean':>8}{'std error':>11}{'pairs':>7}"]
    for name in paired.columns:
        d = paired[name].dropna()
        lines.append(f"{name:<16}{d.mean():>+8.2f}{d.sem():>11.2f}{len(d):>7}")
    by_place = paired.groupby(level=["setting", "dataset"]).mean().round(2)
    return "\n".join([*lines, "", by_place.to_string()])


if __name__ == "__main__":
    main()

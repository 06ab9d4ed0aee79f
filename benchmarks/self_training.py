"""What the second training with sure predictions gains: measured on validation nodes alone.

As in tuning.py, one half of the validation nodes chooses the epoch, the other scores; no test label
is read. Each model is one that `auto` often chooses on that graph. Appends to
results/self_training.jsonl, can be stopped and resumed, and writes results/self_training.md.

    CPGNN_DATA=… python self_training.py [--splits 10]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from cpgnn.experiments.store import ResultStore
from cpgnn.model import Architecture
from cpgnn.selection.self_training import self_trained
from cpgnn.settings import preset
from cpgnn.training import train
from tuning import prepared

RESULTS = Path(__file__).parent / "results" / "self_training.jsonl"
PLACES = {
    ("texas", "features"): Architecture("mlp", 2),
    ("wisconsin", "features"): Architecture("mlp", 2),
    ("chameleon", "features"): Architecture("link", 1),
    ("citeseer", "features"): Architecture("mlp", 1),
    ("cora", "features"): Architecture("cheby", 1),
    ("texas", "featureless"): Architecture("link", 1),
    ("wisconsin", "featureless"): Architecture("link", 1),
    ("cora", "featureless"): Architecture("cheby", 1, dropout=0.5),
}


def run(dataset: str, setting: str, number: int) -> dict[str, Any]:
    graph, split, scoring = prepared(dataset, setting, number)
    architecture, settings = PLACES[dataset, setting], preset("default")

    def score(model: torch.nn.Module) -> float:
        with torch.no_grad():
            hits = model(graph).argmax(dim=1).numpy() == graph.labels
        return round(100 * float(hits[scoring].mean()), 4)

    first = architecture.build(graph, seed=number)
    record = train(first, graph, split, settings, seed=number)
    fresh = architecture.build(graph, seed=number)
    second, _, count = self_trained(first, record, fresh, graph, split, settings, seed=number)
    return {"once": score(first), "twice": score(second), "predictions": count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    torch.set_num_threads(1)
    store = ResultStore(RESULTS)
    known = store.read()
    for dataset, setting in PLACES:
        for number in range(given.splits):
            key = f"{dataset}/{setting}/{number}"
            if key not in known:
                store.append({"key": key} | run(dataset, setting, number))
    RESULTS.with_suffix(".md").write_text(summary(store), encoding="utf-8")


def summary(store: ResultStore) -> str:
    """One row a graph."""
    lines = pd.DataFrame(store.read().values())
    lines[["graph", "setting", "split"]] = lines["key"].str.split("/", expand=True)
    lines["gain"] = lines["twice"] - lines["once"]
    rows = [
        "# Training a second time with sure predictions\n",
        "`python self_training.py`: accuracy on the half of the validation nodes that did not",
        "choose the epoch, in percent; ± is the standard error of the mean gain over the splits.",
        "The second training is kept unless it is clearly worse where the epoch is chosen.\n",
        "| graph | model | splits | once | twice | gain | predictions used | kept |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (graph, setting), of in lines.groupby(["graph", "setting"], sort=False):
        used = of["predictions"]
        rows.append(
            f"| {graph}, {setting} | {PLACES[graph, setting]} | {len(of)} "
            f"| {of['once'].mean():.1f} | {of['twice'].mean():.1f} "
            f"| {of['gain'].mean():+.1f} ± {of['gain'].sem():.1f} "
            f"| {used[used > 0].mean():.0f} | {(used > 0).sum()} |"
        )
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()

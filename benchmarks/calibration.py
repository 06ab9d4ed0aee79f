"""Expected calibration error before and after temperature scaling, on the paper's graphs.

    python calibration.py [--datasets cora …]     CPGNN_DATA names the graphs

Preset default, CPGNN-MLP-1 with features, ten splits of the paper's kind (10 % train, 10 %
validation, 80 % test). A quarter of the validation nodes sets the temperature and is kept from
the choice of the epoch. Every run is appended to results/calibration.jsonl; runs that are there
are not repeated.
"""

from __future__ import annotations

import argparse
import json
import warnings

import numpy as np
import torch

from cpgnn import CPGNNClassifier, load_dataset, per_class_split
from cpgnn.errors import GraphNotice
from cpgnn.evaluation.calibration import Calibration
from measuring import RESULTS

DATASETS = ("texas", "cora", "citeseer", "chameleon", "squirrel", "pubmed")
RUNS = RESULTS / "calibration.jsonl"


def measure(name: str, split: int) -> dict[str, object]:
    graph = load_dataset(name).graph
    parts = per_class_split(graph.labels, seed=split)
    model = CPGNNClassifier("mlp", 1, calibrate=True, seed=split).fit(graph, split=parts)
    R, y = model.logits()[parts.test], graph.labels[parts.test]
    result = Calibration.of(R, y, model.temperature_, len(model.calibration_))
    return {
        "dataset": name,
        "split": split,
        "validation_nodes": len(parts.val),
        "calibration_nodes": result.num_nodes,
        "temperature": result.temperature,
        "test_accuracy": float((R.argmax(axis=1) == y).mean()),
        "ece_before": result.before.error,
        "ece_after": result.after.error,
    }


def known() -> list[dict[str, object]]:
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()]


def summarise(runs: list[dict[str, object]]) -> list[list[str]]:
    """Means over the splits; ± is the standard deviation over them."""
    rows = []
    for name in DATASETS:
        mine = [run for run in runs if run["dataset"] == name]
        if not mine:
            continue
        column = {
            key: np.array([run[key] for run in mine], dtype=float)
            for key in ("test_accuracy", "temperature", "ece_before", "ece_after")
        }
        before, after = column["ece_before"], column["ece_after"]
        nodes = sorted({int(str(run["calibration_nodes"])) for run in mine})
        rows.append(
            [
                name,
                str(len(mine)),
                ", ".join(map(str, nodes)),
                f"{100 * column['test_accuracy'].mean():.1f}",
                f"{np.median(column['temperature']):.2f}",
                f"{before.mean():.3f} ± {before.std(ddof=1) if len(mine) > 1 else 0:.3f}",
                f"{after.mean():.3f} ± {after.std(ddof=1) if len(mine) > 1 else 0:.3f}",
                f"{int((after < before).sum())}",
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", GraphNotice)
    done = {(run["dataset"], run["split"]) for run in known()}
    for name in arguments.datasets:
        for split in range(arguments.splits):
            if (name, split) not in done:
                with RUNS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(measure(name, split)) + "\n")
    head = [
        "graph",
        "splits",
        "calibration nodes",
        "test accuracy %",
        "median T",
        "ECE before",
        "ECE after",
        "lower after (splits)",
    ]
    lines = [
        "# Calibration",
        "",
        "`python calibration.py`: expected calibration error (15 bins) on test nodes, preset",
        "default, CPGNN-MLP-1, with features, the paper's splits. ± is the standard deviation",
        "over splits. No calibration nodes: too few validation nodes, so T stays 1.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in summarise(known())),
    ]
    (RESULTS / "calibration.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Whole runs of the preset `authors` on Squirrel, and CPGNN beside its prior alone."""

from __future__ import annotations

import time

import torch

from cpgnn import Architecture, preset, train
from measuring import keep
from ours import prepared

RUNS = (("mlp", 1), ("mlp", 0), ("cheby", 1), ("cheby", 0))


def main() -> None:
    torch.set_num_threads(1)
    graph, split = prepared("squirrel", True)
    rows = []
    for prior, layers in RUNS:
        model = Architecture(prior, layers).build(graph)
        used, started = time.process_time(), time.perf_counter()
        record = train(model, graph, split, preset("authors"))
        row = {
            "model": f"{prior}, K = {layers}" + ("" if layers else " (prior alone)"),
            "epochs": len(record.epochs),
            "CPU s": time.process_time() - used,
            "wall s": time.perf_counter() - started,
        }
        rows.append(row)
        print(row, flush=True)
    for with_layers, alone in ((rows[0], rows[1]), (rows[2], rows[3])):
        with_layers["÷ prior alone"] = with_layers["CPU s"] / alone["CPU s"]
    keep("runs", rows, "Squirrel with features, preset `authors`, 2,000 epochs, one thread")


if __name__ == "__main__":
    main()

"""Whole runs of the preset `authors` on Squirrel, and an epoch of CPGNN beside its prior alone."""

from __future__ import annotations

import argparse
import time

import torch

from cpgnn import Architecture, preset, train
from measuring import interleaved, keep
from ours import epochs, prepared

PRIORS = ("mlp", "cheby")
COUNT = {"mlp": 50, "cheby": 10}


def whole(prior: str) -> dict[str, float | str]:
    graph, split = prepared("squirrel", True)
    model = Architecture(prior, 1).build(graph)
    used, started = time.process_time(), time.perf_counter()
    record = train(model, graph, split, preset("authors"))
    return {
        "model": f"{prior}, K = 1",
        "epochs": len(record.epochs),
        "CPU s": time.process_time() - used,
        "wall s": time.perf_counter() - started,
    }


def beside_its_prior(prior: str) -> dict[str, float | str]:
    """An epoch with propagation and one of the prior alone, in turns."""
    graph, split = prepared("squirrel", True)
    count = COUNT[prior]
    contenders = {f"K = {K}": epochs(graph, split, prior, K, count) for K in (1, 0)}
    times = interleaved(contenders, repeats=5)
    per_epoch = {name: value["cpu_ms"] / (count + 1) for name, value in times.items()}
    return {
        "prior": prior,
        "CPGNN, CPU ms": per_epoch["K = 1"],
        "prior alone, CPU ms": per_epoch["K = 0"],
        "ratio": per_epoch["K = 1"] / per_epoch["K = 0"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prior", choices=PRIORS, nargs="*", default=PRIORS)
    chosen = parser.parse_args().prior
    torch.set_num_threads(1)
    beside = [beside_its_prior(prior) for prior in chosen]
    keep("beside_prior", beside, "Squirrel with features: an epoch beside the prior's alone")
    runs = [whole(prior) for prior in chosen]
    keep("runs", runs, "Squirrel with features, preset `authors`, 2,000 epochs, one thread")


if __name__ == "__main__":
    main()

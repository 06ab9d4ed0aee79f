"""Do sets of classes keep their promise of 90 %, and how large are they?

Generated graphs (5,000 nodes, five classes, features, 40 % of the labels, half of these for
validation) at h = 0.1, 0.5 and 0.9, twenty each. Three scores of the same model, calibrated on the
same nodes: plain probabilities; averaged with those of the neighbours, as where like joins like;
heard through H, which is what `predict_set` does. The default model (`--default`, budget="fast")
has heard the neighbours through H by itself; at h = 0.1 the same model without edges is beside it.

    python prediction_sets.py             every graph is appended to results/prediction_sets.jsonl
    python prediction_sets.py --paper     the paper's graphs, ten splits 48/32/20, from CPGNN_DATA
    python prediction_sets.py --default [--paper]     the default model instead of CPGNN
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
from cpgnn.evaluation.conformal import conformal_quantile, evidence
from cpgnn.evaluation.part import without_edges
from cpgnn.reference import gaussian_reference
from measuring import RESULTS

COVERAGE, SIZES, GRAPHS = 0.9, (1000,) * 5, 20
LEAST = 50
"""Calibration nodes of a class for its coverage to count."""
PAPER = ("texas", "squirrel", "chameleon", "citeseer", "pubmed", "cora")


def generated() -> Iterator[tuple[str, int, Graph, Split]]:
    for seed in range(GRAPHS):
        for h in (0.1, 0.5, 0.9):
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
    for seed in range(10):
        for name in PAPER:
            graph = load_dataset(name).graph
            split = stratified_split(graph.labels, validation=0.4, test=0.2, seed=seed)
            yield name, seed, graph, split


def averaged(P: np.ndarray, graph: Graph) -> np.ndarray:
    """Beliefs averaged with those of the neighbours; as they are without any."""
    near = np.diff(graph.adjacency.indptr)[:, None] > 0
    return np.where(near, (P + graph.matrix("row") @ P) / 2, P)


def contained(P: np.ndarray, said: np.ndarray, held: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sets by the scores 1 - P, with a threshold from what was said of these nodes."""
    return conformal_quantile(1 - said[held, y[held]], 1 - COVERAGE) >= 1 - P


def fitted(graph: Graph, split: Split, seed: int, *, default: bool) -> CPGNNClassifier:
    if default:
        return CPGNNClassifier(budget="fast", seed=seed).fit(graph, split=split)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=60, epochs=140, calibrate=True, seed=seed)
    return model.fit(graph, split=split)


def measure(graph: Graph, split: Split, seed: int, *, default: bool, name: str) -> dict[str, Any]:
    model, alpha = fitted(graph, split, seed, default=default), 1 - COVERAGE
    P, y, test = model.predict_proba(), graph.labels, split.test
    known = evidence(P, y, split.val, model.calibration_, model.out_of_fold(), seed=seed)
    held, said = known.nodes, known.probabilities
    ways = {}
    if not default:
        ways["plain"] = contained(P, said, held, y)
    elif name == "h = 0.1":
        alone = fitted(without_edges(graph), split, seed, default=True)
        ways["without edges"] = alone.predict_set(alpha).contains
    ways["averaged"] = contained(averaged(P, graph), averaged(said, graph), held, y)
    ways["through H"] = model.predict_set(alpha).contains
    classwise = model.predict_set(alpha, per="class")
    enough = [c for c, n in enumerate(classwise.promise.nodes) if n >= LEAST]
    return {
        "accuracy": float((P.argmax(axis=1) == y)[test].mean()),
        "strength": classwise.promise.strength,
        "calibrated on": sum(classwise.promise.nodes),
        "coverage": {way: float(C[test, y[test]].mean()) for way, C in ways.items()},
        "size": {way: float(C[test].sum(axis=1).mean()) for way, C in ways.items()},
        "per class": {
            str(graph.class_names[c]): float(classwise.contains[nodes, c].mean())
            for c in enough
            if len(nodes := test[y[test] == c])
        },
    }


def row(name: str, mine: list[dict[str, Any]], ways: list[str]) -> str:
    """Mean ± standard deviation over the graphs or splits of one kind."""

    def cell(what: str, way: str) -> str:
        values = [run[what][way] for run in mine if way in run[what]]
        if len(values) < 2:
            return ""
        return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"

    cells = [name, str(len(mine)), f"{np.mean([run['accuracy'] for run in mine]):.3f}"]
    cells += [cell(what, way) for what in ("coverage", "size") for way in ways]
    classes: dict[str, list[float]] = {}
    for run in mine:
        for c, share in run["per class"].items():
            classes.setdefault(c, []).append(share)
    means = [float(np.mean(shares)) for shares in classes.values()]
    each = f"{min(means):.3f} to {max(means):.3f} ({len(means)} classes)" if means else ""
    return "| " + " | ".join([*cells, each or f"none has {LEAST} nodes"]) + " |"


def main() -> None:
    torch.set_num_threads(1)
    paper, default = "--paper" in sys.argv, "--default" in sys.argv
    called = "prediction_sets" + "_default" * default + "_paper" * paper
    path = RESULTS / f"{called}.jsonl"
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(run["graph"], run["seed"]) for run in runs}
    for name, seed, graph, split in real() if paper else generated():
        if (name, seed) not in done:
            found = measure(graph, split, seed, default=default, name=name)
            runs.append({"graph": name, "seed": seed} | found)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    ways = list(dict.fromkeys(way for run in runs for way in run["size"]))
    asked = "python prediction_sets.py" + " --default" * default + " --paper" * paper
    head = [f"{what}: {way}" for what in ("coverage", "size") for way in ways]
    lines = [
        f"Sets that promise {COVERAGE:.0%}: coverage and mean size on test nodes, mean ± standard "
        f"deviation over graphs or splits (`{asked}`)\n",
        f"| graphs | n | accuracy | {' | '.join(head)} "
        "| coverage of each class, lowest to highest mean |",
        "|---" * (4 + len(head)) + "|",
    ]
    names = dict.fromkeys(run["graph"] for run in runs)
    lines += [row(name, [run for run in runs if run["graph"] == name], ways) for name in names]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

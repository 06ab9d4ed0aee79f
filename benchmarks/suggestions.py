"""Which nodes to label next: accuracy while labels are asked for, twenty at a time, by rule.

Two labels a class to begin with, then ten batches, or as many as there are nodes to ask. Half of
the nodes are never asked and judge the model: CPGNN with an MLP, one layer, 100 epochs, no
validation nodes, which is cheap enough to be fitted eleven times a curve; or, for random and the
default rule ("cover") only, the default model in haste (`--default`, budget="fast"). Generated
graphs (2,000 nodes, five classes, features) at h = 0.1, 0.5 and 0.9.

    python suggestions.py             every curve is appended to results/suggestions.jsonl
    python suggestions.py --paper     the paper's graphs, from CPGNN_DATA
    python suggestions.py --default [--paper]     the default model instead of CPGNN
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
)
from cpgnn.doubt.suggest import Rule, suggest
from cpgnn.reference import gaussian_reference
from measuring import RESULTS

RULES: tuple[Rule, ...] = ("random", "cover", "change", "spread", "centre", "margin")
BATCH, BATCHES, SEEDS, SMALL_SEEDS, SIZES = 20, 10, 3, 10, (400,) * 5
NOBODY = np.empty(0, dtype=np.int64)


def generated() -> Iterator[tuple[str, int, Graph]]:
    for seed in range(SEEDS):
        for h in (0.1, 0.5, 0.9):
            graph = generate_graph(
                SIZES,
                mixhop_compatibility(len(SIZES), h),
                seed=seed,
                bootstrap="authors",
                reference=gaussian_reference(SIZES, separation=3.0, seed=seed),
            )
            yield f"h = {h}", seed, graph


def real() -> Iterator[tuple[str, int, Graph]]:
    """More draws of the smallest, where every one judges 91 nodes; the largest last."""
    for seed in range(SMALL_SEEDS):
        yield "texas", seed, load_dataset("texas").graph
    for names in ("cora", "citeseer", "chameleon", "squirrel"), ("pubmed",):
        for seed in range(SEEDS):
            yield from ((name, seed, load_dataset(name).graph) for name in names)


def fitted(graph: Graph, known: np.ndarray, seed: int, *, default: bool) -> CPGNNClassifier:
    """A model of the labels of these nodes alone."""
    labels = np.full(graph.num_nodes, -1)
    labels[known] = graph.labels[known]
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=40, epochs=60, seed=seed)
    if default:
        model = CPGNNClassifier(budget="fast", seed=seed)
    return model.fit(
        graph.with_labels(labels, graph.class_names), split=Split(known, NOBODY, NOBODY)
    )


def curve(graph: Graph, rule: Rule, seed: int, *, default: bool) -> list[float]:
    """Accuracy on the judging half after each batch."""
    rng = np.random.default_rng(seed)
    judging = rng.permutation(graph.num_nodes)[: graph.num_nodes // 2]
    askable = np.setdiff1d(np.arange(graph.num_nodes), judging)
    known = np.concatenate(
        [rng.permutation(askable[graph.labels[askable] == c])[:2] for c in range(graph.num_classes)]
    )
    found = []
    for batch in range(BATCHES + 1):
        model = fitted(graph, known, seed, default=default)
        right = model.prediction().probabilities.argmax(axis=1) == graph.labels
        found.append(float(right[judging].mean()))
        if batch == BATCHES or len(known) == len(askable):
            break
        asked = suggest(model, BATCH, rule=rule, among=askable, seed=1_000 * (seed + 1) + batch)
        where = graph.node_ids.astype(str).get_indexer(asked["id"])
        known = np.concatenate([known, where])
    return found


def table(runs: list[dict[str, Any]], command: str) -> list[str]:
    """By rule, on each graph: the mean accuracy and, beside it, how far above random."""
    areas = {(r["graph"], r["rule"], r["seed"]): np.mean(r["accuracy"][1:]) for r in runs}
    names = list(dict.fromkeys(run["graph"] for run in runs))
    rules = [rule for rule in RULES if any(run["rule"] == rule for run in runs)]
    lines = [
        "Mean accuracy while 200 labels are asked for, in batches of 20; in brackets the mean "
        "difference from random in points ± its standard error over draws of the first labels and "
        f"the judging half (`{command}`)\n",
        f"| rule | {' | '.join(names)} |",
        "|---" * (1 + len(names)) + "|",
    ]
    for rule in rules:
        cells = []
        for name in names:
            seeds = [
                s
                for s in range(SMALL_SEEDS)
                if {(name, rule, s), (name, "random", s)} <= set(areas)
            ]
            mine, fair = (np.array([areas[name, r, s] for s in seeds]) for r in (rule, "random"))
            cells.append(f"{mine.mean():.3f}" if seeds else "")
            if seeds and rule != "random":
                gain = 100 * (mine - fair)
                error = f" ± {gain.std(ddof=1) / len(gain) ** 0.5:.1f}" if len(gain) > 1 else ""
                cells[-1] += f" ({gain.mean():+.1f}{error}, n = {len(gain)})"
        lines.append(f"| {rule} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    torch.set_num_threads(1)
    paper, default = "--paper" in sys.argv, "--default" in sys.argv
    path = RESULTS / ("suggestions" + "_default" * default + "_paper" * paper + ".jsonl")
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(run["graph"], run["seed"], run["rule"]) for run in runs}
    for rules in (RULES[:2],) if default else (RULES[:2], RULES[2:]):  # random and ours first
        for name, seed, graph in real() if paper else generated():
            for rule in rules:
                if (name, seed, rule) in done:
                    continue
                key = {"graph": name, "seed": seed, "rule": rule}
                runs.append(key | {"accuracy": curve(graph, rule, seed, default=default)})
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(runs[-1]) + "\n")
    lines = table(runs, "python suggestions.py" + " --default" * default + " --paper" * paper)
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

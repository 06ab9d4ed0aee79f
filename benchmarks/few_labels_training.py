"""Training without features from 2, 5 or 10 labels a class: H̄₀ from beliefs, or from paths.

CPGNN with an MLP on node identities, one layer, 50 + 100 epochs. All labels train: with one or two
validation nodes a class, the epoch that is kept is the luckiest of 150. "auto" is what the preset
`default` does (`initial_source`). Accuracy on all other nodes.

    python few_labels_training.py            generated graphs: 3,000 nodes, five classes, and 1,222
                                             nodes, two classes, 27 neighbours a node, h = 0.9
    python few_labels_training.py --paper    Cora, Citeseer, Chameleon and Texas, from CPGNN_DATA
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from cpgnn import (
    Architecture,
    Graph,
    Settings,
    Split,
    generate_graph,
    load_dataset,
    mixhop_compatibility,
    preset,
    train,
)
from cpgnn.engine.initial import initial_source
from measuring import RESULTS

LABELS, SEEDS, SIZES = (2, 5, 10), 10, (600,) * 5
MORE_SEEDS = {"texas": 50}
"""Draws where 10 are too few: one draw differs from the next by 20 points and more."""
NOBODY = np.empty(0, dtype=np.int64)
DEFAULT = preset("default").but(pretrain_epochs=50, epochs=100, patience=None)


def generated() -> Iterator[tuple[str, int, Graph]]:
    for seed in range(SEEDS):
        for h in (0.1, 0.5, 0.9):
            H = mixhop_compatibility(len(SIZES), h)
            yield f"h = {h}", seed, generate_graph(SIZES, H, seed=seed, bootstrap="authors")
        two = generate_graph((586, 636), mixhop_compatibility(2, 0.9), edges_per_node=14, seed=seed)
        yield "like polblogs", seed, two


def real() -> Iterator[tuple[str, int, Graph]]:
    names = ("texas", "cora", "citeseer", "chameleon")
    graphs = {name: load_dataset(name).graph.with_features(None) for name in names}
    for name, graph in graphs.items():
        yield from ((name, seed, graph) for seed in range(MORE_SEEDS.get(name, SEEDS)))


def measure(graph: Graph, per_class: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    known = np.concatenate(
        [
            rng.permutation(np.flatnonzero(graph.labels == c))[:per_class]
            for c in range(graph.num_classes)
        ]
    )
    split = Split(np.sort(known), NOBODY, NOBODY)
    rest = np.setdiff1d(np.flatnonzero(graph.labels >= 0), known)

    def accuracy(settings: Settings) -> float:
        model = Architecture("mlp", 1).build(graph, seed=seed)
        model.num_layers = train(model, graph, split, settings, seed=seed).num_layers
        with torch.no_grad():
            best = model.eval()(graph).numpy().argmax(axis=1)
        return float((best == graph.labels)[rest].mean())

    found = {
        "beliefs": accuracy(DEFAULT.but(preset="beliefs")),
        "paths": accuracy(DEFAULT.but(init_H="paths")),
    }
    return found | {"auto": found[initial_source(graph, split, DEFAULT)]}


def main() -> None:
    torch.set_num_threads(1)
    paper = "--paper" in sys.argv
    name = "few_labels_training_paper" if paper else "few_labels_training"
    path = RESULTS / f"{name}.jsonl"
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(run["graph"], run["labels"], run["seed"]) for run in runs}
    for graph_name, seed, graph in real() if paper else generated():
        for per_class in LABELS:
            if (graph_name, per_class, seed) in done:
                continue
            key = {"graph": graph_name, "labels": per_class, "seed": seed}
            runs.append(key | measure(graph, per_class, seed))
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    lines = [
        "Accuracy without features, by where H̄₀ comes from, mean over draws of labels; in brackets "
        "the mean difference in points from beliefs ± its standard error "
        f"(`python few_labels_training.py{' --paper' * paper}`)\n",
        "| graph | labels a class | n | beliefs | paths | auto |",
        "|---" * 6 + "|",
    ]
    for graph_name, per_class in dict.fromkeys((run["graph"], run["labels"]) for run in runs):
        mine = [r for r in runs if (r["graph"], r["labels"]) == (graph_name, per_class)]
        cells = [f"{np.mean([r['beliefs'] for r in mine]):.3f}"]
        for way in ("paths", "auto"):
            gain = 100 * np.array([r[way] - r["beliefs"] for r in mine])
            error = gain.std(ddof=1) / np.sqrt(len(mine))
            mean = np.mean([r[way] for r in mine])
            cells.append(f"{mean:.3f} ({gain.mean():+.1f} ± {error:.1f})")
        lines.append(f"| {graph_name} | {per_class} | {len(mine)} | {' | '.join(cells)} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

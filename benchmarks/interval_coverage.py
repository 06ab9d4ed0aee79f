"""How often the 90 % intervals of `edge_frequency_` hold the truth, on graphs where it is known.

    python interval_coverage.py

Generated graphs over homophily, class sizes, label shares and strength of the features; two thirds
of the labels train, one third validates; CPGNN-MLP-1, 60 + 140 epochs. And generated payments with
rare classes, half of the nodes labelled, with the default model. The truth is Definition 2 with
every label. The estimator and its damping were chosen on graphs of other seeds. Every graph is
appended to results/interval_coverage.jsonl; graphs that are there are not repeated.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from cpgnn import (
    CPGNNClassifier,
    Graph,
    Split,
    compatibility_matrix,
    edge_frequency,
    enhanced_belief,
    generate_graph,
    mixhop_compatibility,
    stratified_split,
)
from cpgnn.reference import gaussian_reference
from measuring import RESULTS

RUNS = RESULTS / "interval_coverage.jsonl"


@dataclass(frozen=True)
class Case:
    """A generated graph: class sizes, homophily, share of labels, distance of the features."""

    sizes: tuple[int, ...]
    h: float | None
    """None: payments."""
    labelled: float
    separation: float = 3.0
    budget: str | None = None
    """That of the default model; None: CPGNN-MLP-1."""


SIZES = ((500, 500), (950, 50), (400,) * 5, (1400, 400, 200))
CASES = [Case(sizes, 0.4, 0.2, 1.0) for sizes in SIZES]
CASES += [Case(sizes, h, 0.3) for h in (0.1, 0.4, 0.8) for sizes in SIZES]
CASES += [Case(sizes, h, 0.1) for h in (0.4, 0.8, 0.1) for sizes in SIZES]
CASES *= 3  # each with three seeds
RARE = (1850, 50, 100)
CASES += [Case(RARE, None, 0.5, 1.0, budget) for budget in ("fast", "normal") for _ in range(8)]
PAID = np.array([[0.97, 0.01, 0.02], [0.15, 0.02, 0.83], [0.9, 0.02, 0.08]])
"""Whom honest accounts, thieves and mules pay."""


def payments(case: Case, seed: int) -> Graph:
    """Four payments of every account, on average; one column hints at each rare class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(3), case.sizes))
    source = np.repeat(np.arange(len(y)), rng.poisson(4, len(y)) + 1)
    upto = PAID[y[source]].cumsum(axis=1)
    payee = (rng.random(len(source))[:, None] > upto).sum(axis=1)
    target = np.empty(len(source), dtype=np.int64)
    for k in range(3):
        target[payee == k] = rng.choice(np.flatnonzero(y == k), (payee == k).sum())
    pairs = np.sort(np.stack([source, target]), axis=0)[:, source != target]
    X = rng.normal(size=(len(y), 5)) + np.eye(3, 5)[y] * [0, case.separation, 0.6, 0, 0]
    return Graph.from_edges(
        *np.unique(pairs, axis=1), num_nodes=len(y), features=X.astype(np.float32), labels=y
    )


def fitted(case: Case, seed: int) -> tuple[Graph, Split, CPGNNClassifier]:
    if case.h is None:
        graph = payments(case, seed)
        split = stratified_split(graph.labels, validation=0, test=1 - case.labelled, seed=seed)
        model = CPGNNClassifier(budget=case.budget, seed=seed)
    else:
        graph = generate_graph(
            case.sizes,
            mixhop_compatibility(len(case.sizes), case.h),
            seed=seed,
            bootstrap="authors",
            reference=gaussian_reference(case.sizes, separation=case.separation, seed=seed),
        )
        split = stratified_split(graph.labels, validation=1 / 3, test=1 - case.labelled, seed=seed)
        model = CPGNNClassifier("mlp", 1, pretrain_epochs=60, epochs=140, seed=seed)
    return graph, split, model.fit(graph, split=split)


def measure(case: Case, seed: int) -> dict[str, Any]:
    """Fits one graph; how many cells the intervals hold, and the error beside the beliefs' own."""
    graph, split, model = fitted(case, seed)
    made, H = model.edge_frequency_interval_, compatibility_matrix(graph)
    known = np.concatenate([split.train, split.val])
    P = model.predict_proba()
    beliefs = edge_frequency(graph.adjacency, enhanced_belief(P, graph.labels, known))
    judged = ~np.isnan(made.low)
    held = (made.low - 1e-9 <= H) & (made.high + 1e-9 >= H)
    right = P.argmax(axis=1) == graph.labels
    return {
        **asdict(case),
        "seed": seed,
        "test_accuracy": float(right[split.test].mean()),
        "optimistic": made.optimistic,
        "cells": int(judged.sum()),
        "held": int(held[judged].sum()),
        "width": float((made.high - made.low)[judged].mean()),
        "error": float(np.nanmean(np.abs(made.share - H))),
        "error_of_beliefs": float(np.nanmean(np.abs(beliefs - H))),
    }


def summarise(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Coverage by accuracy, homophily, share and class sizes. ± none: cells are pooled."""
    groups: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
        ("test accuracy ≥ 80 %", lambda run: run["test_accuracy"] >= 0.8),
        ("test accuracy < 80 %", lambda run: run["test_accuracy"] < 0.8),
        ("marked optimistic", lambda run: run["optimistic"]),
        ("not marked", lambda run: not run["optimistic"]),
    ]
    groups += [(f"h = {h}", lambda run, h=h: run["h"] == h) for h in (0.1, 0.4, 0.8)]  # type: ignore[misc]
    groups += [
        (f"{share:.0%} labelled", lambda run, share=share: run["labelled"] == share)  # type: ignore[misc]
        for share in (0.1, 0.2, 0.3, 0.5)
    ]
    groups += [
        (f"classes {sizes}", lambda run, sizes=sizes: tuple(run["sizes"]) == sizes)  # type: ignore[misc]
        for sizes in (*SIZES, RARE)
    ]
    rows = []
    for name, of in groups:
        mine = [run for run in runs if of(run)]
        if mine:
            cells = sum(run["cells"] for run in mine)
            rows.append(
                {
                    "graphs": name,
                    "how many": len(mine),
                    "cells": cells,
                    "coverage": sum(run["held"] for run in mine) / cells,
                    "mean width": float(np.mean([run["width"] for run in mine])),
                    "mean error": float(np.mean([run["error"] for run in mine])),
                    "mean error of BᵀAB": float(np.mean([r["error_of_beliefs"] for r in mine])),
                }
            )
    return rows


def known() -> list[dict[str, Any]]:
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    torch.set_num_threads(1)
    done = {run["seed"] for run in known()}
    for seed, case in enumerate(CASES, start=7000):
        if seed not in done:
            with RUNS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(measure(case, seed)) + "\n")
    rows = summarise(known())
    lines = [
        "# Coverage of the 90 % intervals of `edge_frequency_`",
        "",
        "`python interval_coverage.py`: share of cells whose interval holds the true H, pooled",
        "over graphs; mean absolute error of the estimate, and of B̃ᵀAB̃ with the same model.",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "|" + "---|" * len(rows[0]),
        *(
            "| "
            + " | ".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in row.values())
            + " |"
            for row in rows
        ),
    ]
    (RESULTS / "interval_coverage.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines), file=sys.stdout)


if __name__ == "__main__":
    main()

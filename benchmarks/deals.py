"""What the mean of two blends, fitted on other folds and by other random numbers, gains.

`python benchmarks/deals.py few 0,1,2 wisconsin chameleon_filtered` (needs `CPGNN_DATA`; settings as
in `default.py`); what `results/deals.jsonl` already holds is not run again. Test nodes judge, so
only graphs that are not in the paper. `python benchmarks/deals.py` alone sums up.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from cpgnn import CPGNNClassifier
from cpgnn.selection import blending
from default import case
from measuring import RESULTS

OUT = RESULTS / "deals.jsonl"


def measured(name: str, setting: str, split: int) -> dict[str, Any]:
    """Loss and accuracy on test nodes: of the mean, and the mean of those of each blend."""
    graph, parts = case(name, setting, split)
    dealt, fit = [], blending._fit_deal

    def kept(*args: Any, **options: Any) -> blending.Dealt:
        dealt.append(fit(*args, **options))
        return dealt[-1]

    with patch.object(blending, "_fit_deal", kept), patch.object(blending, "MOST_TAUGHT", np.inf):
        model = CPGNNClassifier().fit(graph, split=parts)
    said, honest = model.prediction(), model.honest_
    judges = np.isin(np.concatenate([parts.train, parts.val]), honest.nodes)
    P = [said.probabilities]
    for one in dealt:
        scaling = replace(honest, logits=one.honest[judges]).scaling(graph.labels)
        logits = one.blend.said(said.said.inputs).logits
        P.append(replace(said, logits=logits, scaling=scaling, said=None).probabilities)
    y = graph.labels[parts.test]
    loss = [-float(np.log(p[parts.test, y] + 1e-12).mean()) for p in P]
    right = [float((p[parts.test].argmax(axis=1) == y).mean()) for p in P]
    return {
        "graph": name,
        "setting": setting,
        "split": split,
        "train": len(parts.train),
        "deals": len(dealt),
        "loss": [loss[0], float(np.mean(loss[1:]))],
        "accuracy": [right[0], float(np.mean(right[1:]))],
    }


def summary(lines: list[dict[str, Any]]) -> str:
    """Differences of the mean to each alone, by setting, and their mean ± its standard error."""
    found = defaultdict(list)
    for line in lines:
        gains = [
            line["loss"][0] - line["loss"][1],
            100 * (line["accuracy"][0] - line["accuracy"][1]),
        ]
        found[line["graph"], line["setting"]].append([line["train"], *gains])
    rows = {key: np.mean(each, axis=0) for key, each in found.items()}
    text = [
        "| graph | setting | labels | splits | loss | accuracy, points |",
        "|---|---|---|---|---|---|",
    ]
    for (name, setting), (train, loss, points) in sorted(rows.items(), key=lambda row: row[1][0]):
        n = len(found[name, setting])
        text.append(f"| {name} | {setting} | {train:.0f} | {n} | {loss:+.4f} | {points:+.2f} |")
    gains = np.array(list(rows.values()))[:, 1:]
    (loss, points), (a, b) = gains.mean(axis=0), gains.std(axis=0, ddof=1) / len(gains) ** 0.5
    text.append(
        f"\nMean over the {len(gains)} settings, ± the standard error over them: loss "
        f"{loss:+.4f} ± {a:.4f}, accuracy {points:+.2f} ± {b:.2f} points."
    )
    return "\n".join(text)


def main(setting: str = "", splits: str = "", *names: str) -> None:
    torch.set_num_threads(1)
    lines = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    done = {(line["graph"], line["setting"], line["split"]) for line in lines}
    for split in map(int, filter(None, splits.split(","))):
        for name in names:
            if (name, setting, split) not in done:
                lines.append(measured(name, setting, split))
                with open(OUT, "a", encoding="utf-8") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(lines[-1], flush=True)
    (RESULTS / "deals.md").write_text(summary(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

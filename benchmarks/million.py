"""`cpgnn fit` with all defaults: 10⁶ nodes, 10⁷ edges, 1 % of the labels, from CSV files."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from measuring import keep

NODES, EDGES, CLASSES, FEATURES, KNOWN = 1_000_000, 10_000_000, 5, 16, 0.01


def write_files(folder: Path, seed: int = 0) -> None:
    """Three of five edges lead to the class after one's own; features say little about it."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, NODES)
    members = [np.flatnonzero(labels == c) for c in range(CLASSES)]
    source = rng.integers(0, NODES, EDGES)
    target = rng.integers(0, NODES, EDGES)
    guided = rng.random(EDGES) < 0.5
    for c in range(CLASSES):
        chosen = guided & (labels[source] == c)
        target[chosen] = rng.choice(members[(c + 1) % CLASSES], int(chosen.sum()))
    csv.write_csv(pa.table({"source": source, "target": target}), folder / "edges.csv")
    known = np.sort(rng.permutation(NODES)[: int(NODES * KNOWN)])
    names = np.array([f"class {c}" for c in range(CLASSES)])[labels[known]]
    csv.write_csv(pa.table({"node": known, "label": names}), folder / "labels.csv")
    X = rng.standard_normal((NODES, FEATURES), dtype=np.float32)
    X[:, 0] += labels
    columns = {f"x{i}": X[:, i] for i in range(FEATURES)}
    csv.write_csv(pa.table({"node": np.arange(NODES)} | columns), folder / "features.csv")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        command = [Path(sys.executable).with_name("cpgnn"), "fit", folder / "edges.csv"]
        command += ["--labels", folder / "labels.csv", "--features", folder / "features.csv"]
        started = time.perf_counter()
        subprocess.run([*command, "--out", folder / "run"], check=True)
        wall = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    row = {
        "nodes": NODES,
        "edges": EDGES,
        "labelled": KNOWN,
        "features": FEATURES,
        "wall s": wall,
        "CPU s": used.ru_utime + used.ru_stime,
        "peak, GB": used.ru_maxrss / 2**20,
    }
    keep("million", [row], "`cpgnn fit` with all defaults, from CSV files to the written run")


if __name__ == "__main__":
    main()

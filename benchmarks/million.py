"""`cpgnn fit` with all defaults: 10⁶ nodes, 10⁷ edges, 1 % of the labels, from CSV files.

python million.py [OLD/src]     # with earlier code beside it, one after the other
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

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


def measured(folder: Path, code: str) -> dict[str, Any]:
    """One fit, by the installed code or by the sources given."""
    command = [sys.executable, "-m", "cpgnn", "fit", folder / "edges.csv"]
    command += ["--labels", folder / "labels.csv", "--features", folder / "features.csv"]
    path = {"PYTHONPATH": code} if code else {}
    started = time.perf_counter()
    child = subprocess.Popen([*command, "--out", folder / "run"], env=os.environ | path)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(status)
    shutil.rmtree(folder / "run")
    return {
        "code": "before the blend" if code else "now",
        "nodes": NODES,
        "edges": EDGES,
        "labelled": KNOWN,
        "features": FEATURES,
        "wall s": time.perf_counter() - started,
        "CPU s": used.ru_utime + used.ru_stime,
        "peak, GB": used.ru_maxrss / 2**20,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name))
        rows = [measured(Path(name), code) for code in ("", *sys.argv[1:])]
    keep("million", rows, "`cpgnn fit` with all defaults, from CSV files to the written run")


if __name__ == "__main__":
    main()

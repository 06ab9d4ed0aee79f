"""The command line at size, and under SIGKILL."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

CPGNN = [sys.executable, "-c", "from cpgnn.cli import main; main()"]


def test_help_is_fast():
    """Imports are lazy: help needs no torch. CPU time of the child, so that load does not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*CPGNN, "--help"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "fit" in done.stdout
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 0.5
    probe = "import sys, cpgnn.cli; print('torch' in sys.modules or 'pandas' in sys.modules)"
    modules = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert modules.stdout.strip() == "False"


@pytest.mark.slow
def test_killed_at_random_moments_leaves_nothing_or_everything(files):
    """SIGKILL between start and end: either no RUN or a whole one, never part of one."""
    words = "fit edges.csv --labels labels.csv --features features.csv --prior mlp --layers 1"
    command = [*CPGNN, *words.split(), "--epochs", "60", "--out"]
    start = time.monotonic()
    subprocess.run([*command, "whole"], check=True, capture_output=True)
    duration = time.monotonic() - start
    expected = {path.relative_to("whole") for path in Path("whole").rglob("*")}
    rng = random.Random(0)
    for trial in range(5):
        out = Path(f"run{trial}")
        with subprocess.Popen(
            [*command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as child:
            # most trials near the end, where the folder is written
            time.sleep(duration * (1 - 0.5 * rng.random() ** 2))
            child.send_signal(signal.SIGKILL)
        whole = out.exists()
        if whole:
            assert {path.relative_to(out) for path in out.rglob("*")} == expected
            written = (out / "predictions.csv").read_bytes()
            assert written == Path("whole/predictions.csv").read_bytes()
        again = subprocess.run([*command, str(out)], capture_output=True, text=True)
        assert again.returncode == (2 if whole else 0), again.stderr
    leftovers = [p for p in Path().iterdir() if ".partial-" in p.name]
    assert leftovers == [], "the next run to the same name sweeps what a killed one left"


@pytest.mark.slow
def test_a_million_nodes_from_csv(tmp_path, monkeypatch):
    """10^6 nodes, 10^7 edges, 16 dense features, 1 % labels: under 10 minutes and 8 GB."""
    monkeypatch.chdir(tmp_path)
    n, m, c = 1_000_000, 10_000_000, 4
    rng = np.random.default_rng(0)
    y = rng.integers(0, c, n)
    source = rng.integers(0, n, m)
    # each edge leads to the next class (mod c): strongly heterophilous
    by_class = [np.flatnonzero(y == k) for k in range(c)]
    target = np.empty(m, dtype=np.int64)
    for k in range(c):
        rows = np.flatnonzero(y[source] == k)
        target[rows] = rng.choice(by_class[(k + 1) % c], len(rows))
    names = pa.array(np.char.add("u", np.arange(n).astype(str)))
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    edges = pa.table(
        {"source": names.take(pa.array(source)), "target": names.take(pa.array(target))}
    )
    pyarrow.csv.write_csv(edges, "edges.csv", options)
    X = (rng.standard_normal((n, 16)) + 0.5 * (y[:, None] == np.arange(16) % c)).round(3)
    columns = {"id": names} | {f"x{i}": pa.array(X[:, i]) for i in range(16)}
    pyarrow.csv.write_csv(pa.table(columns), "features.csv", options)
    known = rng.choice(n, n // 100, replace=False)
    pd.DataFrame({"id": [f"u{i}" for i in known], "label": [f"c{k}" for k in y[known]]}).to_csv(
        "labels.csv", index=False
    )
    del edges, X, columns
    words = "fit edges.csv --labels labels.csv --features features.csv --out run"
    chosen = "--prior mlp --layers 1 --epochs 200 --threads 2"
    start = time.monotonic()
    child = subprocess.Popen(
        [*CPGNN, *words.split(), *chosen.split()], env=os.environ | {"OMP_NUM_THREADS": "2"}
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    assert time.monotonic() - start < 600
    assert usage.ru_maxrss * 1024 < 8e9
    table = pd.read_parquet("run/predictions.parquet", columns=["id", "class"])
    assert len(table) == n
    truth = pd.Series([f"c{k}" for k in y], index=[f"u{i}" for i in range(n)])
    accuracy = (table["class"].to_numpy() == truth.loc[table["id"]].to_numpy()).mean()
    assert accuracy > 0.6, "chance is 0.25"

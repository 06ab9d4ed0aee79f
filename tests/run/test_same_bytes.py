"""What docs/files.md promises about the same bytes, and about the order of rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.threads import use_threads
from cpgnn.io import read_graph
from cpgnn.run.folder import fit_run

N = 90
FAST = {"prior": "mlp", "num_layers": 1, "pretrain_epochs": 10, "epochs": 20, "seed": 3}


def write_files(folder, order=None):
    """Three classes in a ring, a split column; the rows in another order if one is given."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    ids = np.array([f"n{i:02d}" for i in range(N)])
    source = np.arange(N).repeat(3)
    target = (source + rng.choice([1, 4, 7], len(source))) % N
    tables = {
        "edges": pd.DataFrame({"source": ids[source], "target": ids[target]}),
        "labels": pd.DataFrame(
            {
                "id": ids,
                "label": np.array(["x", "y", "z"])[y],
                "split": np.array(["train", "val", "test", ""])[np.arange(N) % 4],
            }
        ),
        "features": pd.DataFrame({"id": ids, "f": rng.normal(size=N) + y, "g": rng.normal(size=N)}),
    }
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        made = table if order is None else table.sample(frac=1, random_state=order)
        made.to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in tables]


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())["files"]


def fitted(folder, order=None, **more):
    fit_run(
        read_graph(*write_files(folder, order)), CPGNNClassifier(**{**FAST, **more}), folder / "run"
    )
    return folder / "run"


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    one, two = (manifest(fitted(tmp_path / name)) for name in "ab")
    assert one == two
    assert manifest(fitted(tmp_path / "c", seed=4)) != one


def test_the_order_of_rows_changes_no_class(tmp_path):
    """With a split that is given; one that is drawn follows the order of the nodes."""
    tables = [
        pd.read_parquet(fitted(tmp_path / str(order), order) / "predictions.parquet")
        for order in (None, 1, 2)
    ]
    one, *others = (table.set_index("id").sort_index() for table in tables)
    for other in others:
        assert (one[["class", "label", "split"]] == other[["class", "label", "split"]]).all(None)
        np.testing.assert_allclose(one.filter(like="p_"), other.filter(like="p_"), atol=1e-3)


@pytest.mark.parametrize("options", [FAST, {"budget": "fast", "seed": 3}])
def test_more_threads_change_no_class(tmp_path, options):
    """Not promised to the byte: sums are added up in another order."""
    loaded, tables = read_graph(*write_files(tmp_path / "files")), []
    for threads in (1, 3):
        run = tmp_path / str(threads)
        use_threads(threads)
        try:
            fit_run(loaded, CPGNNClassifier(**options), run)
        finally:
            use_threads(None)
        tables.append(pd.read_parquet(run / "predictions.parquet"))
    one, three = tables
    assert (one["class"] == three["class"]).all()
    np.testing.assert_allclose(one.filter(like="p_"), three.filter(like="p_"), atol=1e-3)


ENVIRONMENTS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "COLUMNS": "40"},
)


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["mlp", "auto"])
def test_the_surroundings_change_no_byte(tmp_path, prior):
    found = []
    for i, environment in enumerate(ENVIRONMENTS):
        folder = tmp_path / str(i)
        write_files(folder)
        words = ["fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv"]
        words += ["--prior", prior, "--out", "run"]
        subprocess.run(
            [sys.executable, "-m", "cpgnn", *words],
            cwd=folder,
            env={**os.environ, **environment, "OMP_NUM_THREADS": "1"},
            check=True,
            capture_output=True,
        )
        found.append(manifest(folder / "run"))
    assert found[0] == found[1]

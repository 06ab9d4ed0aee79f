"""Tables choose by validation and say what their numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.experiments.config import load_experiment
from cpgnn.experiments.store import ResultStore
from cpgnn.experiments.tables import COLUMNS, cells, laid_out, markdown, table

REAL = load_experiment("real")


@pytest.fixture
def folder(tmp_path):
    """Two splits of CPGNN-MLP-1 on Texas: of three configurations, the second validates best."""
    store = ResultStore(tmp_path / "real.jsonl")
    wanted = ("features", "texas", "CPGNN-MLP-1", "default")
    jobs = [
        job
        for job in REAL.jobs()
        if (job.setting, job.dataset, job.method, job.preset) == wanted and job.split < 2
    ]
    order = []
    for job in jobs:
        if job.configuration not in order:
            order.append(job.configuration)
        i = order.index(job.configuration)
        validation = [50.0, 60.0, 55.0][i]
        test = [90.0, 70.0, 80.0][i] + 2 * job.split
        store.append(
            {
                "key": job.key,
                "configuration": job.configuration,
                "validation": validation,
                "test": test,
            }
        )
    return tmp_path


def test_the_configuration_is_chosen_by_validation_not_by_test(folder):
    cell = cells(REAL, folder)[("features", "texas", "CPGNN-MLP-1", "default")]
    assert (cell.mean, cell.std, cell.n) == (71.0, 1.0, 2)


def test_rows_have_the_published_number_beside_them(folder):
    frame = table("real", folder)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 1
    row = frame.iloc[0]
    assert (row["published_mean"], row["published_std"]) == (63.75, 4.74)


def test_without_results_the_published_numbers_are_shown(tmp_path):
    assert len(table("real", tmp_path)) == 0
    page = laid_out("real", tmp_path)[0][1].set_index("method")
    assert page.loc["CPGNN-MLP-1", "texas"] == "63.75 ± 4.74"
    assert len(page) == 11


def test_missing_cells_stay_empty(folder):
    page = dict(laid_out("real", folder))["features"].set_index("method")
    assert page.loc["CPGNN-MLP-1 (default)", "texas"] != ""
    assert page.loc["CPGNN-MLP-1 (default)", "cora"] == ""
    assert (page.loc["GCN"] == "").all()


def test_difference_and_means(folder):
    page = dict(laid_out("real", folder))["features"].set_index("method")
    assert page.loc["CPGNN-MLP-1 (default)", "texas"] == "71.00 ± 1.00 (n=2) | 63.75 | +7.25"
    assert page.loc["CPGNN-MLP-1 (default)", "mean het."] == ""
    assert "71.00 ± 1.00 (n=2) \\| 63.75 \\| +7.25" in markdown("real", folder)


def test_runs_without_propagation_are_counted(tmp_path):
    store = ResultStore(tmp_path / "real.jsonl")
    for job in REAL.jobs():
        if job.place == ("featureless", "cora", "CPGNN-MLP-1", "authors") and job.split < 3:
            common = {"configuration": job.configuration, "validation": 1.0, "test": 80.0}
            store.append({"key": job.key, "num_layers": min(job.split, 1)} | common)
    page = dict(laid_out("real", tmp_path))["featureless"].set_index("method")
    assert page.loc["CPGNN-MLP-1 (authors)", "cora"].startswith("80.00 ± 0.00 (n=3, prior 1) | ")
    assert tuple(table("real", tmp_path).columns) == COLUMNS


def test_the_papers_mean_columns(tmp_path):
    store = ResultStore(tmp_path / "real.jsonl")
    for job in REAL.jobs():
        if job.method == "MLP" and job.setting == "features" and job.split == 0:
            store.append({"key": job.key, "configuration": {}, "validation": 1, "test": 50.0})
    page = laid_out("real", tmp_path)[0][1].set_index("method")
    published = [
        REAL.published["features"][d]["MLP"][0] for d in ("texas", "squirrel", "chameleon")
    ]
    assert page.loc["MLP", "mean het."].startswith(f"50.00 | {np.mean(published):.2f} | ")

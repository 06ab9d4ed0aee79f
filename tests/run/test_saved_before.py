"""Runs and models that earlier code wrote still open, predict the same, explain and report."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier, explain, load_run, read_graph
from cpgnn.run.folder import write_report

SAVED = Path(__file__).parent.parent / "fixtures" / "v0.1"
RUNS = ["mlp2", "cheby-paper", "link-featureless", "weighted-refit", "flagged-mixed", "auto"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_predicts_what_it_wrote(name: str) -> None:
    run = load_run(SAVED / "runs" / name)
    table = pd.read_parquet(SAVED / "runs" / name / "predictions.parquet")
    written = table.filter(like="p_").to_numpy()
    np.testing.assert_allclose(run.classifier.predict_proba(), written, atol=2e-5)
    assert list(run.graph.node_ids) == list(table["id"])


@pytest.mark.parametrize("name", RUNS)
def test_a_run_explains_and_reports(name: str, tmp_path: Path) -> None:
    folder = shutil.copytree(SAVED / "runs" / name, tmp_path / "run")
    run = load_run(folder)
    found = explain(run.classifier, nodes=["a-003"])
    np.testing.assert_allclose(found.total[0], run.classifier.logits()[3], atol=1e-4)
    page = write_report(folder).read_text(encoding="utf-8")
    assert all(str(name) in page for name in run.graph.class_names)


def test_a_run_of_spark_predicts_a_graph() -> None:
    run = load_run(SAVED / "runs" / "spark")
    tables = SAVED / "inputs"
    graph = read_graph(tables / "edges.csv", features=tables / "features.csv").graph
    P = run.classifier.predict_proba(graph)
    assert P.shape == (120, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)


def test_a_model_predicts_what_it_did() -> None:
    tables = SAVED / "inputs"
    graph = read_graph(
        tables / "edges.csv", labels=tables / "labels.csv", features=tables / "features.csv"
    ).graph
    model = CPGNNClassifier.load(SAVED / "model-mlp", graph)
    expected = np.load(SAVED / "model-mlp-expected.npz")["P"]
    np.testing.assert_allclose(model.predict_proba(), expected, atol=2e-5)

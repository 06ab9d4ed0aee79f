"""A run folder: one prediction behind all of its files, and the same run when it is opened."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier, load_run
from cpgnn.engine.records import json_text
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.evaluation.thresholds import Goal
from cpgnn.io import LoadedGraph
from cpgnn.model import CPGNN
from cpgnn.run.folder import fit_run, summary, write_report
from toys import planted

FAST = {"pretrain_epochs": 20, "epochs": 20, "hidden": 8, "calibrate": True}


def loaded(hidden=0, positive=False):
    """A graph with the labels of the first `hidden` nodes unknown, perhaps of two classes."""
    graph = planted(n=450, c=5)
    labels = np.where(np.arange(graph.num_nodes) < hidden, -1, graph.labels)
    if positive:
        graph = graph.with_labels(np.minimum(labels, 1), ["fraud", "fine"])
    else:
        graph = graph.with_labels(labels, graph.class_names)
    return LoadedGraph(graph, None)


@pytest.fixture
def counted(monkeypatch):
    """How often all nodes went through a network outside training, and through the scaler."""
    counts = {"passes": 0, "scaled": 0}
    forward, scale = CPGNN.forward, FeatureScaler.__call__

    def counting_forward(self, graph):
        if not self.training and self.view(graph).nodes is None:
            counts["passes"] += 1
        return forward(self, graph)

    def counting_scale(self, graph):
        counts["scaled"] += 1
        return scale(self, graph)

    monkeypatch.setattr(CPGNN, "forward", counting_forward)
    monkeypatch.setattr(FeatureScaler, "__call__", counting_scale)
    return counts


def test_a_fit_asks_the_model_once(tmp_path, counted):
    """And the model without the graph once: two passes after training; one scaled copy."""
    given = loaded(hidden=30, positive=True)
    goal = Goal("recall", 0.5)
    classifier = CPGNNClassifier("mlp", 1, **FAST)
    run = fit_run(given, classifier, tmp_path / "run", positive="fraud", goal=goal)
    assert len(run.classifier.calibration_)
    assert counted == {"passes": 2, "scaled": 1}


def test_a_report_asks_the_model_once(tmp_path, counted):
    fit_run(loaded(), CPGNNClassifier("mlp", 1, **FAST), tmp_path / "run")
    counted.update(passes=0, scaled=0)
    write_report(tmp_path / "run")
    assert counted == {"passes": 1, "scaled": 1}


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("prior", ["mlp", "auto"])
def test_a_run_is_the_same_when_opened(prior, refit, tmp_path):
    given, goal = loaded(hidden=30, positive=True), Goal("f1")
    classifier = CPGNNClassifier(prior, **FAST)
    run = fit_run(given, classifier, tmp_path / "run", goal=goal, refit=refit)
    again = load_run(tmp_path / "run")
    written = (tmp_path / "run" / "metrics.json").read_text(encoding="utf-8")
    assert json_text(summary(again)) == json_text(summary(run)), "NaN is written alike"
    assert json.loads(written)["model"] == again.model == run.model
    pd.testing.assert_frame_equal(again.history, run.history)
    pd.testing.assert_frame_equal(again.trials, run.trials, check_dtype=False)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(again.split, part), getattr(run.split, part))
    for name in ("kept", "positive", "refitted", "columns", "flag", "without_graph"):
        assert getattr(again, name) == getattr(run, name), name
    np.testing.assert_array_equal(again.prediction.logits, run.prediction.logits)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert write_report(tmp_path / "run").read_text(encoding="utf-8") == page


def test_a_refitted_run_with_several_kinds_of_nodes_is_opened_with_its_split(tmp_path):
    """Its predictions have no rows for other kinds, which stand among the others."""
    graph = planted(n=450, c=3)
    kinds = np.where(np.arange(graph.num_nodes) % 5 == 0, "device", "account")
    labels = np.where(kinds == "device", -1, graph.labels)
    given = LoadedGraph(graph.with_labels(labels, graph.class_names).with_kinds(kinds), None)
    run = fit_run(given, CPGNNClassifier("mlp", **FAST), tmp_path / "run", refit=True)
    again = load_run(tmp_path / "run")
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(again.split, part), getattr(run.split, part))

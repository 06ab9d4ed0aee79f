"""Two labels a class: scores from cross-validation, sets from labels held out in turn, no crash."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import CPGNNClassifier, load_run
from cpgnn.doubt.labels import review_labels
from cpgnn.doubt.suggest import suggest
from cpgnn.io import LoadedGraph
from cpgnn.run.folder import fit_run
from toys import planted


@pytest.mark.parametrize("num_features", [None, 5])
def test_everything_works_with_two_labels_a_class(tmp_path, num_features):
    graph = planted(0, n=90, num_features=num_features)
    few = np.concatenate([np.flatnonzero(graph.labels == c)[:2] for c in range(3)])
    labels = np.full(90, -1)
    labels[few] = graph.labels[few]
    given = LoadedGraph(graph.with_labels(labels, graph.class_names), None)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=5, calibrate=True)
    run = fit_run(given, model, tmp_path / "run", coverage=0.9)
    assert sum(run.promise.nodes) == 6  # none was lost to validation
    assert (run.sets.sizes == 3).all()  # six nodes cannot promise 90 %
    assert "Too few to leave any class out: that takes 9." in run.promise.sentences()
    assert run.evaluation is None or run.evaluation.accuracy.high > 0.6  # a wide interval
    opened = load_run(tmp_path / "run")
    np.testing.assert_array_equal(opened.sets.contains, run.sets.contains)
    assert len(suggest(opened.classifier, 4)) >= 1
    assert len(review_labels(opened.classifier)) <= 6


def test_scores_come_from_cross_validation_where_nothing_can_be_held_out(tmp_path, monkeypatch):
    monkeypatch.setattr("cpgnn.evaluation.cross_validation.SECONDS", 60.0)
    graph = planted(0, n=60)
    few = np.concatenate([np.flatnonzero(graph.labels == c)[:2] for c in range(3)])
    labels = np.full(60, -1)
    labels[few] = graph.labels[few]
    given = LoadedGraph(graph.with_labels(labels, graph.class_names), None)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=2, epochs=2)
    run = fit_run(given, model, tmp_path / "run")
    assert run.evaluation is not None
    assert "held out in turn" in run.evaluation.measured_on
    asked = fit_run(given, model, tmp_path / "none", test=0)
    assert asked.evaluation is None

"""Two labels a class: scores from cross-validation, sets from labels held out in turn, no crash."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import CPGNNClassifier, load_run
from cpgnn.doubt.labels import review_labels
from cpgnn.doubt.suggest import suggest
from cpgnn.errors import GraphNotice, InputError
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


def with_first(per_class: list[int], n: int = 200, h: float = 0.9, features: int | None = None):
    """A graph of three classes in which so many nodes of each have a label, and all labels."""
    graph = planted(0, n=n, h=h, num_features=features)
    few = [np.flatnonzero(graph.labels == c)[:k] for c, k in enumerate(per_class)]
    known = np.full(n, -1)
    known[np.concatenate(few)] = graph.labels[np.concatenate(few)]
    return LoadedGraph(graph.with_labels(known, graph.class_names), None), graph.labels


@pytest.mark.parametrize("features", [None, 5])
def test_one_label_a_class_is_better_than_chance(features):
    """A node held out with all labels of its class once taught: say a class that you never saw."""
    given, labels = with_first([1, 1, 1], features=features)
    with pytest.warns(GraphNotice, match="only one label to train on"):
        model = CPGNNClassifier(budget="fast").fit(given.graph)
    right = (model.prediction().logits.argmax(axis=1) == labels)[given.graph.unlabelled]
    assert right.mean() > 0.7
    assert model.scaling_ == (1, 0)
    assert model.out_of_fold() is None
    assert not model.model_.stage.H_bar.any()


def test_a_class_of_one_label_is_not_forgotten():
    """Models that had not seen its label know no such class, and do not judge what finds it."""
    given, labels = with_first([1, 10, 10])
    model = CPGNNClassifier(budget="fast").fit(given.graph)
    nodes, _ = model.out_of_fold()
    assert sorted(given.graph.labels[nodes]) == [1] * 10 + [2] * 10
    assert ((model.prediction().logits.argmax(axis=1) == 0) == (labels == 0)).mean() > 0.8


@pytest.mark.parametrize("per_class", [[1, 1, 1], [2, 1, 0]])
@pytest.mark.filterwarnings("ignore:Every class has only one label")
def test_fewer_than_four_labels_make_a_run_with_a_report(tmp_path, per_class):
    given, _ = with_first(per_class, n=60)
    run = fit_run(given, CPGNNClassifier(budget="fast"), tmp_path / "run")
    assert (tmp_path / "run" / "report.html").exists()
    assert run.verdict.reasons == ("Label at least two nodes of every class.",)
    opened = load_run(tmp_path / "run")
    np.testing.assert_allclose(opened.prediction.probabilities, run.prediction.probabilities)


def test_sets_of_classes_from_one_label_a_class_are_refused_before_training(tmp_path):
    given, _ = with_first([1, 1, 1], n=60)
    with pytest.raises(InputError, match="include two of one class, for 'coverage'"):
        fit_run(given, CPGNNClassifier(budget="fast"), tmp_path / "run", coverage=0.9)

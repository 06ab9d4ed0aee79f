"""The section about labels: what it lists, and what it leaves out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.report import labels as section
from cpgnn.selection.fitting import Honest
from toys import planted


@pytest.fixture(scope="module")
def run() -> SimpleNamespace:
    whole = planted(1, n=120, signal=3.0)
    y = np.where(np.arange(120) < 80, whole.labels, -1)
    y[7] = (y[7] + 1) % 3
    graph = whole.with_labels(y, whole.class_names)
    fitted = CPGNNClassifier("mlp", 1, pretrain_epochs=30, epochs=30).fit(graph)
    return SimpleNamespace(graph=graph, classifier=fitted, truth=whole.labels)


def test_the_planted_error_is_listed_and_unlabelled_nodes_are_asked(run, monkeypatch):
    known = np.arange(80)
    logits = 4.0 * np.eye(3)[run.truth[known]]  # as if every label had been held out
    monkeypatch.setattr(run.classifier, "honest_", Honest(known, logits), raising=False)
    made = section.labels(run)
    names, ids = run.graph.class_names, run.graph.node_ids
    assert made.doubtful[0][:2] == (str(ids[7]), str(names[run.graph.labels[7]]))
    assert made.doubtful[0][2] == str(names[run.truth[7]])
    assert len(made.doubtful) <= min(made.contradicted, section.LISTED)
    assert len(made.asked) == section.LISTED
    assert {node for node, _ in made.asked} <= set(ids[80:].astype(str))
    assert "says something about the classes" in made.speaks
    assert made


def test_a_class_that_the_model_misses_is_not_doubted(run, monkeypatch):
    known = np.arange(80)
    called, wrong = run.truth[known].copy(), (run.graph.labels[7], run.truth[7])
    [rare] = {0, 1, 2} - {*wrong}
    called[called == rare] = wrong[1]  # a rare class is seldom the most probable one
    logits = 4.0 * np.eye(3)[called]
    monkeypatch.setattr(run.classifier, "honest_", Honest(known, logits), raising=False)
    made, missed = section.labels(run), str(run.graph.class_names[rare])
    assert f"“{missed}” (" in made.model_wrong
    assert made.model_wrong.endswith("that the model is more likely to be wrong than the labels.")
    assert made.doubtful
    assert not {label for _, label, *_ in made.doubtful} & {missed}


def test_what_would_take_further_training_is_left_to_the_command(run):
    assert run.classifier.out_of_fold() is None
    made = section.labels(run)
    assert not made.doubtful
    assert made.asked


def test_large_graphs_get_no_lists(run, monkeypatch):
    monkeypatch.setattr(section, "LARGE", 100)
    made = section.labels(run)
    assert not made.asked
    assert made.speaks


def test_a_graph_whose_nodes_all_have_labels_is_asked_nothing(run):
    every = run.graph.with_labels(run.truth, run.graph.class_names)
    fitted = CPGNNClassifier("mlp", 1, pretrain_epochs=2, epochs=2).fit(every)
    assert not section.labels(SimpleNamespace(graph=every, classifier=fitted)).asked

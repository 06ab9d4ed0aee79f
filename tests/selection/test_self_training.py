"""The surest predictions as labels: which ones, whose labels are not looked at, and when not."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.engine.loop import Epoch, Training
from cpgnn.errors import BeliefOverflowError
from cpgnn.model import Architecture
from cpgnn.selection import self_training
from cpgnn.selection.self_training import self_trained, surest
from cpgnn.settings import Settings
from cpgnn.splits import Split, stratified_split
from cpgnn.training import train
from toys import planted

SHORT = Settings(pretrain_epochs=10, epochs=15, patience=None)
MLP = Architecture("mlp", 1, hidden=8)


def trained(graph, split):
    model = MLP.build(graph, seed=0)
    return model, train(model, graph, split, SHORT, seed=0)


def again(graph, split):
    return self_trained(
        *trained(graph, split), MLP.build(graph, seed=0), graph, split, SHORT, seed=0
    )


@pytest.fixture
def graph():
    return planted(n=80, signal=1.0)


@pytest.fixture
def split(graph):
    return stratified_split(graph.labels, test=0.6)


def test_the_surest_of_every_predicted_class():
    P = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3], [0.45, 0.55], [0.1, 0.9]])
    assert sorted(surest(P, np.arange(6), 0.5)) == [0, 5]  # ⌊3/2⌋ of class 0, ⌊3/2⌋ of class 1
    assert sorted(surest(P, np.array([1, 3, 4, 2]), 0.5)) == [2, 3]
    assert sorted(surest(P, np.arange(6), 1.0)) == list(range(6))
    assert len(surest(P, np.arange(2, 3))) == 0


def test_it_is_a_training_on_known_labels_and_predictions(graph, split):
    """By hand: a graph whose other labels are predictions, and a larger set of training nodes."""
    model, record = trained(graph, split)
    P = model(graph).softmax(dim=1).detach().numpy()
    labels, taken = graph.labels.copy(), []
    for c in range(graph.num_classes):
        mine = [v for v in split.test if P[v].argmax() == c]
        mine.sort(key=lambda v: -P[v].max())
        taken += mine[: len(mine) // 2]
        labels[mine[: len(mine) // 2]] = c
    by_hand = MLP.build(graph, seed=0)
    train(
        by_hand,
        graph.with_labels(labels, graph.class_names),
        Split(np.concatenate([split.train, taken]), split.val, []),
        SHORT,
        seed=0,
    )
    fresh, second, count = again(graph, split)
    assert count == len(taken) > 10
    assert second is not record
    assert np.allclose(fresh(graph).detach(), by_hand(graph).detach(), atol=1e-6)


def test_labels_of_other_nodes_are_not_looked_at(graph, split):
    labels = graph.labels.copy()
    labels[split.test] = np.random.default_rng(0).permutation(labels[split.test])
    other = graph.with_labels(labels, graph.class_names)
    one, two = again(graph, split)[0], again(other, split)[0]
    assert (one(graph) == two(graph)).all()


@pytest.mark.parametrize(("second", "kept"), [(0.8, True), (0.71, True), (0.69, False)])
def test_kept_unless_lower_by_more_than_a_standard_error(monkeypatch, graph, split, second, kept):
    """√(0.8 · 0.2 / 16) = 0.1."""
    split = Split(split.train, np.concatenate([split.val, split.test])[:16], [])
    model, _ = trained(graph, split)
    first = Training()
    first.kept = Epoch(2, 1, 0.0, 1.0, 0.8)

    def scores(*_, **__):
        record = Training()
        record.kept = Epoch(2, 1, 0.0, 1.0, second)
        return record

    monkeypatch.setattr(self_training, "train", scores)
    fresh = MLP.build(graph, seed=1)
    chosen, record, count = self_trained(model, first, fresh, graph, split, SHORT)
    assert (chosen is fresh) == kept == (count > 0)
    assert record.kept.score == (second if kept else 0.8)


def test_overflow_and_nothing_to_take_leave_the_first_model(monkeypatch, graph, split):
    model, record = trained(graph, split)
    fresh = MLP.build(graph, seed=0)
    everything = Split(split.train, np.concatenate([split.val, split.test]), [])
    assert self_trained(model, record, fresh, graph, everything, SHORT) == (model, record, 0)

    def overflow(*_, **__):
        raise BeliefOverflowError("too large")

    monkeypatch.setattr(self_training, "train", overflow)
    assert self_trained(model, record, fresh, graph, split, SHORT) == (model, record, 0)


FAST = {"epochs": 8, "pretrain_epochs": 6, "hidden": 8}


def test_auto_does_it_where_labels_are_few(graph, split, tmp_path):
    begun = []
    fitted = CPGNNClassifier(**FAST).fit(
        graph, split=split, begin=lambda name, epochs: begun.append(name)
    )
    assert begun[-2:] == [str(fitted.architecture_), f"{fitted.architecture_} again"]
    assert 0 < fitted.self_trained_ <= len(split.test) / 2
    assert set(fitted.split_.train) == set(split.train)
    assert (fitted.graph_.labels == graph.labels).all()
    fitted.save(tmp_path / "model")
    assert CPGNNClassifier.load(tmp_path / "model", graph).self_trained_ == fitted.self_trained_


@pytest.mark.parametrize(
    "named",
    [
        {"self_training": False},
        {"prior": "mlp", "num_layers": 1},
        {"preset": "paper"},
        {"positive": "c0"},
        {"class_weight": "balanced"},
        {"select_by": "macro_f1"},
    ],
)
def test_and_not_elsewhere(graph, split, named):
    fitted = CPGNNClassifier(**FAST | named).fit(graph, split=split)
    assert fitted.self_trained_ == 0


def test_nor_with_many_labels_or_nodes(graph, split, monkeypatch):
    monkeypatch.setattr("cpgnn.selection.fitting.MAX_NODES", 79)
    assert CPGNNClassifier(**FAST).fit(graph, split=split).self_trained_ == 0
    monkeypatch.undo()
    monkeypatch.setattr("cpgnn.selection.auto.ENOUGH", len(split.val))
    assert CPGNNClassifier(**FAST).fit(graph, split=split).self_trained_ == 0

"""The same threads from Python as from the command line, and the caller's own untouched."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cpgnn import CPGNNClassifier, baselines
from cpgnn.engine import threads
from cpgnn.engine.threads import threads_for, use_threads
from cpgnn.model import CPGNN, Architecture
from cpgnn.settings import Settings
from cpgnn.splits import stratified_split
from cpgnn.training import train
from toys import planted

SHORT = Settings(pretrain_epochs=2, epochs=2)


@pytest.fixture
def three():
    """A caller who works with three threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    use_threads(None)
    torch.set_num_threads(before)


@pytest.fixture
def seen(monkeypatch):
    """The threads of every forward pass."""
    numbers: list[int] = []
    forward = CPGNN.prior_logits

    def spied(self, view):
        numbers.append(torch.get_num_threads())
        return forward(self, view)

    monkeypatch.setattr(CPGNN, "prior_logits", spied)
    return numbers


@pytest.mark.parametrize(("work", "cores", "expected"), [(1, 8, 4), (1, 2, 2), (10**9, 8, 1)])
def test_one_for_small_graphs_and_at_most_four_for_large_ones(
    three, monkeypatch, work, cores, expected
):
    monkeypatch.setattr(threads, "SHARED_WORK", work)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: cores)
    graph = planted(n=40)
    with threads_for(graph):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 3
    use_threads(2)
    with threads_for(graph):
        assert torch.get_num_threads() == 2


def test_they_come_back_after_an_error(three):
    with pytest.raises(ZeroDivisionError), threads_for(planted(n=40)):
        _ = 1 / 0
    assert torch.get_num_threads() == 3


def test_fitting_and_predicting(three, seen):
    graph = planted(n=60)
    model = CPGNNClassifier("mlp", 1, epochs=2, pretrain_epochs=2).fit(graph)
    model.predict(graph.with_features(graph.features + 0))
    assert len(seen) > 5
    assert set(seen) == {1}
    assert torch.get_num_threads() == 3


def test_training_without_the_classifier(three, seen):
    graph = planted(n=60)
    split = stratified_split(graph.labels)
    train(Architecture("mlp", 1).build(graph), graph, split, SHORT)
    assert set(seen) == {1}
    assert torch.get_num_threads() == 3
    numbers = []
    recipe = baselines.recipes("GCN")[0].but(epochs=2)
    baselines.train_baseline(
        recipe.build(graph),
        graph,
        split,
        recipe,
        observe=lambda epoch: numbers.append(torch.get_num_threads()),
    )
    assert np.unique(numbers) == [1]
    assert torch.get_num_threads() == 3

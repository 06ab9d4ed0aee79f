"""From trials to a trained model."""

from __future__ import annotations

import pytest

from cpgnn import CPGNNClassifier
from cpgnn.errors import BeliefOverflowError
from cpgnn.selection import fitting
from toys import planted


def test_a_winner_that_overflows_on_the_full_budget_gives_way_to_the_next(monkeypatch):
    """Trials are short: beliefs may stay finite in one and overflow in the training after it."""
    graph, real, seen = planted(n=60), fitting.train, []

    def train(model, *args, **kwargs):
        seen.append(model)
        if len(seen) == 1:
            raise BeliefOverflowError("too large")
        return real(model, *args, **kwargs)

    monkeypatch.setattr(fitting, "train", train)
    brief = {"pretrain_epochs": 5, "epochs": 5, "self_training": False}
    model = CPGNNClassifier("mlp", **brief).fit(graph, graph.labels)
    assert len(seen) == 2
    assert str(model.architecture_) == model.trials_["candidate"][1]
    seen.clear()
    with pytest.raises(BeliefOverflowError):  # nothing else to turn to
        CPGNNClassifier("mlp", 1, **brief).fit(graph, graph.labels)

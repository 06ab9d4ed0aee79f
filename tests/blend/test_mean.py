"""The mean of blends, against dense algebra and against each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from cpgnn import CPGNNClassifier, explain
from cpgnn.blend.blend import Blend, Hearing
from cpgnn.blend.mean import mean_of
from cpgnn.blend.second_stage import Stage
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.priors.inputs import Inputs
from toys import planted


@pytest.fixture(scope="module")
def halves() -> tuple[Inputs, Blend, Blend]:
    """Two blends of the same graph: that of a fit, and its priors the other way round with other
    weights, another matrix for edges and one for another relation."""
    model = CPGNNClassifier(budget="fast").fit(planted(n=90))
    said, rng = model.prediction().said, np.random.default_rng(0)
    one, c = said.blend, said.blend.num_classes

    def other(stage: Stage) -> Stage:
        return Stage(rng.random(len(stage.w)), rng.normal(size=c), rng.normal(size=(2, c, c)))

    two = replace(
        one,
        priors=one.priors[::-1],
        hears=(Hearing("two hops", 1.0), Hearing("edges", 1.0)),
        w_0=rng.random(len(one.w_0)),
        stages=tuple(map(other, one.stages)),
    )
    return said.inputs, one, two


def test_the_mean_of_one_or_of_equals_says_the_same(halves):
    x, one, two = halves
    for blend in (one, two):
        assert mean_of([blend]).said(x).logits == pytest.approx(blend.said(x).logits, abs=1e-5)
        same = mean_of([blend, blend])
        assert same.hears == blend.hears
        assert same.said(x).logits == pytest.approx(blend.said(x).logits, abs=1e-5)


def test_the_mean_in_dense_algebra(halves):
    """Every round is the mean of what both would say if all believed what the mean believes."""
    x, one, two = halves
    known = x.labels >= 0
    one_hot = np.eye(one.num_classes)[x.labels[known]]

    def before(blend: Blend) -> np.ndarray:
        logs = [prior.log_beliefs(x) for prior in blend.priors]
        return sum(w * log_B for w, log_B in zip(blend.w_0, logs, strict=True))

    def heard(blend: Blend, stage: Stage, B: np.ndarray) -> np.ndarray:
        logs = [prior.log_beliefs(x) for prior in blend.priors]
        own = sum(w * log_B for w, log_B in zip(stage.w, logs, strict=True)) + stage.b
        for hears, H_bar in zip(blend.hears, stage.H_bar, strict=True):
            A = x.relations[hears.relation].matrix.toarray()
            D = np.maximum(A.sum(axis=1, keepdims=True), 1e-30)
            own = own + D**-hears.gamma * (A @ (B - 1 / blend.num_classes) @ H_bar)
        return own

    logits = (before(one) + before(two)) / 2
    for stages in zip(one.stages, two.stages, strict=True):
        B = softmax(logits, axis=1)
        B[known] = one_hot
        logits = (heard(one, stages[0], B) + heard(two, stages[1], B)) / 2
    assert mean_of([one, two]).said(x).logits == pytest.approx(logits, abs=1e-3)


def test_a_fit_is_the_mean_of_two_deals_and_tells_priors_by_name(monkeypatch):
    deals, of = [], Worlds.of
    monkeypatch.setattr(Worlds, "of", lambda *a, **k: deals.append(of(*a, **k)) or deals[-1])
    graph = planted(n=90)
    model = CPGNNClassifier().fit(graph)
    assert len(deals) == 2
    assert (deals[0].fold != deals[1].fold).any()
    names = [prior.name for prior in model.model_.priors]
    assert sorted(names) == sorted(2 * list(model.model_.weights))
    assert sum(model.model_.weights.values()) == pytest.approx(model.model_.stage.w.sum())
    trials = model.trials_.set_index("candidate")
    mean = trials.loc["2 deals of the folds"]
    assert mean["note"] == "kept: their mean"
    assert model.validation_score_ == mean["score"]
    right = model.classes_[model.honest_.logits.argmax(axis=1)]
    named = np.array(graph.class_names)[graph.labels[model.honest_.nodes]]
    assert mean["score"] == pytest.approx((right == named).mean())

    made = explain(model, nodes=graph.node_ids[:5], features=5)
    assert made.error.max() < 1e-5
    assert set(made.parts) <= {"base", *model.model_.weights}
    table = made.features.to_frame()
    assert not table.duplicated(["node", "part", "source", "column", "class"]).any()
    assert made.features.error.max() < 1e-4

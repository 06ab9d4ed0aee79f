"""Sets of classes: thresholds by counting, scores by loops, the promise by leaving nodes out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpgnn import CPGNNClassifier, stratified_split
from cpgnn.errors import InputError
from cpgnn.evaluation.conformal import (
    FLOOR,
    OUT_OF_FOLD,
    PredictionSets,
    Promise,
    conformal_quantile,
    deal,
    evidence,
    make_promise,
    mean_around,
    prediction_sets,
    strangeness,
    suits,
)
from cpgnn.evaluation.metrics import share
from toys import Toy, planted, softmax, toys

NAMES = ("a", "b", "c")


def beliefs(n: int, c: int, seed: int = 0) -> np.ndarray:
    return softmax(2 * np.random.default_rng(seed).normal(size=(n, c)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_the_quantile_covers_just_enough(values, alpha):
    """Of m + 1 exchangeable scores, the share at or below the quantile of the others."""
    scores = np.array(values)
    covered = [
        scores[i] <= conformal_quantile(np.delete(scores, i), alpha) for i in range(len(scores))
    ]
    assert np.mean(covered) >= 1 - alpha - 1e-9
    if len(set(values)) == len(values):  # no ties: not much more than was promised
        assert np.mean(covered) <= 1 - alpha + 1 / len(scores) + 1e-9


def test_too_few_nodes_leave_nothing_out():
    assert conformal_quantile(np.array([0.1] * 8), 0.1) == np.inf
    assert conformal_quantile(np.array([0.1] * 9), 0.1) == 0.1
    assert conformal_quantile(np.array([]), 0.5) == np.inf


@given(toys())
def test_what_is_heard_is_the_mean_over_the_neighbours(toy: Toy):
    P, H = beliefs(toy.n, toy.c), beliefs(toy.c, toy.c, 1)
    made = mean_around(toy.graph.adjacency, suits(P, H))
    for v in range(toy.n):
        total, weight = np.zeros(toy.c), toy.A[v].sum()
        for u in np.flatnonzero(toy.A[v]):
            total += toy.A[v, u] * np.log(np.maximum(H @ P[u], FLOOR))
        np.testing.assert_allclose(made[v], total / weight if weight else 0, atol=1e-6)


def test_with_a_uniform_h_nothing_is_heard():
    graph, P = planted(0, n=60), beliefs(60, 3)
    messages = mean_around(graph.adjacency, suits(P, np.full((3, 3), 1 / 3)))
    np.testing.assert_allclose(strangeness(P, messages, 8.0), 1 - P, atol=1e-12)
    np.testing.assert_allclose(strangeness(P, 0 * messages, 8.0), 1 - P, atol=1e-12)


@pytest.mark.parametrize("per", ["all", "class"])
def test_the_promise_is_kept_on_average(per):
    """Labels drawn from the beliefs themselves; calibration nodes drawn at random."""
    n, c, rng = 600, 3, np.random.default_rng(1)
    graph = planted(1, n=n, num_features=None)
    P = beliefs(n, c, 2)
    y = (rng.random((n, 1)) > P.cumsum(axis=1)).sum(axis=1)
    graph, H, hits = replace(graph, labels=y), np.full((c, c), 1 / c), np.zeros((c, 2))
    for _ in range(40):
        nodes = rng.permutation(n)[:150]
        known = evidence(P, y, nodes, nodes[:0])
        made = prediction_sets(
            make_promise(graph, known, H, coverage=0.8, per=per), graph, P, H, NAMES
        )
        rest = np.setdiff1d(np.arange(n), nodes)
        right = made.contains[rest, y[rest]]
        for k in range(c):
            hits[k] += right[y[rest] == k].sum(), (y[rest] == k).sum()
    shares = hits[:, 0] / hits[:, 1]
    assert 0.79 < hits[:, 0].sum() / hits[:, 1].sum() < 0.84
    if per == "class":
        assert shares.min() > 0.78


def test_nodes_that_choose_do_not_calibrate():
    labels = np.arange(300) % 3
    choosing, rest = deal(np.arange(200), labels)
    assert len(choosing) == 67
    np.testing.assert_array_equal(np.sort(np.concatenate([choosing, rest])), np.arange(200))
    assert np.ptp(np.bincount(labels[choosing])) <= 1
    choosing, rest = deal(np.arange(60), labels)
    assert not len(choosing)
    assert len(rest) == 60


def test_which_nodes_calibrate():
    P, y = beliefs(100, 3), np.arange(100) % 3
    val = np.arange(50, 100)
    known = evidence(P, y, val, np.arange(90, 100))
    np.testing.assert_array_equal(known.nodes, np.arange(90, 100))
    np.testing.assert_array_equal(known.choosing, np.arange(50, 90))
    refitted = evidence(P, y, val[:0], np.arange(90, 100))  # it has trained on those
    assert not len(refitted.nodes)
    said = beliefs(20, 3, 5)
    folds = evidence(P, y, val, val[:0], (np.arange(20), said))
    np.testing.assert_array_equal(folds.probabilities[:20], said)
    np.testing.assert_array_equal(folds.probabilities[20:], P[20:])
    np.testing.assert_array_equal(folds.nodes, np.arange(20))
    assert not len(folds.choosing)
    assert "out of fold" in folds.source


def test_many_validation_nodes_calibrate_alone():
    P, y, val = beliefs(300, 3), np.arange(300) % 3, np.arange(50, 300)
    held = np.arange(300)  # nodes that set a temperature
    known = evidence(P, y, val, held, (np.arange(50), beliefs(50, 3, 5)))
    np.testing.assert_array_equal(known.nodes, val)
    assert not len(known.choosing)
    np.testing.assert_array_equal(known.probabilities, P)
    y[y == 2] = np.arange(100) < 45  # a class with hardly a validation node
    y[50] = 2
    rare = evidence(P, y, val, held, (np.arange(50), beliefs(50, 3, 5)))
    np.testing.assert_array_equal(rare.nodes, np.arange(50))


def promise(value: float, n: int = 200, m: int = 100) -> Promise:
    kept = share(round(value * n), n)
    return Promise(0.9, "all", (0.5,), 0.0, (m,), "validation nodes", kept, 1.5)


def test_a_promise_is_broken_only_where_chance_cannot_explain_it():
    assert promise(0.7).broken
    assert not promise(0.85).broken  # a hundred calibration nodes leave that much to chance
    assert promise(0.85, n=100_000, m=100_000).broken
    assert not promise(0.7, m=5).broken  # everything is in the set
    assert "not kept" in " ".join(promise(0.7).sentences())


def test_labelled_nodes_that_are_not_a_fair_sample_are_noticed():
    n = 400
    graph, rng = planted(3, n=n, num_features=None), np.random.default_rng(0)
    P, labels = beliefs(n, 3, 4), graph.labels.copy()
    sure = np.argsort(-P.max(axis=1))
    noticed = {}
    for name, nodes in (("fair", rng.permutation(n)[:100]), ("picked", sure[:100])):
        y = np.full(n, -1)
        y[nodes] = labels[nodes]
        known = evidence(P, y, nodes, nodes)
        made = make_promise(replace(graph, labels=y), known, np.eye(3))
        noticed[name] = made.is_unfair
    assert noticed == {"fair": False, "picked": True}


def test_beliefs_out_of_fold_are_not_compared_with_those_of_a_model_of_all_labels():
    """Models of half of the labels are less sure; that says nothing about the sample."""
    n, rng = 600, np.random.default_rng(0)
    graph, P = planted(3, n=n, num_features=None), beliefs(n, 3, 4)
    unsure = P**0.3 / (P**0.3).sum(axis=1, keepdims=True)
    nodes, sure = rng.permutation(n)[:200], np.argsort(-P.max(axis=1))
    rest = np.setdiff1d(np.arange(n), nodes)
    found = {}
    for name, test in (
        ("drawn", rest[::5]),
        ("picked", np.setdiff1d(sure[:200], nodes)),
        ("", rest[:0]),
    ):
        y = np.full(n, -1)
        y[nodes] = graph.labels[nodes]
        y[test] = graph.labels[test]
        known = evidence(P, y, nodes[:0], nodes[:0], (nodes, unsure[nodes]))
        found[name] = make_promise(replace(graph, labels=y), known, np.eye(3))
    assert not found["drawn"].is_unfair
    assert found["picked"].is_unfair
    assert "labelled nodes are not like the nodes without" in " ".join(found["picked"].sentences())
    assert found[""].p_fair is None


def test_nodes_of_other_kinds_say_nothing_about_the_sample():
    """Cards have no class: that the model is sure of none is no reason to doubt the labels."""
    n, cards = 300, 100
    graph, rng = planted(3, n=n + cards, num_features=None), np.random.default_rng(0)
    P = np.concatenate([beliefs(n, 3, 4), np.full((cards, 3), 1 / 3)])
    nodes = rng.permutation(n)[:100]
    y = np.full(n + cards, -1)
    y[nodes] = graph.labels[nodes]
    kinds = ["account"] * n + ["card"] * cards
    graph = replace(graph, labels=y)
    known = evidence(P, y, nodes, nodes)
    assert make_promise(graph, known, np.eye(3)).is_unfair
    assert not make_promise(graph.with_kinds(kinds), known, np.eye(3)).is_unfair


def test_empty_and_full_sets_are_told_of_the_nodes_that_are_counted():
    contains = np.array([[False, False], [True, True], [False, False]])
    sets = PredictionSets(contains, ("a", "b"), pd.Index(["u", "v", "w"]), promise(0.9))
    text = " ".join(sets.sentences(np.array([True, True, False])))
    assert "1 node without a label has an empty set, so no class looks right: 'u'." in text
    assert (
        "1 node without a label has all classes in the set, so nothing can be ruled out: 'v'."
        in text
    )
    assert "2 nodes have an empty set" in " ".join(sets.sentences(np.zeros(3, dtype=bool)))


@pytest.fixture(scope="module")
def fitted() -> CPGNNClassifier:
    graph = planted(0, n=400, signal=1.0)
    split = stratified_split(graph.labels, validation=0.5, test=0.3)
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=20, epochs=20)
    return model.fit(graph, split=split)


def test_classes_with_a_bar_in_their_name_can_be_told_apart():
    contains = np.array([[True, True, False], [False, False, True], [False, False, False]])
    names, ids = ("card", "cash|cheque", '"wire"'), pd.Index(["a", "b", "c"])
    sets = PredictionSets(contains, names, ids, promise(0.9))
    assert sets.texts().tolist() == ['card|"cash|cheque"', json.dumps('"wire"'), ""]


def test_a_fitted_model_gives_sets(fitted):
    wide, narrow = fitted.predict_set(alpha=0.05), fitted.predict_set(alpha=0.4)
    assert wide.sizes.mean() > narrow.sizes.mean()
    test, y = fitted.split_.test, fitted.graph_.labels
    assert wide.contains[test, y[test]].mean() > 0.85
    table = wide.to_frame()
    assert list(table.columns) == ["id", "set", "set_size"]
    for v in (0, 100, 399):
        assert table["set"][v] == "|".join(wide.names(v))
        assert table["set_size"][v] == len(wide.names(v))
    tight = fitted.predict_set(alpha=0.9)
    assert set(tight.empty) == set(np.flatnonzero(tight.sizes == 0))
    assert set(wide.full) == set(np.flatnonzero(wide.contains.all(axis=1)))


def test_out_of_fold_beliefs_are_used_where_there_are_any(fitted):
    class Honest:
        nodes = fitted.split_.train
        logits = np.zeros((len(nodes), 3))

    fitted.honest_ = Honest()
    try:
        promised = fitted.promise()
    finally:
        del fitted.honest_
    assert "out of fold" in promised.source
    assert sum(promised.nodes) == len(fitted.split_.train)
    assert promised.strength == 0  # what is said of the neighbours knows the label


@pytest.mark.parametrize(("alpha", "hint"), [(0.0, ""), (1.0, ""), (10, "Did you mean 0.1?")])
def test_alpha_must_be_a_share(fitted, alpha, hint):
    with pytest.raises(InputError, match=rf"'alpha' must lie in \(0, 1\)\. Got .*{hint}"):
        fitted.predict_set(alpha=alpha)


def test_refusals(fitted):
    with pytest.raises(InputError, match="'per' must be 'all' or 'class'"):
        fitted.predict_set(per="node")
    graph, train = fitted.graph_, fitted.split_.train
    only = CPGNNClassifier("mlp", 1, pretrain_epochs=2, epochs=2)
    only.fit(graph, split=replace(fitted.split_, train=train, val=train[:0], test=train[:0]))
    with pytest.raises(InputError, match="did not learn from"):
        only.predict_set()


def test_a_surer_model_is_held_back_to_what_was_said_out_of_fold():
    """Labels drawn from beliefs; the model is three times as sure. Out of fold it is not."""
    n, rng = 2000, np.random.default_rng(1)
    graph, P = planted(1, n=n, num_features=None), beliefs(n, 3, 2)
    y = (rng.random((n, 1)) > P.cumsum(axis=1)).sum(axis=1)
    sure = P**3 / (P**3).sum(axis=1, keepdims=True)
    nodes, rest = np.arange(500), np.arange(500, n)
    known = evidence(sure, y, nodes[:0], nodes[:0], (nodes, P[nodes]))
    labelled = replace(graph, labels=np.where(np.arange(n) < 500, y, -1))
    made = make_promise(labelled, known, np.eye(3))
    assert made.restraint == pytest.approx(1 / 3, abs=0.02)
    sets = prediction_sets(made, graph, sure, np.eye(3), NAMES)
    alone = prediction_sets(replace(made, restraint=1.0), graph, sure, np.eye(3), NAMES)
    kept, before = (s.contains[rest, y[rest]].mean() for s in (sets, alone))
    assert 0.87 < kept < 0.93  # two standard errors
    assert before < 0.84


def test_a_model_less_sure_than_out_of_fold_stays_as_it_is():
    graph, P, nodes = planted(1, n=200, num_features=None), beliefs(200, 3), np.arange(50)
    sure = P**3 / (P**3).sum(axis=1, keepdims=True)
    known = evidence(P, graph.labels, nodes[:0], nodes[:0], (nodes, sure[nodes]))
    assert make_promise(graph, known, np.eye(3)).restraint == 1


def test_a_promise_of_few_labels_out_of_fold_is_called_rough():
    few = Promise(0.9, "all", (0.5,), 0.0, (60,), OUT_OF_FOLD)
    assert "a rough promise" in " ".join(few.sentences())
    others = replace(few, nodes=(100,)), replace(few, thresholds=(np.inf,)), promise(0.9, m=60)
    assert not any(one.is_rough for one in others)


def test_a_lower_share_never_gives_larger_sets():
    """Where so few were to be right that none was, the threshold was the largest of all."""
    scores = np.linspace(0.1, 0.9, 30)
    found = [conformal_quantile(scores, alpha) for alpha in (0.5, 0.9, 1 - 1e-9, 1 - 1e-11)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.1

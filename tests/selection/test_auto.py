"""The short list, its budget, and the choice by validation score alone."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.engine.loop import Epoch, Training
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.model import Architecture
from cpgnn.selection import auto
from cpgnn.selection.auto import CANDIDATES, Trial, candidates, choose
from cpgnn.settings import Settings
from cpgnn.splits import Split, exchanged, stratified_split
from cpgnn.training import train
from toys import planted, toy

SHORT = Settings(pretrain_epochs=10, epochs=15, patience=None)
LIKE = Architecture(hidden=8, dropout=0.25, normalization="sym")


def named(entries) -> list[tuple[str, int]]:
    return [(entry.prior, entry.num_layers) for entry in entries]


def listed(graph: Graph, *narrowed) -> list[tuple[str, int]]:
    return named(candidates(graph, Split([0, 1], [2], []), LIKE, *narrowed))


def test_the_list_as_it_stands():
    entries = candidates(toy(0).graph, Split([0, 1], [2], []), LIKE)
    assert named(entries) == named(CANDIDATES)
    assert all((e.hidden, e.dropout, e.normalization) == (8, 0.25, "sym") for e in entries)


@pytest.mark.parametrize(("num_features", "dropping"), [(4, "mlp"), (None, "cheby")])
def test_dropout_is_tried_as_well_unless_it_was_set(num_features, dropping):
    graph, split = toy(0, num_features=num_features).graph, Split([0, 1], [2], [])
    entries = candidates(graph, split, Architecture())
    assert entries[: len(CANDIDATES)] == list(CANDIDATES)
    more = [(entry.prior, entry.num_layers, entry.dropout) for entry in entries[len(CANDIDATES) :]]
    assert more == [(dropping, 1, 0.5), (dropping, 2, 0.5)]
    for asked in ("mlp", "cheby"):
        assert all(e.dropout == 0 for e in candidates(graph, split, Architecture(), asked))


@pytest.mark.parametrize(
    ("prior", "num_layers", "expected"),
    [
        ("mlp", None, [("mlp", 1), ("mlp", 2)]),
        ("cheby", None, [("cheby", 1), ("cheby", 2)]),
        ("link", None, [("link", 1)]),
        ("mlp", 3, [("mlp", 3)]),
        ("auto", 3, [("mlp", 3), ("cheby", 3), ("link", 3)]),
        ("auto", 0, [("mlp", 0), ("cheby", 0), ("link", 0)]),
    ],
)
def test_narrowed(prior, num_layers, expected):
    assert listed(toy(0).graph, prior, num_layers) == expected


def test_large_graphs_leave_out_what_they_cannot_afford(monkeypatch):
    graph = toy(0).graph
    monkeypatch.setattr(auto, "MAX_CHEBY_EDGES", graph.num_edges)
    monkeypatch.setattr(auto, "MAX_LINK_NODES", graph.num_nodes - 1)
    assert listed(graph) == [("mlp", 1), ("mlp", 2), ("cheby", 1), ("cheby", 2)]
    monkeypatch.setattr(auto, "MAX_CHEBY_EDGES", graph.num_edges - 1)
    assert listed(graph) == [("mlp", 1), ("mlp", 2)]
    assert listed(graph, "link") == [("link", 1)]  # asked for by name


def test_a_second_layer_is_tried_only_where_its_field_is_small(monkeypatch):
    """On a path, two hops around node 15 are five nodes."""
    path = Graph.from_edges(np.arange(29), np.arange(1, 30), labels=np.arange(30) % 2)
    split = Split([15], [], [])
    both, one = [("mlp", 1), ("mlp", 2)], [("mlp", 1)]
    for most, expected in ((5, both), (4, one)):
        monkeypatch.setattr(auto, "MAX_FIELD_NODES", most)
        assert named(candidates(path, split, LIKE, "mlp")) == expected
    assert named(candidates(path, split, LIKE, "mlp", 2)) == [("mlp", 2)]  # asked for


def test_an_unknown_prior_is_refused():
    with pytest.raises(InputError, match=r"'prior' must be 'auto', 'mlp', .*\. Got 'gcn'"):
        listed(toy(0).graph, "gcn")


@pytest.mark.parametrize("few", [True, False])
def test_every_trial_is_a_training_of_its_own_on_the_short_budget(monkeypatch, few):
    """Two, where validation nodes are few: once more with training nodes in their place."""
    monkeypatch.setattr(auto, "TRIAL_PRETRAIN", 6)
    monkeypatch.setattr(auto, "TRIAL_EPOCHS", 7)
    graph = planted(n=60, signal=0.5)
    split = stratified_split(graph.labels, test=0.5)
    monkeypatch.setattr(auto, "ENOUGH", len(split.val) + few)
    splits = [split, exchanged(split, graph.labels)] if few else [split]
    entries = [Architecture("mlp", 1, hidden=8), Architecture("link", 1, hidden=8)]
    begun = []
    epochs = []

    def begin(entry, most):
        begun.append((entry, most))
        return epochs.append

    trials = choose(entries, graph, split, SHORT, seed=3, begin=begin)
    assert begun == [(entry, 13 * len(splits)) for entry in entries]
    assert len(epochs) == 2 * 13 * len(splits)
    by_hand = {}
    for entry in entries:
        kept, means = [], []
        for part in splits:
            model = entry.build(graph, seed=3)
            record = train(model, graph, part, SHORT.but(pretrain_epochs=6, epochs=7), seed=3)
            kept.append(record.kept.score)
            means.append(sum(epoch.score for epoch in record.epochs) / 13)
        by_hand[entry] = pytest.approx((np.mean(kept), np.mean(means)))
    assert {trial.candidate: (trial.score, trial.mean) for trial in trials} == by_hand
    assert trials[0].score + trials[0].mean >= trials[1].score + trials[1].mean


def test_one_lucky_epoch_does_not_decide(monkeypatch):
    """Steady at 0.8 ranks before 0.5 with one epoch at 0.85."""
    lucky, steady = Architecture("mlp", 1, hidden=4), Architecture("mlp", 2, hidden=4)
    scores = {1: [0.5, 0.5, 0.85, 0.5], 2: [0.8, 0.8, 0.8, 0.8]}

    def recorded(model, *rest, **named):
        record = Training()
        record.epochs += [Epoch(2, i, 0.0, 1.0, s) for i, s in enumerate(scores[model.num_layers])]
        record.kept = max(record.epochs, key=lambda epoch: epoch.score)
        return record

    monkeypatch.setattr(auto, "train", recorded)
    graph = planted(n=40)
    trials = choose([lucky, steady], graph, stratified_split(graph.labels), SHORT)
    assert [trial.candidate for trial in trials] == [steady, lucky]
    assert [trial.score for trial in trials] == pytest.approx([0.8, 0.85])
    assert [trial.mean for trial in trials] == pytest.approx([0.8, 2.35 / 4])


def test_the_budget_of_the_settings_is_not_exceeded():
    graph = planted(n=40)
    most = []
    choose(
        [Architecture("mlp", 1, hidden=4)],
        graph,
        stratified_split(graph.labels),
        SHORT.but(pretrain_epochs=2, epochs=3),
        begin=lambda entry, epochs: most.append(epochs),
    )
    assert most == [2 * 5]


def test_among_equals_the_first_wins_and_the_prior_alone_is_noted(monkeypatch):
    record = Training()
    record.epochs += [Epoch(1, 1, 0.0, 1.0, 0.5), Epoch(1, 2, 0.0, 1.0, 1.0)]
    record.kept = record.epochs[1]
    monkeypatch.setattr(auto, "train", lambda *args, **named: record)
    graph = planted(n=40)
    entries = [Architecture("mlp", 2, hidden=8), Architecture("mlp", 1, hidden=8)]
    trials = choose(entries, graph, stratified_split(graph.labels), SHORT)
    assert trials == [Trial(entry, 1.0, 0.75, "prior alone was best") for entry in entries]


def test_overflow_loses_with_its_message():
    y = np.arange(40) % 2
    u, v = np.nonzero(np.triu(y[:, None] != y))
    graph = Graph.from_edges(
        u, v, labels=y, features=np.random.default_rng(0).normal(size=(40, 2)) + y[:, None]
    )
    entries = [Architecture("mlp", 12, hidden=8), Architecture("mlp", 1, hidden=8)]
    trials = choose(entries, graph, stratified_split(y), SHORT)
    assert named(t.candidate for t in trials) == [("mlp", 1), ("mlp", 12)]
    assert trials[1].score == float("-inf")
    assert "K = 12" in trials[1].note


def test_test_labels_do_not_choose():
    graph = planted(n=80, signal=0.5)
    split = stratified_split(graph.labels, test=0.5)
    labels = graph.labels.copy()
    labels[split.test] = np.random.default_rng(0).permutation(labels[split.test])
    entries = [Architecture("mlp", 1, hidden=8), Architecture("link", 1, hidden=8)]
    one = choose(entries, graph, split, SHORT)
    other = choose(entries, graph.with_labels(labels, graph.class_names), split, SHORT)
    assert one == other


def test_without_validation_nodes_there_is_no_choice():
    graph = planted(n=40)
    everything = Split(np.arange(40), [], [])
    trials = choose([Architecture("mlp", 1, hidden=4)], graph, everything, SHORT)
    assert trials[0].score == 0.0

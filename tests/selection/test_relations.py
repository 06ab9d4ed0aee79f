"""The default model on graphs whose edges mean different things."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.graph import Graph
from cpgnn.relations.edge_weights import RAW
from cpgnn.selection.ways import clearly_better
from cpgnn.splits import stratified_split
from cpgnn.synthetic.generate import mixhop_compatibility, uniform_compatibility
from cpgnn.synthetic.typed import Drawn, generate_typed_graph, moved


def accuracy(graph: Graph, *, merged: bool = False) -> float:
    if merged:
        graph = Graph.from_scipy(
            graph.adjacency, labels=graph.labels, class_names=graph.class_names
        )
    split = stratified_split(graph.labels, test=0.5, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CPGNNClassifier().fit(graph, split=split)
    y = graph.labels[split.test]
    return float((model.predict_proba()[split.test].argmax(axis=1) == y).mean())


@pytest.mark.slow
def test_directions_that_merging_hides():
    """Three classes in a circle: each pays the next. Merged, every other class looks alike."""
    H = moved(uniform_compatibility(3, 0.9), 1, directed=True)
    graph = generate_typed_graph([300] * 3, {"pays": Drawn(H, 3, directed=True)}, seed=0)
    apart, merged = accuracy(graph), accuracy(graph, merged=True)
    assert apart > merged + 0.1


@pytest.mark.slow
def test_types_that_merging_hides():
    like, unlike = uniform_compatibility(2, 0.9), uniform_compatibility(2, 0.1)
    graph = generate_typed_graph([400] * 2, {"a": Drawn(like, 3), "b": Drawn(unlike, 3)}, seed=0)
    assert accuracy(graph) > accuracy(graph, merged=True) + 0.1


@pytest.mark.slow
def test_types_that_mean_the_same_cost_nothing():
    H = mixhop_compatibility(3, 0.7)
    graph = generate_typed_graph([300] * 3, {"a": Drawn(H, 3), "b": Drawn(H, 3)}, seed=0)
    assert accuracy(graph) > accuracy(graph, merged=True) - 0.02


def test_accounts_that_share_devices():
    """Devices have neither features nor labels; accounts are told apart by whom they share with."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    first, second = rng.integers(0, 5, 120), rng.integers(5, 10, 120)
    devices = 120 + 2 * np.stack([first, second]) + y
    graph = Graph.from_edges(
        np.tile(np.arange(120), 2),
        devices.ravel(),
        num_nodes=140,
        labels=np.append(y, np.full(20, -1)),
        relation=["uses"] * 240,
    ).with_kinds(["account"] * 120 + ["device"] * 20, described=[])
    split = stratified_split(graph.labels, test=0.5, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CPGNNClassifier().fit(graph, split=split)
    P = model.predict_proba()[split.test]
    assert (P.argmax(axis=1) == y[split.test]).mean() > 0.95
    assert model.edge_frequency_.diagonal().min() > 0.9


def paid(seed: int) -> Graph:
    """Accounts that mostly pay their own class; amounts span ten powers and mean nothing."""
    rng = np.random.default_rng(seed)
    n, m = 300, 900
    y = np.arange(n) % 2
    u = rng.integers(0, n, m)
    v = 2 * rng.integers(0, n // 2, m) + np.where(rng.random(m) < 0.85, y[u], 1 - y[u])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some pay themselves, or somebody twice
        return Graph.from_edges(u, v, num_nodes=n, labels=y, weights=rng.lognormal(3, 4, m))


def test_amounts_that_mean_nothing_are_left_out(tmp_path):
    graph, later = paid(0), paid(1)
    model = CPGNNClassifier(budget="fast", seed=0).fit(graph)
    tried = model.trials_[model.trials_["candidate"].str.startswith("weights: ")]
    tried = tried.assign(how=tried["candidate"].str.removeprefix("weights: ")).set_index("how")
    assert list(tried.index) == ["raw", "log", "none"]
    weights = model.model_.edge_weights
    assert tried["loss"].idxmin() == weights.how != "raw"
    assert tried["note"].tolist() == [
        "kept" if how == weights.how else "not kept" for how in tried.index
    ]
    changed, nobody = weights(later), np.full(later.num_nodes, -1)
    assert changed.adjacency.data.max() < 50 < later.adjacency.data.max()
    as_given = replace(model.model_, edge_weights=RAW)
    np.testing.assert_array_equal(
        model.model_.said(model.model_.inputs(later, nobody)).logits,
        as_given.said(as_given.inputs(changed, nobody)).logits,
    )
    model.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model")
    assert again.model_.edge_weights == weights
    np.testing.assert_allclose(again.predict_proba(later), model.predict_proba(later), atol=1e-6)


def test_directions_must_be_better_by_more_than_a_standard_error():
    """Against the textbook formula for paired differences."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    worlds = Worlds.of(y, 2, np.arange(40), np.arange(40, 50))
    R = rng.normal(size=(50, 2))
    order = worlds.labels[worlds.judged]
    P = np.exp(R) / np.exp(R).sum(axis=1, keepdims=True)
    for noise, shift in ((0.1, 0.05), (2.0, 0.05), (0.1, -0.05)):
        other = R + noise * rng.normal(size=R.shape)
        other[np.arange(50), order] -= shift
        Q = np.exp(other) / np.exp(other).sum(axis=1, keepdims=True)
        gain = np.log(P[np.arange(50), order]) - np.log(Q[np.arange(50), order])
        wanted = gain.mean() > gain.std() / np.sqrt(50)
        assert clearly_better(R, other, worlds) == wanted

"""The default model on graphs whose edges mean different things."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.graph import Graph
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

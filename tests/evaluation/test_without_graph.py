"""The graph-blind MLP is what it says, and the paired difference is that of the same nodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cpgnn.demo import example_graph
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.evaluation.metrics import difference, gain_in_average_precision, rank_scores
from cpgnn.evaluation.without_graph import WithoutGraph, graph_blind_proba
from cpgnn.model import Architecture
from cpgnn.settings import preset
from cpgnn.splits import per_class_split
from cpgnn.training import train

SHORT = preset("default").but(pretrain_epochs=30, epochs=0)


def test_edges_do_not_matter():
    graph, other = example_graph(0), example_graph(1)
    split = per_class_split(graph.labels, seed=0)
    moved = other.adjacency[::-1][:, ::-1]
    rewired = graph.from_scipy(moved, features=graph.features, labels=graph.labels)
    one = graph_blind_proba(graph, split, SHORT)
    np.testing.assert_array_equal(one, graph_blind_proba(rewired, split, SHORT))
    np.testing.assert_allclose(one.sum(axis=1), 1)


def test_is_what_the_second_phase_starts_from():
    """CPGNN stopped after pretraining has the same prior, weight by weight."""
    graph = example_graph(0)
    graph = FeatureScaler.fit(graph)(graph)
    split = per_class_split(graph.labels, seed=0)
    model = Architecture("mlp", 1).build(graph, seed=3)
    train(model, graph, split, SHORT, seed=3)
    with torch.no_grad():
        P = torch.softmax(model.prior(graph).double(), dim=1).numpy()
    np.testing.assert_allclose(graph_blind_proba(graph, split, SHORT, seed=3), P, atol=1e-6)


def test_difference_is_paired():
    """40 nodes: both right on 20, the first alone on 10, the second alone on 4."""
    right = np.repeat([True, True, False, False], [20, 10, 4, 6])
    other = np.repeat([True, False, True, False], [20, 10, 4, 6])
    gain = difference(right, other)
    assert gain.value == pytest.approx(6 / 40)
    spread = np.sqrt((14 - 36 / 40) / 40**2)  # of the mean of +1, -1 and 0
    assert gain.low == pytest.approx(gain.value - 1.96 * spread, abs=0.03)
    assert gain.high == pytest.approx(gain.value + 1.96 * spread, abs=0.03)
    same = difference(right, right)  # 40 nodes without a difference do not prove that there is none
    assert same.low == -same.high < same.value == 0
    assert np.isnan(difference(right[:0], other[:0]).value)


def test_both_are_measured_on_the_nodes_given():
    labels = np.array([0, 0, 1, 1])
    P = np.eye(2)[[0, 0, 1, 0]]
    blind = np.eye(2)[[0, 1, 0, 0]]
    found = WithoutGraph.of(blind, P, labels).as_dict()
    assert found["accuracy"]["value"] == 0.25
    assert found["gain"]["value"] == 0.5
    assert found["gain"]["n"] == 4


def test_the_gain_in_average_precision_covers():
    """Two rankings of the same nodes that share half of their noise."""
    truth, rng, held = None, np.random.default_rng(0), []
    for n in (100_000, *[400] * 100):
        hit = np.arange(n) < 0.1 * n
        common, own, other = rng.normal(size=(3, 1, n))
        rankings = [2 * hit + common + own, hit + common + other]
        gain = gain_in_average_precision(*rankings, hit)
        truth = truth or gain.value
        held.append(gain.low <= truth <= gain.high)
        assert gain.low <= gain.value <= gain.high
    assert np.mean(held) >= 0.92
    alone = rank_scores(rankings[0], hit)["average_precision"]
    assert gain.high - gain.low < 1.42 * (alone.high - alone.low), "they vary together"

"""Which nodes are predicted."""

from __future__ import annotations

import warnings

import numpy as np

from cpgnn.classifier import CPGNNClassifier
from cpgnn.graph import Graph
from cpgnn.run.predictions import predictions


def test_only_the_kind_with_labels_is_predicted():
    rng = np.random.default_rng(0)
    accounts, devices = 40, 8
    y = np.arange(accounts) % 2
    edges = [(u, accounts + 2 * int(rng.integers(4)) + y[u]) for u in range(accounts)]
    X = np.zeros((accounts + devices, 2))
    X[:accounts] = rng.normal(y[:, None], 1, (accounts, 2))
    graph = Graph.from_edges(
        [u for u, _ in edges],
        [v for _, v in edges],
        num_nodes=accounts + devices,
        features=X,
        labels=np.append(y, np.full(devices, -1)),
    )
    kinds = ["account"] * accounts + ["device"] * devices
    graph = graph.with_kinds(kinds, described=["account"])
    model = CPGNNClassifier("mlp", 1, pretrain_epochs=3, epochs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(graph)
        table = predictions(model)
        later = predictions(model, graph.with_labels(np.full(len(kinds), -1), [0, 1]))
        some = predictions(model, nodes=np.array([0, accounts, 1]))
        again = CPGNNClassifier("trees", budget="fast").fit(graph)
        bare = graph.with_labels(np.full(len(kinds), -1), [0, 1])
        np.testing.assert_array_equal(again.predict_proba(bare), again.predict_proba())
    assert table["id"].tolist() == [str(i) for i in range(accounts)]
    assert later["id"].tolist() == table["id"].tolist()
    assert some["id"].tolist() == ["0", "1"]

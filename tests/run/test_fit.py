"""What a run records beside its predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.compatibility import recover_compatibility, sinkhorn_knopp
from cpgnn.demo import example_graph
from cpgnn.run.fit import history


def test_history_says_how_far_the_matrix_was_where_the_truth_is_known():
    graph = example_graph(0)
    fitted = CPGNNClassifier("mlp", 1, pretrain_epochs=20, epochs=25).fit(graph)
    table = history(fitted)
    second = table[table["phase"] == 2].set_index("epoch")["compatibility_error"]
    assert table.loc[table["phase"] == 1, "compatibility_error"].isna().all()
    assert list(second.dropna().index) == [10, 20]
    Y = np.eye(graph.num_classes)[graph.labels]
    counts = Y.T @ (graph.adjacency @ Y)
    true = sinkhorn_knopp(counts / counts.sum(axis=1, keepdims=True)).matrix
    learned = recover_compatibility(fitted.H_bars_[20])
    assert second[20] == pytest.approx(np.abs(learned - true).mean())
    hidden = np.where(np.arange(graph.num_nodes) < 5, -1, graph.labels)
    fitted.graph_ = replace(graph, labels=hidden)
    assert "compatibility_error" not in history(fitted), "nobody knows the truth"

"""Training on the receptive field is training on the graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cpgnn import CPGNNClassifier
from cpgnn.io import LoadedGraph
from cpgnn.run.fit import train_run
from cpgnn.spark import fit
from spark_files import random_files

pytestmark = pytest.mark.slow


@pytest.fixture
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def mlp(num_layers, normalization="none"):
    return CPGNNClassifier(
        "mlp", num_layers, pretrain_epochs=10, epochs=40, normalization=normalization, seed=3
    )


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("num_layers", "text", "weighted", "normalization"),
    [(1, True, True, "none"), (2, False, True, "sym"), (3, True, False, "row")],
)
def test_fit_is_that_of_one_machine(spark, tmp_path, num_layers, text, weighted, normalization):
    files = random_files(tmp_path, 10 + num_layers, text=text, weighted=weighted)
    classifier = mlp(num_layers, normalization)
    found = fit(classifier, files.given(spark), tmp_path / "run").classifier
    wanted = train_run(LoadedGraph(files.graph, files.split), classifier).classifier
    assert len(found.history_) == len(wanted.history_) == 50
    np.testing.assert_allclose(found.history_["loss"], wanted.history_["loss"], rtol=1e-6)
    weights = wanted.model_.state_dict()
    for name, weight in found.model_.state_dict().items():
        np.testing.assert_allclose(weight, weights[name], atol=1e-6)
    np.testing.assert_allclose(found.compatibility_, wanted.compatibility_, atol=1e-6)
    assert found.temperature_ == pytest.approx(wanted.temperature_, abs=1e-5)
    known = wanted.edge_frequency_interval_.edges.sum(axis=1) > 0  # others: from beliefs nearby
    assert known.sum() == 3
    np.testing.assert_allclose(
        found.edge_frequency_[known], wanted.edge_frequency_[known], atol=1e-5
    )
    assert found.num_layers_ == wanted.num_layers_

"""Spark's predictions are those of one machine, for every number of layers and normalisation."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.run.predictions import predictions
from cpgnn.spark import Packed, predict
from cpgnn.splits import Split
from spark_files import random_files

pytestmark = pytest.mark.slow


def fitted(graph, num_layers, normalization="none", epochs=3):
    classifier = CPGNNClassifier(
        "mlp", num_layers, epochs=epochs, pretrain_epochs=3, normalization=normalization
    )
    train = np.flatnonzero(graph.labels >= 0)
    empty = np.empty(0, int)
    return classifier.fit(graph, split=Split(train, empty, empty))


def close(spark, files, classifier):
    found = predict(Packed.of(classifier), files.given(spark)).toPandas()
    wanted = predictions(classifier).set_index("id")
    found = found.set_index("id")
    assert list(found.columns) == list(wanted.columns)
    assert len(found) == len(wanted)
    found = found.loc[wanted.index]
    p = [name for name in wanted.columns if name.startswith("p_")]
    np.testing.assert_allclose(found[p], wanted[p], atol=1e-5)
    assert (found["class"] == wanted["class"]).all()
    assert (found["label"] == wanted["label"]).all()


@pytest.mark.parametrize(
    ("way", "num_layers", "text", "weighted", "normalization"),
    [
        ("sent", 1, False, False, "none"),
        ("shuffled", 1, True, True, "none"),
        ("shuffled", 2, True, True, "sym"),
        ("sent", 3, False, True, "row"),
        ("sent", 2, True, False, "none"),
    ],
    indirect=["way"],
)
def test_predictions_are_those_of_one_machine(
    spark, way, tmp_path, num_layers, text, weighted, normalization
):
    files = random_files(tmp_path, num_layers, text=text, weighted=weighted)
    classifier = fitted(files.graph, num_layers, normalization)
    assert classifier.num_layers_ == num_layers
    close(spark, files, classifier)

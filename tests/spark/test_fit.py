"""Training on the receptive field is training on the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from cpgnn import CPGNNClassifier, Graph
from cpgnn.io import LoadedGraph
from cpgnn.run.fit import train_run
from cpgnn.spark import fit
from spark_blends import random_world
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


def whole(seed, **options):
    """A world as one machine sorts it; the field of its labels leaves no edge out."""
    world = random_world(seed, **options)
    rows = world.edges[world.edges["source"] != world.edges["target"]]
    ids = np.unique(np.concatenate([rows["source"], rows["target"]]))
    world = replace(
        world,
        edges=rows,
        labels=world.labels[world.labels["id"].isin(ids)],
        features=world.features[world.features["id"].isin(ids)],
    )
    labels = world.labels.set_index("id")["label"].reindex(ids)
    types = None if world.relation is None else rows[world.relation].to_numpy()
    graph = Graph.from_edges(
        np.searchsorted(ids, rows["source"]),
        np.searchsorted(ids, rows["target"]),
        features=world.features.set_index("id").loc[ids].to_numpy(),
        feature_names=list(world.features.columns[1:]),
        labels=labels.where(labels.notna(), None).to_numpy(),
        node_ids=pd.Index(ids.astype(str), dtype=object),
        relation=types,
        directed=world.directed,
    )
    split = np.where(labels.notna(), "train", "")
    near = graph.adjacency[np.flatnonzero(labels.notna())].indices
    inside = np.isin(np.arange(len(ids)), near) | labels.notna().to_numpy()
    ends = np.searchsorted(ids, rows[["source", "target"]])
    assert inside[ends].any(axis=1).all(), "an edge lies beyond the field"
    return world, LoadedGraph(graph, split)


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
@pytest.mark.parametrize("way", ["sent"], indirect=True)
def test_the_default_fit_is_that_of_one_machine(spark, way, tmp_path):
    world, loaded = whole(4, types=("knows", "pays"), directed=("pays",))
    classifier = CPGNNClassifier(budget="fast", seed=1)
    run = fit(classifier, world.given(spark), tmp_path / "run", test=0)
    wanted = train_run(loaded, classifier, test=0).classifier
    found = run.classifier
    assert list(found.model_.weights) == list(wanted.model_.weights)
    assert found.model_.hears == wanted.model_.hears
    P, Q = (one.predict_proba(loaded.graph) for one in (found, wanted))
    np.testing.assert_allclose(P, Q, atol=1e-4)
    again = CPGNNClassifier.load(tmp_path / "run" / "model")
    np.testing.assert_allclose(again.predict_proba(loaded.graph), P, atol=1e-6)

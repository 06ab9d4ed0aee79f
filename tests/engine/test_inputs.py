"""What a fit takes: our graph and those of others give the same model, and masks are the split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.inputs import to_fit, to_graph
from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from cpgnn.splits import Split, stratified_split
from toys import planted

GRAPH = planted(n=60, signal=0.6)
NAMES = np.array(GRAPH.class_names)[GRAPH.labels]
SPLIT = stratified_split(GRAPH.labels, test=0.4, seed=3)
U, V = np.triu(GRAPH.adjacency.toarray()).nonzero()


def fitted(*given, **options) -> np.ndarray:
    model = CPGNNClassifier("mlp", 1, hidden=8, epochs=8, pretrain_epochs=8)
    return model.fit(*given, **options).predict_proba()


EXPECTED = fitted(GRAPH, split=SPLIT)


def in_networkx() -> nx.Graph:
    G = nx.Graph()
    for i in range(GRAPH.num_nodes):
        G.add_node(i, label=NAMES[i], x=GRAPH.features[i])
    G.add_edges_from(zip(U.tolist(), V.tolist(), strict=True))
    return G


def in_pyg(**masks: np.ndarray):
    data = GRAPH.to_pyg()
    for part, nodes in masks.items():
        data[f"{part}_mask"] = torch.zeros(GRAPH.num_nodes, dtype=torch.bool)
        data[f"{part}_mask"][nodes] = True
    return data


def test_networkx():
    np.testing.assert_array_equal(fitted(in_networkx(), split=SPLIT), EXPECTED)


def test_pyg_masks_become_the_split():
    data = in_pyg(train=SPLIT.train, val=SPLIT.val, test=SPLIT.test)
    np.testing.assert_array_equal(fitted(data), EXPECTED)
    _, split = to_fit(data)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(split, part), getattr(SPLIT, part))
    other = Split(SPLIT.val, SPLIT.train, SPLIT.test)
    assert to_fit(data, split=other)[1] is other


def test_without_a_validation_mask_some_training_nodes_validate():
    given = np.sort(np.concatenate([SPLIT.train, SPLIT.val]))
    _, split = to_fit(in_pyg(train=given, test=SPLIT.test), validation=0.25, seed=5)
    assert len(split.val) == pytest.approx(0.25 * len(given), abs=2)
    np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.val])), given)
    np.testing.assert_array_equal(split.test, SPLIT.test)


def test_masked_nodes_without_a_label_are_no_part_of_the_split():
    data = in_pyg(train=SPLIT.train, val=SPLIT.val)
    data.y[SPLIT.train[0]] = -1
    _, split = to_fit(data)
    np.testing.assert_array_equal(split.train, SPLIT.train[1:])


def test_ten_masks_are_nine_too_many():
    data = in_pyg(train=SPLIT.train)
    data.train_mask = data.train_mask[:, None].repeat(1, 10)
    message = r"data\.train_mask must have one entry .* shape \(60, 10\)\. .*train_mask\[:, 0\]"
    with pytest.raises(InputError, match=message):
        CPGNNClassifier().fit(data)


def test_tables():
    ids = np.array([f"node {i}" for i in range(60)])
    edges = pd.DataFrame({"source": ids[U], "target": ids[V]})
    labels = pd.Series(NAMES, ids).sample(frac=1, random_state=0)
    features = pd.DataFrame(GRAPH.features, index=ids).sample(frac=1, random_state=1)
    graph, split = to_fit(edges, labels, features)
    assert split is None
    at = graph.positions(ids)
    back = Split(*(at[part] for part in (SPLIT.train, SPLIT.val, SPLIT.test)))
    made = fitted(edges, labels, features=features, split=back)
    np.testing.assert_allclose(made[at], EXPECTED, atol=1e-5)
    table = labels.rename_axis("id").rename("label").reset_index()
    np.testing.assert_array_equal(fitted(edges, table, features=features, split=back), made)


def test_a_scipy_matrix_with_labels_and_features():
    made = fitted(sp.csr_array(GRAPH.adjacency), NAMES, features=GRAPH.features, split=SPLIT)
    np.testing.assert_array_equal(made, EXPECTED)


def test_labels_by_node_and_features_by_node():
    bare = nx.Graph(zip(U.tolist(), V.tolist(), strict=True))
    bare.add_nodes_from(range(60))
    y = dict(enumerate(NAMES.tolist()))
    X = pd.DataFrame(GRAPH.features, columns=[f"f{i}" for i in range(6)])
    graph, _ = to_fit(bare, y, X)
    np.testing.assert_array_equal(graph.features, GRAPH.features[list(bare)])
    np.testing.assert_array_equal(graph.labels, GRAPH.labels[list(bare)])
    assert graph.feature_names == ("f0", "f1", "f2", "f3", "f4", "f5")


def test_networkx_without_labels_says_so_before_it_fails():
    bare = nx.path_graph(4)
    with (
        pytest.warns(GraphNotice, match="No node has the attribute 'label'"),
        pytest.raises(InputError, match="at least one training node"),
    ):
        CPGNNClassifier().fit(bare)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (np.eye(3), {}, r"The input must be a cpgnn\.Graph\. Got ndarray\. Build one"),
        (pd.DataFrame({"s": [0], "t": [1]}), {"y": [0, 1]}, r"'y' must be a table with node ids"),
        (
            pd.DataFrame({"s": [0], "t": [1]}),
            {"features": np.eye(2)},
            r"'features' must be a table with node ids.* Got ndarray",
        ),
    ],
)
def test_what_cannot_become_a_graph(given, options, message):
    with pytest.raises(InputError, match=message):
        CPGNNClassifier().fit(given, **options)


def test_predictions_and_scores_take_graphs_of_others():
    model = CPGNNClassifier("mlp", 1, hidden=8, epochs=8, pretrain_epochs=8)
    model.fit(GRAPH, split=SPLIT)
    for given in (in_networkx(), in_pyg()):
        np.testing.assert_array_equal(model.predict_proba(given), EXPECTED)
        assert model.score(given) == model.score(GRAPH)
    assert isinstance(to_graph(in_networkx()), Graph)

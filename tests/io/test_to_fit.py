"""What a fit takes: our graph and those of others give the same model, and masks are the split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.inputs import to_graph
from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from cpgnn.io.read import read_graph
from cpgnn.io.to_fit import to_fit
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
    _, split = to_fit(in_pyg(train=given, test=SPLIT.test), drawn=(0.25, 5))
    assert len(split.val) == pytest.approx(0.25 * len(given), abs=2)
    np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.val])), given)
    np.testing.assert_array_equal(split.test, SPLIT.test)


@pytest.mark.parametrize("given", [("test",), ("val",), ("val", "test")])
def test_without_a_training_mask_those_in_no_other_mask_train(given):
    masked = {part: getattr(SPLIT, part) for part in given}
    data = in_pyg(**masked)
    data.y[SPLIT.train[0]] = -1
    _, split = to_fit(data, drawn=(0.0, 0))
    for part, nodes in masked.items():
        np.testing.assert_array_equal(getattr(split, part), nodes)
    others = set(range(60)) - {int(SPLIT.train[0])}
    for nodes in masked.values():
        others -= set(nodes.tolist())
    assert set(split.train) == others


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


def as_exported() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Six columns of payments, text, dates, gaps, ids that are numbers, a split."""
    edges = pd.DataFrame({"no": range(1, len(U) + 1), "payer": U + 7, "payee": V + 7})
    edges = edges.assign(amount=2.5, booked="01.02.2024", text="paid")
    y = np.where(np.arange(60) < 50, GRAPH.labels, -1)
    part = np.where(np.arange(60) % 3, "train", "test")
    labels = pd.DataFrame({"account": np.arange(60) + 7, "label": y, "split": part})
    features = pd.DataFrame(GRAPH.features[:, :2], columns=["a", "b"])
    features.insert(1, "account", np.arange(60) + 7)
    features["opened"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(60), unit="D")
    features["region"] = pd.Categorical(np.where(np.arange(60) % 2, "north", "south"))
    features["a"] = features["a"].where(features["a"].index != 4)
    return edges, labels, features[:58]


def test_tables_are_read_like_files(tmp_path):
    edges, labels, features = as_exported()
    with pytest.warns(GraphNotice) as said:
        graph, split = to_fit(edges, labels, features)
    told = "\n".join(str(warning.message) for warning in said)
    assert "edges: columns 'no', 'amount', 'booked', 'text' not used." in told
    assert "use weight='amount'" in told
    assert "features: column 'opened' read as dates: '2024-03-01' is 19783 days after" in told
    assert "2 nodes without a row got the median" in told
    assert graph.node_ids.dtype == np.int64
    assert set(graph.node_ids) == set(range(7, 67))
    assert graph.class_names == (0, 1, 2)
    assert set(graph.feature_names) == {"a", "b", "opened", "region=north", "region=south"}
    assert (graph.labels >= 0).sum() == 50
    at = graph.positions([7, 8, 9, 10])
    np.testing.assert_array_equal(np.isin(at, split.test), [True, False, False, True])
    assert len(split.val)
    # the same from the files that pandas writes of them
    for name, table in zip("elf", (edges, labels.replace(-1, None), features), strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    read = read_graph(*(tmp_path / f"{name}.csv" for name in "elf")).graph
    same = read.positions([str(node) for node in graph.node_ids])
    order = [read.feature_names.index(name) for name in graph.feature_names]
    np.testing.assert_allclose(graph.features, read.features[same][:, order], rtol=1e-6)
    np.testing.assert_array_equal(graph.labels, read.labels[same])
    gaps = graph.mixed.gaps.toarray()
    np.testing.assert_array_equal(gaps, read.mixed.gaps[same][:, order].toarray())
    np.testing.assert_array_equal(gaps.sum(axis=0)[:2], [3, 2])


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
def test_columns_of_tables_are_named():
    edges, labels, features = as_exported()
    graph, _ = to_fit(edges, labels, features, columns={"weight": "amount", "feature": ["b"]})
    assert set(graph.adjacency.data) == {2.5}
    assert graph.feature_names == ("b",)
    model = CPGNNClassifier("mlp", 1, hidden=8, epochs=2, pretrain_epochs=2)
    assert set(model.fit(edges, labels, features=features, weight="amount").predict()) <= {0, 1, 2}
    with pytest.raises(InputError, match=r"'weight' must go with tables\. Got Graph"):
        model.fit(GRAPH, weight="amount")


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
def test_ids_of_features_are_in_the_column_that_holds_them():
    edges = pd.DataFrame({"source": U, "target": V})
    X = pd.DataFrame(GRAPH.features, columns=[f"f{i}" for i in range(6)])
    labels = pd.Series(NAMES)
    first = X.copy()
    first.insert(0, "whoever", range(60))
    shuffled = X.sample(frac=1, random_state=0)
    for features in (X, first, shuffled, X.rename_axis("id"), X.rename_axis("id").reset_index()):
        graph, _ = to_fit(edges, labels, features)
        at = graph.positions(np.arange(60))
        np.testing.assert_array_equal(graph.features[at], GRAPH.features)
        assert graph.feature_names == tuple(X.columns)
    text = edges.astype(str)  # numbers in one table, text in another: text
    assert to_fit(text, labels, X)[0].node_ids[0] == "0"


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
        pytest.raises(InputError, match="A graph to fit must have labels"),
    ):
        CPGNNClassifier().fit(bare)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ("edges.csv", {}, r"Got str\. Files are read with cpgnn\.read_graph"),
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": (SPLIT.train, SPLIT.val)}, r"'split' must be a cpgnn\.Split\. Got tuple\. Try"),
        ({"y": np.linspace(0, 1, 60)}, r"Labels must be classes\. Got 60 different numbers"),
        ({"y": [-1] * 60}, r"A graph to fit must have labels\. Got none"),
    ],
)
def test_what_cannot_be_learned_from(options, message):
    with pytest.raises(InputError, match=message):
        CPGNNClassifier().fit(GRAPH, **options)


def test_halves_are_classes_if_there_are_few():
    graph, _ = to_fit(GRAPH, GRAPH.labels / 2)
    assert graph.class_names == (0.0, 0.5, 1.0)


def test_a_table_of_labels_goes_with_any_graph():
    table = pd.DataFrame({"id": range(60), "label": NAMES}).sample(frac=1, random_state=0)
    graph, _ = to_fit(GRAPH.with_labels([-1] * 60), table)
    np.testing.assert_array_equal(graph.labels, GRAPH.labels)


def test_predictions_and_scores_take_graphs_of_others():
    model = CPGNNClassifier("mlp", 1, hidden=8, epochs=8, pretrain_epochs=8)
    model.fit(GRAPH, split=SPLIT)
    for given in (in_networkx(), in_pyg()):
        np.testing.assert_array_equal(model.predict_proba(given), EXPECTED)
        assert model.score(given) == model.score(GRAPH)
    assert isinstance(to_graph(in_networkx()), Graph)

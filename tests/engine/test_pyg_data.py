"""Graphs with kinds and types of edges go to PyG and come back; what is no graph is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from cpgnn.errors import InputError
from cpgnn.graph import Graph

KINDS = ["p", "q", "p", "q", "p", "p"]
U, V = np.array([0, 1, 2, 3, 4, 0]), np.array([2, 0, 4, 1, 5, 3])  # within p, within q, across


def dense(graph: Graph, like: Graph) -> dict[str, np.ndarray]:
    """The relations of a graph in the order of the nodes of another."""
    at = graph.positions(like.node_ids.tolist())
    return {r.name: r.matrix.toarray()[at][:, at] for r in graph.relations}


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
@pytest.mark.parametrize(
    ("relation", "directed"),
    [
        (None, False),
        (None, True),
        (["pays"] * 6, False),
        (["pays"] * 6, True),
        (["pays", "uses"] * 3, ["pays"]),
        (["pays", "pays", "uses", "uses", "pays", "uses"], ["uses"]),
    ],
)
def test_kinds_change_no_type_on_the_way_there_and_back(relation, directed, weights):
    rest = {"relation": relation, "directed": directed, "weights": weights, "self_loops": [1, 4]}
    graph = Graph.from_edges(U, V, node_ids=list("abcdef"), labels=[0, -1, 1, -1, 0, 1], **rest)
    graph = graph.with_kinds(KINDS)
    again = Graph.from_pyg(graph.to_pyg())
    assert again.has_types == graph.has_types
    assert [(t.name, t.directed) for t in again.types] == [
        (t.name, t.directed) for t in graph.types
    ]
    expected = {r.name: r.matrix.toarray() for r in graph.relations}
    found = dense(again, graph)
    assert found.keys() == expected.keys()
    for name, matrix in expected.items():
        np.testing.assert_array_equal(found[name], matrix, name)
    at = again.positions(list("abcdef"))
    np.testing.assert_array_equal(again.labels[at], graph.labels)
    assert np.array(again.kinds.names)[again.kinds.codes[at]].tolist() == KINDS
    assert set(again.node_ids[again.self_loops]) == {"b", "e"}


def test_a_directed_type_that_is_mutual_within_one_kind_stays_directed():
    graph = Graph.from_edges([0, 1, 2], [1, 0, 3], relation=["pays"] * 3, directed=True)
    graph = graph.with_kinds(["a", "a", "a", "c"])
    again = Graph.from_pyg(graph.to_pyg())
    [kind] = again.types
    assert kind.directed
    np.testing.assert_array_equal(kind.matrix.toarray(), graph.types[0].matrix.toarray())


def of(**entries) -> Data:
    return Data(**{name: torch.tensor(value) for name, value in entries.items()})


def hetero() -> HeteroData:
    data = HeteroData()
    data["p"].x = torch.eye(2)
    data["p", "to", "p"].edge_index = torch.tensor([[0], [5]])
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (of(x=[[1.0]]), r"data\.edge_index must hold two rows of node positions\. Got none"),
        (of(x=[[1.0]], edge_index=[0, 1]), r"two rows of node positions\. Got int64 of shape"),
        (of(x=[[1.0]], edge_index=[[0.5], [1.5]]), r"two rows .* Got float32"),
        (
            of(x=[[1.0]] * 2, edge_index=[[0], [7]]),
            r"below the number of nodes \(2\)\. Got 7.*x and y",
        ),
        (of(x=[[1.0]] * 2, edge_index=[[0], [-1]]), r"below the number of nodes \(2\)\. Got -1"),
        (hetero(), r"data\[.*'to', 'p'\)\]\.edge_index must .* nodes \(2\)\. Got 5"),
    ],
)
def test_edges_that_are_none(data, message):
    with pytest.raises(InputError, match=message):
        Graph.from_pyg(data)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("change", [torch.Tensor.bfloat16, torch.Tensor.half, torch.Tensor.int])
def test_features_in_any_type_of_torch(change):
    X = torch.tensor([[1.0, 2.0], [0.0, 4.0]])
    data = Data(x=change(X), edge_index=torch.tensor([[0], [1]]))
    np.testing.assert_array_equal(Graph.from_pyg(data).features, X)
    np.testing.assert_array_equal(Graph.from_edges([0], [1], features=change(X)).features, X)
    learning = X.clone().requires_grad_()
    np.testing.assert_array_equal(Graph.from_edges([0], [1], features=learning).features, X)
    np.testing.assert_array_equal(
        Graph.from_edges([0], [1], features=X.to_sparse()).features.toarray(), X
    )

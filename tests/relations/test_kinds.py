"""Kinds of nodes: who has features, who has labels."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import HeteroData

from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from cpgnn.io.graph_npz import read_graph_npz, write_graph
from cpgnn.run.later import extended

KINDS = ["account", "account", "device", "account"]


@pytest.fixture(autouse=True)
def _no_notices():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        yield


def example() -> Graph:
    graph = Graph.from_edges(
        [0, 1, 3],
        [2, 2, 1],
        relation=["uses", "uses", "pays"],
        directed=["pays"],
        features=[[1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [5.0, 6.0]],
        labels=[0, 1, -1, -1],
        node_ids=list("abcd"),
    )
    return graph.with_kinds(KINDS, described=["account"])


def test_only_the_kind_with_labels_is_predicted():
    graph = example()
    assert graph.predicted.tolist() == [True, True, False, True]
    assert graph.kinds.has_features.tolist() == [True, True, False, True]
    assert graph.kinds.counts() == {"account": 3, "device": 1}
    assert graph.with_labels([-1] * 4, [0, 1]).predicted.all()


def test_kinds_by_id_and_in_any_order():
    graph = Graph.from_edges([0, 1], [1, 2], node_ids=list("abc"))
    by_id = graph.with_kinds(pd.Series(["y", "x", "x"], index=["c", "a", "b"]))
    assert by_id.kinds.codes.tolist() == [0, 0, 1]
    assert by_id.kinds.names == ("x", "y")


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["a", "b"], "one entry for each of 4 nodes"),
        (["a", None, "b", "b"], "name a kind for every node. Got none for 1, node 1 first"),
        (["a", "b", "b", "b"], "Labels must sit on one kind of nodes. Got 1 on a, 1 on b"),
    ],
)
def test_bad_kinds(kinds, message):
    with pytest.raises(InputError, match=message):
        example().with_kinds(kinds)


def test_there_and_back_through_npz(tmp_path):
    graph = example()
    write_graph(tmp_path / "g.npz", graph)
    back = read_graph_npz(tmp_path / "g.npz")
    assert back.kinds.codes.tolist() == graph.kinds.codes.tolist()
    assert (back.kinds.names, back.kinds.described) == (graph.kinds.names, graph.kinds.described)


def test_features_of_the_first_kind_only(tmp_path):
    arrays = {"edge_index": [[0, 1], [2, 2]], "node_kind": [0, 0, 1], "features": [[1.0], [2.0]]}
    labels = {"labels": [0, 1, -1]}
    np.savez(tmp_path / "g.npz", **{k: np.array(v) for k, v in (arrays | labels).items()})
    graph = read_graph_npz(tmp_path / "g.npz")
    assert graph.features.tolist() == [[1.0], [2.0], [0.0]]
    assert graph.kinds.described == (True, False)


def test_hetero_data_there_and_back():
    data = HeteroData()
    data["paper"].x, data["paper"].y = torch.eye(3), torch.tensor([0, 1, -1])
    data["author"].num_nodes = 2
    data["paper", "by", "author"].edge_index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    data["author", "rev_by", "paper"].edge_index = torch.tensor([[0, 0, 1], [0, 1, 2]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 1], [1, 2]])
    graph = Graph.from_pyg(data, directed=["cites"])
    assert [r.name for r in graph.relations] == ["by", "cites (out)", "cites (in)"]
    by = np.zeros((5, 5))
    for u, v in ((0, 3), (1, 3), (2, 4)):
        by[u, v] = by[v, u] = 1
    np.testing.assert_array_equal(graph.relations[0].matrix.toarray(), by)
    assert graph.kinds.counts() == {"author": 2, "paper": 3}
    assert graph.kinds.described == (False, True)
    again = Graph.from_pyg(graph.to_pyg())
    papers = again.positions([("paper", i) for i in range(3)])
    np.testing.assert_array_equal(again.features[papers], np.eye(3))
    old = graph.positions(list(again.node_ids))
    for one, two in zip(graph.relations, again.relations, strict=True):
        np.testing.assert_array_equal(one.matrix.toarray()[old][:, old], two.matrix.toarray())


def test_a_directed_type_that_is_mutual_within_one_kind_keeps_both_directions():
    data = HeteroData()
    data["account"].y = torch.tensor([0, 1])
    data["account"].num_nodes, data["card"].num_nodes = 2, 1
    data["account", "pays", "account"].edge_index = torch.tensor([[0, 1], [1, 0]])
    data["account", "pays", "card"].edge_index = torch.tensor([[0], [0]])
    data.directed = ["pays"]
    within, across = Graph.from_pyg(data).types
    assert not within.directed
    assert within.matrix[[0, 1], [1, 0]].tolist() == [1, 1]
    assert across.directed
    assert not any(t.directed for t in Graph.from_pyg(data, directed=False).types)


def test_each_kind_gets_its_own_columns_back():
    data = HeteroData()
    data["card"].x = torch.tensor([[0.0, 3.0], [0.0, 4.0]])
    data["account"].x, data["account"].y = torch.eye(3), torch.tensor([0, 1, -1])
    data["account", "uses", "card"].edge_index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    back = Graph.from_pyg(data).to_pyg()
    np.testing.assert_array_equal(back["account"].x[:, 1:], np.eye(3))
    np.testing.assert_array_equal(back["card"].x, [[3], [4]])
    again = Graph.from_pyg(back).to_pyg()
    assert again["account"].x.shape == back["account"].x.shape, "columns do not add up"


def test_later_nodes_bring_their_kind():
    graph = example()
    later = Graph.from_edges([0], [1], relation=["uses"], node_ids=["a", "e"])
    assert extended(graph, later).graph.kinds.codes.tolist() == [0, 0, 1, 0, 1], "as edges tell"
    lonely = Graph.from_edges([], [], num_nodes=1, node_ids=["e"])
    with pytest.raises(InputError, match=r"have a kind: account, device\. Got none for 'e'"):
        extended(graph, lonely)
    both = extended(graph, later.with_kinds(["account", "device"], described=["account"])).graph
    assert both.kinds.codes.tolist() == [0, 0, 1, 0, 1]
    assert both.features[4].tolist() == [0, 0]
    with pytest.raises(InputError, match=r"keep its kind, 'account' in the fit\. Got 'device'"):
        extended(graph, later.with_kinds(["device", "device"]))

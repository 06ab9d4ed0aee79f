"""The graph's border: what comes in, in which form it is kept, what is refused."""

from __future__ import annotations

import dataclasses
import pickle
import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from toys import Toy, toys

TRIANGLE = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]], dtype=np.float64)


def noticed(make, *counted: str) -> Graph:
    """Builds a graph that must give exactly these notices, as warnings and on the graph."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = make()
    assert all(issubclass(warning.category, GraphNotice) for warning in caught)
    assert [str(warning.message) for warning in caught] == list(graph.notices)
    assert graph.notices == counted
    return graph


# -- from_edges ----------------------------------------


@given(st.data())
def test_any_list_of_rows_becomes_one_symmetric_simple_graph(data):
    """Duplicates, both directions, self-loops, weights 0: against a dictionary kept by hand."""
    n = data.draw(st.integers(2, 6))
    node = st.integers(0, n - 1)
    rows = data.draw(st.lists(st.tuples(node, node, st.integers(0, 3)), max_size=20))
    weighted = data.draw(st.booleans())
    weights = {}
    for u, v, w in rows:
        if u != v and (w > 0 or not weighted):
            pair = (min(u, v), max(u, v))
            weights[pair] = weights.get(pair, 0) + w if weighted else 1
    A = np.zeros((n, n))
    for (u, v), w in weights.items():
        A[u, v] = A[v, u] = w

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        graph = Graph.from_edges(
            [u for u, *_ in rows],
            [v for _, v, _ in rows],
            weights=[w for *_, w in rows] if weighted else None,
            num_nodes=n,
        )
    np.testing.assert_array_equal(graph.adjacency.toarray(), A)
    np.testing.assert_array_equal(graph.self_loops, sorted({u for u, v, _ in rows if u == v}))
    np.testing.assert_array_equal(graph.degrees, A.sum(axis=1))
    assert graph.num_edges == len(weights)
    assert graph.is_weighted == any(w != 1 for w in weights.values())
    assert graph.adjacency.has_sorted_indices
    assert graph.adjacency.indices.dtype == np.int32
    assert graph.adjacency.dtype == np.float32


def test_unweighted_duplicates_collapse_and_are_counted():
    graph = noticed(
        lambda: Graph.from_edges([0, 1, 0, 1, 2], [1, 0, 1, 2, 2]),
        "1 self-loop row was set aside.",
        "2 edge rows repeated others and were collapsed.",
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(graph.self_loops, [2])


def test_one_repeated_row_is_counted_in_the_singular():
    noticed(
        lambda: Graph.from_edges([0, 1], [1, 0]), "1 edge row repeated another and was collapsed."
    )


def test_weighted_rows_in_both_directions_add_up():
    graph = noticed(
        lambda: Graph.from_edges([0, 1, 0, 1, 0], [1, 0, 1, 2, 0], weights=[1, 2.5, 4, 0, 9]),
        "1 self-loop row was set aside.",
        "1 edge row of weight 0 was dropped.",
        "2 edge rows were added to the weight of earlier ones.",
        "1 pair of nodes has edges both ways with different weights, which were added up. If edges "
        "have a direction, use directed=True.",
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 7.5, 0], [7.5, 0, 0], [0, 0, 0]])
    assert graph.num_nodes == 3  # the edge of weight 0 still names its nodes


def test_self_loops_taken_out_before_are_kept_on_record():
    graph = noticed(
        lambda: Graph.from_edges([0, 2], [1, 2], self_loops=[1]), "1 self-loop row was set aside."
    )
    np.testing.assert_array_equal(graph.self_loops, [1, 2])


def test_a_clean_list_gives_no_notice():
    noticed(lambda: Graph.from_edges([0, 1], [1, 2]))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"num_nodes": 5}, 5),
        ({"labels": [0, 1, -1, 0]}, 4),
        ({"features": np.ones((6, 2))}, 6),
        ({"node_ids": list("abc")}, 3),
        ({}, 2),
    ],
)
def test_the_number_of_nodes_comes_from_whatever_says_it(sizes, expected):
    assert Graph.from_edges([0], [1], **sizes).num_nodes == expected


def test_a_graph_without_edges_is_a_graph():
    graph = Graph.from_edges([], [], num_nodes=3)
    assert graph.num_edges == 0
    assert graph.matrix("sym").nnz == 0
    assert "3 nodes, 0 edges, no features" in repr(graph)


# -- labels ----------------------------------------


@pytest.mark.parametrize(
    ("labels", "codes", "names"),
    [
        ([2, 7, -1], [0, 1, -1], (2, 7)),
        (["b", "a", None], [1, 0, -1], ("a", "b")),
        (["b", "a", np.nan], [1, 0, -1], ("a", "b")),
        (["b", "a", -1], [1, 0, -1], ("a", "b")),
        (np.array([1.0, np.nan, -1.0]), [0, -1, -1], (1.0,)),
        ([3, -1, None], [0, -1, -1], (3,)),
        (pd.Series(["x", pd.NA, "y"], dtype="string"), [0, -1, 1], ("x", "y")),
        (pd.Series([4, pd.NA, 2], dtype="Int64"), [1, -1, 0], (2, 4)),
        (pd.Categorical(["x", None, "y"]), [0, -1, 1], ("x", "y")),
        ([True, False, None], [1, 0, -1], (False, True)),
        (None, [-1, -1, -1], ()),
    ],
)
def test_labels_become_codes_and_their_values_names(labels, codes, names):
    graph = Graph.from_edges([0, 1], [1, 2], labels=labels, num_nodes=3)
    np.testing.assert_array_equal(graph.labels, codes)
    assert graph.class_names == names
    assert [type(name) for name in graph.class_names] == [type(name) for name in names]


@pytest.mark.parametrize("as_given", [list, np.array, lambda y: np.array(y, dtype=object)])
def test_empty_text_is_no_class(as_given):
    """As an empty cell of a file."""
    labels = as_given(["b", "", " ", "a"])
    with pytest.warns(GraphNotice, match="^2 labels are empty text, read as unknown"):
        graph = Graph.from_edges([0, 1], [2, 3], labels=labels)
    assert graph.class_names == ("a", "b")
    assert graph.labels.tolist() == [1, -1, -1, 0]
    with pytest.warns(GraphNotice, match="^2 labels"):
        again = graph.with_labels(labels, ["a", "b"])
    assert again.labels.tolist() == [1, -1, -1, 0]
    series = pd.Series(["b", ""], index=[0, 3])
    with pytest.warns(GraphNotice, match="^1 label is empty text"):
        assert graph.with_labels(series).labels.tolist() == [0, -1, -1, -1]


def test_given_class_names_order_the_codes():
    graph = Graph.from_edges([0], [1], labels=["b", None], class_names=["c", "b", "a"])
    np.testing.assert_array_equal(graph.labels, [1, -1])
    graph = graph.with_labels([2, -1], class_names=["c", "b", "a"])
    assert graph.class_names[graph.labels[0]] == "a"
    graph = graph.with_labels(["a", -1], class_names=["c", "b", "a"])
    np.testing.assert_array_equal(graph.labels, [2, -1])


# -- scipy ----------------------------------------


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix, sp.csc_array, np.array])
def test_a_symmetric_matrix_is_taken_as_it_is(dtype, form):
    graph = noticed(lambda: Graph.from_scipy(form(TRIANGLE.astype(dtype))))
    np.testing.assert_array_equal(graph.adjacency.toarray(), TRIANGLE)


def test_a_symmetric_weighted_matrix_keeps_its_weights():
    graph = noticed(lambda: Graph.from_scipy(sp.csr_array(TRIANGLE * 2.5)))
    np.testing.assert_array_equal(graph.adjacency.toarray(), TRIANGLE * 2.5)


def test_rounding_does_not_make_a_matrix_directed():
    """D^-½AD^-½ as NumPy multiplies it is symmetric to 16 digits only."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((20, 20)), 1)
    A += A.T
    D = np.diag(A.sum(axis=1) ** -0.5)
    S = D @ A @ D
    assert (S != S.T).any()
    graph = noticed(lambda: Graph.from_scipy(S))
    np.testing.assert_allclose(graph.adjacency.toarray(), S, rtol=1e-6)


def test_one_light_directed_edge_is_not_rounding():
    A = np.array([[0, 1e9, 0], [1e9, 0, 0], [1e-9, 0, 0]])
    with pytest.warns(GraphNotice):
        graph = Graph.from_scipy(A)
    np.testing.assert_allclose(graph.adjacency.toarray()[0], [0, 2e9, 1e-9])


def test_another_matrix_is_a_list_of_edges():
    directed = sp.csr_array(np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]]))
    graph = noticed(
        lambda: Graph.from_scipy(directed, labels=[0, 1, 0]),
        "1 self-loop row was set aside.",
        "1 edge row repeated another and was collapsed.",
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    weighted = sp.csr_array(np.array([[0, 1, 0], [2, 0, 3], [0, 0, 0]]))
    graph = noticed(
        lambda: Graph.from_scipy(weighted),
        "1 edge row was added to the weight of an earlier one.",
        "1 pair of nodes has edges both ways with different weights, which were added up. If edges "
        "have a direction, use directed=True.",
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 3, 0], [3, 0, 3], [0, 3, 0]])


# -- pandas ----------------------------------------


def test_tables_are_joined_by_node_id():
    edges = pd.DataFrame({"from": ["007", "b"], "to": ["b", "c"], "w": [2.0, 0.5]})
    labels = pd.DataFrame({"id": ["c", "loner", "007"], "label": ["spy", None, "agent"]})
    features = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}, index=["loner", "c", "b", "007"])
    graph = noticed(lambda: Graph.from_pandas(edges, labels, features))
    assert list(graph.node_ids) == ["007", "b", "c", "loner"]
    assert graph.class_names == ("agent", "spy")
    np.testing.assert_array_equal(graph.labels, [0, -1, 1, -1])
    np.testing.assert_array_equal(graph.features.ravel(), [4, 3, 2, 1])
    np.testing.assert_array_equal(graph.degrees, [2, 2.5, 0.5, 0])
    np.testing.assert_array_equal(graph.positions(["loner", "b"]), [3, 1])


def test_a_series_of_labels_and_integer_ids():
    edges = pd.DataFrame({"u": [10, 20], "v": [20, 30]})
    graph = Graph.from_pandas(edges, pd.Series({30: 1, 10: 0, 20: -1}))
    assert list(graph.node_ids) == [10, 20, 30]
    np.testing.assert_array_equal(graph.labels, [0, -1, 1])


def test_a_table_without_edges():
    no_edges = pd.DataFrame({"u": [], "v": []})
    assert Graph.from_pandas(no_edges).num_nodes == 0
    graph = Graph.from_pandas(no_edges, pd.Series({"a": "x", "b": "y"}))
    assert list(graph.node_ids) == ["a", "b"]
    assert graph.num_edges == 0


# -- NetworkX ----------------------------------------


def test_networkx_nodes_labels_weights_and_features():
    G = nx.Graph()
    G.add_node(("a", 1), label="x", vec=[1.0, 0.0])
    G.add_node("b", vec=[0.0, 1.0])
    G.add_node("alone", label="y", vec=[0.0, 0.0])
    G.add_edge(("a", 1), "b", weight=2.0)
    G.add_edge("b", "b")
    graph = noticed(
        lambda: Graph.from_networkx(G, features="vec"), "1 self-loop row was set aside."
    )
    assert list(graph.node_ids) == [("a", 1), "b", "alone"]
    assert graph.class_names == ("x", "y")
    np.testing.assert_array_equal(graph.labels, [0, -1, 1])
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(graph.features, [[1, 0], [0, 1], [0, 0]])


def test_networkx_label_minus_one_is_unknown():
    G = nx.path_graph(3)
    nx.set_node_attributes(G, {0: 1, 1: -1, 2: 0}, "label")
    np.testing.assert_array_equal(Graph.from_networkx(G).labels, [1, -1, 0])


def test_networkx_weight_can_be_ignored():
    G = nx.Graph([(0, 1, {"weight": 3.0}), (1, 2)])
    degrees = Graph.from_networkx(G, label=None).degrees
    np.testing.assert_array_equal(degrees, [3, 4, 1])
    ignored = Graph.from_networkx(G, label=None, weight=None)
    np.testing.assert_array_equal(ignored.degrees, [1, 2, 1])


def test_networkx_without_labels_says_so():
    G = nx.path_graph(3)
    message = "No node has the attribute 'class', so no label is known."
    graph = noticed(lambda: Graph.from_networkx(G, label="class"), message)
    assert (graph.labels == -1).all()


def test_networkx_attributes_of_one_number_are_columns():
    G = nx.path_graph(2)
    nx.set_node_attributes(G, {0: 1.0, 1: 2.0}, "age")
    nx.set_node_attributes(G, {0: 3, 1: 4}, "amount")
    graph = Graph.from_networkx(G, label=None, features=["amount", "age"])
    np.testing.assert_array_equal(graph.features, [[3, 1], [4, 2]])
    assert graph.feature_names == ("amount", "age")
    with pytest.raises(InputError, match="attribute 'name', one number each"):
        Graph.from_networkx(G, label=None, features=["age", "name"])


def test_a_directed_networkx_multigraph_becomes_undirected_if_asked():
    G = nx.MultiDiGraph([(0, 1), (1, 0), (0, 1), (1, 2)])
    graph = noticed(
        lambda: Graph.from_networkx(G, label=None, directed=False),
        "2 edge rows repeated others and were collapsed.",
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), nx.to_numpy_array(nx.path_graph(3)))


# -- PyG ----------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_what_is_done_to_a_pyg_copy_leaves_the_graph_alone(store):
    graph = Graph.from_edges(
        [0, 1], [1, 2], weights=[1.0, 2.0], features=store(np.eye(3)), labels=[0, 1, 1]
    )
    data = graph.to_pyg()
    data.y[0], data.edge_weight[0] = -1, 9.0
    (data.x if store is np.asarray else data.x.values())[0] = 5.0
    np.testing.assert_array_equal(graph.labels, [0, 1, 1])
    np.testing.assert_array_equal(sp.csr_array(graph.features).toarray(), np.eye(3))
    np.testing.assert_array_equal(graph.degrees, [1, 3, 2])


@given(toys())
def test_there_and_back_through_pyg(toy: Toy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = Graph.from_pyg(toy.graph.to_pyg())
    np.testing.assert_array_equal(back.adjacency.toarray(), toy.A)
    np.testing.assert_array_equal(back.labels, toy.y)
    assert back.class_names == toy.graph.class_names
    assert back.node_ids.equals(toy.graph.node_ids)
    assert (back.features is None) == (toy.graph.features is None)
    if toy.graph.features is not None:
        assert sp.issparse(back.features) == sp.issparse(toy.graph.features)
        values = back.features.toarray() if sp.issparse(back.features) else back.features
        np.testing.assert_array_equal(values, toy.X)


def test_self_loops_survive_the_way_through_pyg():
    with pytest.warns(GraphNotice):
        graph = Graph.from_edges([0, 1], [1, 1])
    np.testing.assert_array_equal(Graph.from_pyg(graph.to_pyg()).self_loops, [1])


def test_ids_survive_the_way_through_pyg():
    graph = Graph.from_edges([0], [1], node_ids=["007", "7"], labels=["x", None])
    back = Graph.from_pyg(graph.to_pyg())
    assert list(back.node_ids) == ["007", "7"]
    assert back.class_names == ("x",)


def test_pyg_duplicates_are_counted_but_both_directions_are_not():
    both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graph = noticed(lambda: Graph.from_pyg(Data(edge_index=both, num_nodes=3)))
    assert graph.num_edges == 2
    twice = torch.cat([both, both[:, :2]], dim=1)
    graph = noticed(
        lambda: Graph.from_pyg(Data(edge_index=twice, num_nodes=3)),
        "2 edge rows repeated others and were collapsed.",
    )
    assert not graph.is_weighted
    weighted = Data(edge_index=twice, edge_weight=torch.ones(6), num_nodes=3)
    graph = noticed(
        lambda: Graph.from_pyg(weighted), "2 edge rows were added to the weight of earlier ones."
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 2, 0], [2, 0, 1], [0, 1, 0]])


# -- derived matrices ----------------------------------------


@given(toys())
def test_normalised_matrices_against_diagonal_matrices(toy: Toy):
    d = toy.A.sum(axis=1)
    inverse = np.diag([1 / x if x else 0 for x in d])
    root = np.sqrt(inverse)
    np.testing.assert_allclose(toy.graph.matrix("none").toarray(), toy.A)
    np.testing.assert_allclose(toy.graph.matrix("sym").toarray(), root @ toy.A @ root, atol=1e-6)
    np.testing.assert_allclose(toy.graph.matrix("row").toarray(), inverse @ toy.A, atol=1e-6)


def test_derived_matrices_and_views_are_made_once():
    graph = Graph.from_scipy(TRIANGLE)
    assert graph.matrix("sym") is graph.matrix("sym")
    assert graph.view() is graph.view("cpu", torch.float32)
    assert graph.view(dtype=torch.float64) is not graph.view()
    assert graph.with_features(np.ones((3, 1))).view() is not graph.view()


def test_a_graph_is_frozen():
    graph = Graph.from_scipy(TRIANGLE, labels=[0, 1, 0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.labels = np.zeros(3)
    changed = graph.with_labels(["x", "y", "z"])
    assert graph.class_names == (0, 1)
    assert changed.class_names == ("x", "y", "z")
    assert changed.adjacency is graph.adjacency


def test_features_are_kept_dense_or_sparse_as_float32():
    X = np.arange(6).reshape(3, 2)
    graph = Graph.from_scipy(TRIANGLE, features=X)
    assert graph.features.dtype == np.float32
    assert graph.num_features == 2
    graph = graph.with_features(sp.coo_matrix(X))
    assert isinstance(graph.features, sp.csr_array)
    assert graph.features.dtype == np.float32
    np.testing.assert_array_equal(graph.features.toarray(), X)
    assert graph.with_features(None).num_features is None
    with pytest.raises(InputError, match=r"one row for each of the 3 nodes\. Got \(3,\)"):
        graph.with_features(X[:, 0])


@pytest.mark.parametrize("X", [np.empty((3, 0)), sp.csr_array((3, 0)), [[], [], []]])
def test_no_columns_are_no_features(X):
    graph = Graph.from_edges([0], [1], features=X)
    assert (graph.num_nodes, graph.features, graph.num_features) == (3, None, None)
    assert graph.with_features(np.ones((3, 2))).with_features(X).features is None


def test_the_number_of_nodes_says_where_it_comes_from():
    for name, value in (("labels", [0, 1]), ("features", np.eye(2)), ("node_ids", ["a", "b"])):
        with pytest.raises(InputError, match=rf"number of nodes \(2, as '{name}' has\)\. Got 5"):
            Graph.from_edges([0], [5], **{name: value})


def test_labels_that_are_moments_stay_moments():
    days = pd.to_datetime(["2024-03-01", None, "2024-02-01", "2024-03-01"])
    expected = (pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01"))
    for moments in (days, pd.Series(days), days.to_numpy(), days.tz_localize("UTC").to_series()):
        graph = Graph.from_edges([0, 1], [1, 2], labels=np.asarray(moments), num_nodes=4)
        assert graph.labels.tolist() == [1, -1, 0, 1]
        assert tuple(pd.Timestamp(d).tz_localize(None) for d in graph.class_names) == expected


def test_classes_that_read_alike_are_refused():
    for names in ((1, "1"), ("True", True), (2.5, "2.5")):
        with pytest.raises(
            InputError, match=rf"'class_names' must be unique\. Got '{names[0]}' twice"
        ):
            Graph.from_edges([0], [1], labels=[0, 1], class_names=names)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_that_vanish_as_they_are_kept_are_no_edges(directed):
    """1e-50 is 0 in float32."""
    graph = noticed(
        lambda: Graph.from_edges(
            [0, 1, 2], [1, 2, 3], weights=[1.0, 1e-50, 0.0], directed=directed
        ),
        "2 edge rows of weight 0 were dropped.",
    )
    assert graph.num_edges == 1
    assert sum(kind.num_edges for kind in graph.types) == 1
    assert graph.num_neighbours.tolist() == [1, 1, 0, 0]


def test_a_stored_zero_is_no_edge_of_a_matrix():
    A = sp.coo_array(([1.0, 0.0, 1.0], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    before = A.copy()
    graph = Graph.from_scipy(A)
    expected = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert not graph.is_weighted
    both = Graph.from_scipy({"a": A.tocsr(), "b": A.tocsc()})
    assert not both.is_weighted
    np.testing.assert_array_equal(A.data, before.data)


def test_fingerprint_tells_nodes_and_their_order_apart():
    one, same, other, turned = (
        Graph.from_edges([0], [1], node_ids=ids)
        for ids in (["a", "b"], ["a", "b"], ["a", "c"], ["b", "a"])
    )
    assert one.fingerprint() == same.fingerprint()
    assert len({g.fingerprint() for g in (one, other, turned)}) == 3


def test_an_unknown_id_is_named_with_what_is_close():
    graph = Graph.from_edges([0], [1], node_ids=["alice", "bob"])
    with pytest.raises(InputError, match=r"'alise'\. Did you mean alice\?"):
        graph.positions(["bob", "alise"])
    with pytest.raises(InputError, match=r"Got 'zzzz'\. Try 'alice'"):
        graph.positions("zzzz")


# -- refusals ----------------------------------------

EDGES = pd.DataFrame({"u": ["a"], "v": ["b"]})

REFUSED = {
    "float positions": (
        lambda: Graph.from_edges([0.5], [1.0]),
        "'source' must be a list of integer node positions. Got float64 of shape (1,).",
    ),
    "names as positions": (
        lambda: Graph.from_edges([0], ["b"]),
        "'target' must be a list of integer node positions. Got <U1 of shape (1,). "
        "For named nodes use Graph.from_pandas or read_graph.",
    ),
    "table of positions": (
        lambda: Graph.from_edges([[0, 1]], [1]),
        "'source' must be a list of integer node positions. Got int64 of shape (1, 2).",
    ),
    "negative position": (
        lambda: Graph.from_edges([0], [-3]),
        "'target' must hold positions of at least 0. Got -3.",
    ),
    "lengths": (
        lambda: Graph.from_edges([0, 1], [1]),
        "'target' must be as long as 'source' (2). Got 1.",
    ),
    "position too large": (
        lambda: Graph.from_edges([0], [5], num_nodes=3),
        "A node position must be below the number of nodes (3). Got 5.",
    ),
    "self-loop too large": (
        lambda: Graph.from_edges([0], [1], self_loops=[2]),
        "A self-loop must be at one of the 2 nodes. Got node 2.",
    ),
    "number of weights": (
        lambda: Graph.from_edges([0], [1], weights=[1, 2]),
        "'weights' must have one entry for each of 1 edges. Got (2,).",
    ),
    "negative weight": (
        lambda: Graph.from_edges([0, 1], [1, 2], weights=[1, -2]),
        "'weights' must be finite and not negative. Got -2.0 in row 1.",
    ),
    "NaN weight": (
        lambda: Graph.from_edges([0], [1], weights=[np.nan]),
        "'weights' must be finite and not negative. Got nan in row 0.",
    ),
    "infinite weight": (
        lambda: Graph.from_scipy(np.where(TRIANGLE, np.inf, 0)),
        "'weights' must be finite and not negative. Got inf in row 0.",
    ),
    "weight beyond float32": (
        lambda: Graph.from_edges([0], [1], weights=[1e39]),
        "The weights of an edge must add up to at most 3.4e+38. Got 1e+39.",
    ),
    "text weight": (
        lambda: Graph.from_edges([0], [1], weights=["heavy"]),
        "'weights' must be numbers. Got 'heavy'.",
    ),
    "feature rows": (
        lambda: Graph.from_edges([0], [1], num_nodes=2, features=np.ones((3, 1))),
        "'features' must have one row for each of the 2 nodes. Got (3, 1).",
    ),
    "feature vector": (
        lambda: Graph.from_edges([0], [1], features=np.ones(2)),
        "'features' must have one row for each of the 2 nodes. Got (2,).",
    ),
    "NaN feature": (
        lambda: Graph.from_edges([0], [1], features=[[np.nan], [1]]),
        "'features' must be finite. Got NaN or an infinite value.",
    ),
    "infinite sparse feature": (
        lambda: Graph.from_edges([0], [1], features=sp.csr_array([[np.inf], [1]])),
        "'features' must be finite. Got NaN or an infinite value.",
    ),
    "text feature": (
        lambda: Graph.from_edges([0], [1], features=[["red"], ["blue"]]),
        "'features' must be numbers in n rows and F columns. Got list. Tables with text",
    ),
    "text column": (
        lambda: Graph.from_pandas(EDGES, features=pd.DataFrame({"f": ["p", "q"]}, list("ab"))),
        "'features' must be numbers in n rows and F columns. Got",
    ),
    "ragged features": (
        lambda: Graph.from_edges([0], [1], features=[[1.0], [1.0, 2.0]]),
        "'features' must be numbers in n rows and F columns. Got rows of different lengths.",
    ),
    "NetworkX node without features": (
        lambda: Graph.from_networkx(nx.path_graph(2), features="vec"),
        "Every node must have the attribute 'vec', one vector each. Got none at node 0.",
    ),
    "missing feature row": (
        lambda: Graph.from_pandas(EDGES, features=pd.DataFrame({"f": [1.0]}, ["a"])),
        "'features' must have one row for each of the 2 nodes. Got none for b.",
    ),
    "number of labels": (
        lambda: Graph.from_edges([0], [1], num_nodes=2, labels=[0]),
        "'labels' must have one entry for each of 2 nodes. Got (1,).",
    ),
    "label without a name": (
        lambda: Graph.from_edges([0], [1], labels=[0, 2], class_names=["x", "y"]),
        "'labels' must lie between -1 (unknown) and 1. Got 0 to 2.",
    ),
    "unknown class": (
        lambda: Graph.from_edges([0], [1], labels=["x", "z"], class_names=["x", "y"]),
        "A label must be one of ['x', 'y']. Got 'z'.",
    ),
    "class named twice": (
        lambda: Graph.from_edges([0], [1], labels=[0, 1], class_names=["x", "x"]),
        "'class_names' must be unique. Got 'x' twice.",
    ),
    "number of ids": (
        lambda: Graph.from_edges([0], [1], num_nodes=2, node_ids=["a"]),
        "'node_ids' must name each of 2 nodes. Got 1 names.",
    ),
    "id twice": (
        lambda: Graph.from_edges([0], [1], node_ids=["a", "a"]),
        "'node_ids' must be unique. Got 'a' twice.",
    ),
    "oblong matrix": (
        lambda: Graph.from_scipy(np.ones((2, 3))),
        "The adjacency matrix must be square. Got (2, 3).",
    ),
    "columns of edges": (
        lambda: Graph.from_pandas(pd.DataFrame({"u": [1]})),
        "'edges' must have 2 or 3 columns: source, target[, weight]. Got (1, 1).",
    ),
    "columns of labels": (
        lambda: Graph.from_pandas(EDGES, EDGES.assign(w=1)),
        "'labels' must have the columns id, label; or one column and node ids in the index.",
    ),
    "labelled twice": (
        lambda: Graph.from_pandas(EDGES, pd.Series([0, 1], index=["a", "a"])),
        "'labels' must name each node once. Got a twice.",
    ),
    "missing id": (
        lambda: Graph.from_pandas(pd.DataFrame({"u": ["a", None], "v": ["b", "c"]})),
        "A node id must not be missing. Got an empty id in edges, labels or features.",
    ),
    "normalization": (
        lambda: Graph.from_edges([0], [1]).matrix("both"),
        "'normalization' must be 'none', 'sym' or 'row'. Got 'both'.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_must_be_and_what_came(name):
    make, message = REFUSED[name]
    with pytest.raises(InputError, match="^" + re.escape(message)):
        make()


def test_the_constructor_checks_too():
    good = Graph.from_scipy(TRIANGLE, labels=[0, 1, 0])
    oblong = sp.csr_array(np.ones((3, 2)))
    with pytest.raises(InputError, match="The adjacency matrix must be square"):
        dataclasses.replace(good, adjacency=oblong)
    with pytest.raises(InputError, match="'labels' must have one entry for each of 3 nodes"):
        dataclasses.replace(good, labels=np.zeros(2, dtype=np.int64))


def test_notices_point_at_the_line_of_the_user():
    edges = pd.DataFrame({"source": ["a", "a"], "target": ["a", "b"]})
    with pytest.warns(GraphNotice) as caught:
        Graph.from_pandas(edges)
    assert caught[0].filename == __file__
    with pytest.warns(GraphNotice) as caught:
        Graph.from_scipy(sp.csr_array(np.ones((2, 2))))
    assert caught[0].filename == __file__


def test_a_pickled_graph_leaves_out_what_can_be_derived():
    """Workers of a cross-validation get no tensors, of which torch warns."""
    graph = Graph.from_edges([0, 1], [1, 2])
    before = len(pickle.dumps(graph))
    graph.view()
    graph.matrix("sym")
    assert len(pickle.dumps(graph)) == before
    again = pickle.loads(pickle.dumps(graph))
    np.testing.assert_array_equal(again.adjacency.toarray(), graph.adjacency.toarray())
    assert again.view() is again.view()

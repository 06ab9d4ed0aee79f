"""Types and directions of edges, against matrices kept by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.cli.printing import in_words
from cpgnn.engine.inputs import to_graph
from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from cpgnn.io.graph_npz import read_graph_npz, write_graph
from cpgnn.io.read import read_graph
from cpgnn.relations.derived import heard_relations
from cpgnn.relations.edge_types import EdgeType
from cpgnn.run.later import extended

PAYS = np.array([[0, 1, 1], [0, 0, 0], [0, 1, 0]])
SHARES = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])


@pytest.fixture(autouse=True)
def _no_notices():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphNotice)
        yield


def example(**rest) -> Graph:
    return Graph.from_scipy({"pays": PAYS, "shares": SHARES}, directed=["pays"], **rest)


def matrices(graph: Graph) -> dict[str, list]:
    return {relation.name: relation.matrix.toarray().tolist() for relation in graph.relations}


def same(one: Graph, two: Graph) -> bool:
    return (
        matrices(one) == matrices(two)
        and [kind.directed for kind in one.edge_types] == [kind.directed for kind in two.edge_types]
        and (one.adjacency != two.adjacency).nnz == 0
        and one.node_ids.astype(str).equals(two.node_ids.astype(str))
        and one.labels.tolist() == two.labels.tolist()
    )


def test_a_graph_without_types_has_one_relation_that_is_its_matrix():
    graph = Graph.from_edges([0, 1], [1, 2])
    (only,) = graph.relations
    assert only.name == "edges"
    assert np.shares_memory(only.matrix.data, graph.adjacency.data)
    assert graph.edge_types == ()


def test_a_directed_type_is_heard_in_both_directions():
    graph = example()
    assert matrices(graph) == {
        "pays (out)": PAYS.tolist(),
        "pays (in)": PAYS.T.tolist(),
        "shares": SHARES.tolist(),
    }
    merged = ((PAYS + PAYS.T + SHARES) > 0).astype(float)
    np.testing.assert_array_equal(graph.adjacency.toarray(), merged)


@st.composite
def rows(draw):
    n = draw(st.integers(2, 6))
    node = st.integers(0, n - 1)
    edge = st.tuples(node, node, st.sampled_from("abc"), st.integers(1, 3))
    return n, draw(st.lists(edge, min_size=1, max_size=20))


@given(rows(), st.booleans(), st.sets(st.sampled_from("abc")))
def test_types_against_matrices_filled_by_hand(given_rows, weighted, one_way):
    n, edges = given_rows
    expected = {name: np.zeros((n, n)) for _, _, name, _ in edges}
    merged = np.zeros((n, n))
    for u, v, name, w in edges:
        if u != v:
            for A, both in ((expected[name], name not in one_way), (merged, True)):
                for i, j in ((u, v), (v, u))[: 1 + both]:
                    A[i, j] = A[i, j] + w if weighted else 1
    source, target, names, weights = map(list, zip(*edges, strict=True))
    graph = Graph.from_edges(
        source,
        target,
        weights=weights if weighted else None,
        num_nodes=n,
        relation=names,
        directed=sorted(one_way & set(names)),
    )
    np.testing.assert_array_equal(graph.adjacency.toarray(), merged)
    assert [kind.name for kind in graph.edge_types] == sorted(expected)
    for kind in graph.edge_types:
        A = expected[kind.name]
        if kind.name in one_way and (A == A.T).all():  # given both ways
            assert not kind.directed
            A = 2 * A if weighted else A
        np.testing.assert_array_equal(kind.matrix.toarray(), A)


@given(rows(), st.randoms())
def test_the_order_of_rows_does_not_matter(given_rows, random):
    n, edges = given_rows
    mixed = random.sample(edges, len(edges))
    one, two = (
        Graph.from_edges(
            [e[0] for e in part],
            [e[1] for e in part],
            num_nodes=n,
            relation=[e[2] for e in part],
            directed=True,
        )
        for part in (edges, mixed)
    )
    assert same(one, two)


def test_a_directed_graph_given_both_ways_is_the_undirected_one():
    both = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], directed=True)
    assert same(both, Graph.from_edges([0, 1], [1, 2]))
    assert both.edge_types == ()
    symmetric = Graph.from_scipy(sp.csr_array(SHARES), directed=True)
    assert same(symmetric, Graph.from_scipy(sp.csr_array(SHARES)))


def test_what_is_made_of_a_graph_keeps_its_types():
    graph = example(labels=[0, 1, -1])
    for other in (graph.with_features(np.eye(3)), graph.with_labels([0, 1, 1])):
        assert matrices(other) == matrices(graph)


@pytest.mark.parametrize("weighted", [False, True])
def test_there_and_back(tmp_path, weighted):
    graph = example(labels=[0, 1, -1], node_ids=["a", "b", "c"], class_names=["x", "y"])
    if weighted:
        half = [replace(t, matrix=t.matrix * np.float32(0.5)) for t in graph.edge_types]
        graph = replace(graph, edge_types=tuple(half), adjacency=graph.adjacency * np.float32(0.5))
    write_graph(tmp_path / "graph.npz", graph)
    back = read_graph_npz(tmp_path / "graph.npz")
    assert matrices(back) == matrices(graph)
    again = Graph.from_networkx(graph.to_networkx())
    assert matrices(again) == matrices(graph)
    if not weighted:
        assert same(back, graph)
        assert same(Graph.from_pyg(graph.to_pyg()), graph)
        assert not any(t.directed for t in Graph.from_pyg(graph.to_pyg(), directed=False).types)
        networkx = Graph.from_networkx(graph.to_networkx(), directed=["pays"])
        assert matrices(networkx) == matrices(graph)


def test_weights_of_edges_both_ways_are_not_added_up_in_networkx():
    mutual = nx.DiGraph()
    mutual.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 2.0)])
    graph = Graph.from_networkx(mutual)
    assert graph.adjacency.toarray().tolist() == [[0, 2], [2, 0]]
    assert not graph.edge_types
    ends = {"weights": [2.0, 3, 4], "relation": ["pays", "pays", "uses"], "directed": ["pays"]}
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], num_nodes=3, **ends)
    assert same(Graph.from_networkx(graph.to_networkx()), graph)


def test_one_directed_type_there_and_back(tmp_path):
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], directed=True)
    assert list(matrices(graph)) == ["out", "in"]
    write_graph(tmp_path / "graph.npz", graph)
    assert same(read_graph_npz(tmp_path / "graph.npz"), graph)
    assert same(Graph.from_pyg(graph.to_pyg()), graph)
    assert isinstance(graph.to_networkx(), nx.DiGraph)
    assert same(Graph.from_networkx(graph.to_networkx()), graph)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_and_kinds_go_to_networkx_and_back(sparse):
    X = np.array([[1, 0], [0, 2], [0, 0]], dtype=np.float32)
    graph = example(features=sp.csr_array(X) if sparse else X, labels=[0, 1, -1])
    graph = graph.with_kinds(["account", "account", "device"], ["account"])
    there = graph.to_networkx()
    assert "x" not in there.nodes[2]
    back = Graph.from_networkx(there, features="x", directed=["pays"])
    np.testing.assert_array_equal(back.features, X)
    assert back.kinds.names == ("account", "device")
    assert back.kinds.described == (True, False)
    assert to_graph(there).kinds.described == (True, False)
    del there.nodes[0]["x"]
    with pytest.raises(InputError, match="'x', one vector each"):
        Graph.from_networkx(there, features="x")
    with pytest.raises(InputError, match="'y', one vector each"):
        Graph.from_networkx(there, features="y")


def test_networkx_keys_and_attributes_are_types():
    G = nx.MultiDiGraph()
    G.add_edge("a", "b", key="pays")
    G.add_edge("b", "a", key="calls")
    assert list(matrices(Graph.from_networkx(G, label=None))) == [
        "calls (out)", "calls (in)", "pays (out)", "pays (in)",
    ]  # fmt: skip
    H = nx.Graph([("a", "b", {"how": "pays"}), ("b", "c", {"how": "calls"})])
    assert list(matrices(Graph.from_networkx(H, label=None, relation="how"))) == ["calls", "pays"]


def test_pandas_tables_name_the_column():
    table = pd.DataFrame({"u": ["a", "b"], "v": ["b", "c"], "w": [1.0, 2.0], "how": ["x", "y"]})
    graph = Graph.from_pandas(table, relation="how", directed=True)
    assert list(matrices(graph)) == ["x (out)", "x (in)", "y (out)", "y (in)"]
    assert graph.is_weighted


def test_later_edges_join_their_types(tmp_path):
    graph = example(node_ids=["a", "b", "c"])
    later = Graph.from_edges(
        [0, 1], [1, 2], relation=["pays", "shares"], directed=["pays"], node_ids=["c", "d", "a"]
    )
    both = extended(graph, later).graph
    assert list(both.node_ids) == ["a", "b", "c", "d"]
    pays, shares = np.zeros((4, 4)), np.zeros((4, 4))
    pays[:3, :3], shares[:3, :3] = PAYS, SHARES
    pays[2, 3] = shares[3, 0] = shares[0, 3] = 1
    assert matrices(both) == {
        "pays (out)": pays.tolist(),
        "pays (in)": pays.T.tolist(),
        "shares": shares.tolist(),
    }
    unknown = Graph.from_edges([0], [1], relation=["calls"], node_ids=["c", "d"])
    with pytest.raises(
        InputError,
        match=r"be one of the fit's: pays, shares\. Got 'calls'\. Leave out its rows, or fit",
    ):
        extended(graph, unknown)
    kinds = graph.with_kinds(["account"] * graph.num_nodes)
    with pytest.raises(InputError, match="Got 'calls'"):  # before a kind is asked for
        extended(kinds, unknown)
    with pytest.raises(InputError, match=r"Got 'edges'\. Name the column"):
        extended(graph, Graph.from_edges([0], [1], node_ids=["c", "d"]))


def test_a_later_edge_without_direction_leads_both_ways():
    graph = Graph.from_edges([0, 1], [1, 2], directed=True)
    both = extended(graph, Graph.from_edges([0], [2], num_nodes=3)).graph
    expected = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
    assert matrices(both)["out"] == expected.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relation": ["a"]}, r"'relation' must have one entry for each of 2 edges\. Got 1"),
        ({"relation": ["a", None]}, r"name a type for every edge\. Got none in row 1 \(1 of 2"),
        ({"relation": ["a", " "]}, r"name a type for every edge"),
        ({"relation": ["a", "b"], "directed": ["c"]}, r"must name types of edges: a, b\. Got 'c'"),
    ],
)
def test_bad_types(options, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edges([0, 1], [1, 2], **options)


def test_types_have_different_names_and_the_size_of_the_graph():
    graph = Graph.from_edges([0, 1], [1, 2])
    good, small = EdgeType("a", graph.adjacency, False), sp.csr_array(np.zeros((2, 2)))
    with pytest.raises(InputError, match="have different names"):
        replace(graph, edge_types=(good, good))
    with pytest.raises(InputError, match="matrix of 3 rows"):
        replace(graph, edge_types=(EdgeType("b", small, False),))


TAKEN = ["edges", "two hops", "own", "pays (out)", "pays (in)", "uses (shared)"]


def test_types_that_are_called_like_derived_relations_do_not_replace_them(tmp_path):
    """Each type of four edges of its own, one of them directed, as matrices and as a file."""
    names = ["pays", "uses", *TAKEN]
    rng = np.random.default_rng(0)
    given = {name: np.triu(rng.random((9, 9)) < 0.3, 1).astype(int) for name in names}
    with pytest.warns(GraphNotice, match=r"'edges' is called 'edges \(type\)'"):
        graph = Graph.from_scipy(given, directed=["pays"])
    expected = {"pays (out)": given["pays"], "pays (in)": given["pays"].T}
    for name in names[1:]:
        expected[f"{name} (type)" if name in TAKEN else name] = given[name] + given[name].T
    total = sum(A + A.T for A in given.values())
    expected["edges"] = (total > 0).astype(int)
    two = ((expected["edges"] @ expected["edges"]) > 0) & (expected["edges"] == 0)
    expected["two hops"] = (two & ~np.eye(9, dtype=bool)).astype(int)
    found = heard_relations(graph)
    assert found.keys() == expected.keys()
    for name, relation in found.items():
        np.testing.assert_array_equal(relation.matrix.toarray() > 0, expected[name] > 0, name)
    parts = [
        f'{u},{v},"{name}"' for name, A in given.items() for u, v in zip(*A.nonzero(), strict=True)
    ]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target,type", *parts]))
    read = read_graph(tmp_path / "edges.csv", relation_column="type", directed=["pays"]).graph
    assert heard_relations(read).keys() == expected.keys()
    again = Graph.from_networkx(graph.to_networkx())
    assert [one.name for one in again.edge_types] == [one.name for one in graph.edge_types]


def test_a_derived_relation_is_no_name_of_a_type():
    graph = example()
    for name in TAKEN:
        kinds = (graph.edge_types[0], replace(graph.edge_types[1], name=name))
        with pytest.raises(
            InputError, match=r"must not be called as a derived relation.*\(type\)'"
        ):
            replace(graph, edge_types=kinds)


def test_unequal_matrices():
    with pytest.raises(InputError, match="equally large"):
        Graph.from_scipy({"a": np.zeros((2, 2)), "b": np.zeros((3, 3))})


def test_relations_read_in_order():
    names = list(matrices(example()))
    assert all(one < two or one.endswith("(out)") for one, two in pairwise(names))


def test_kinds_and_keys_that_only_some_have_are_told_not_dropped():
    G = nx.MultiDiGraph()
    G.add_node(0, kind="account")
    G.add_edge(0, 1, key="pays")
    G.add_edge(1, 2)
    with pytest.warns(GraphNotice):
        graph = Graph.from_networkx(G, label=None)
    assert [relation.name for relation in graph.relations] == ["out", "in"]
    assert graph.kinds is None
    assert graph.notices == (
        "Kinds of nodes are not used: 2 nodes have no attribute 'kind', '1' first.",
        "Keys of edges are not used as types: 1 edge has none that is text, '0' first.",
    )


def test_a_notice_about_a_type_names_options_as_each_surface_does():
    with pytest.warns(GraphNotice):
        graph = Graph.from_edges(
            [0, 1, 0], [1, 0, 1], weights=[1.0, 2.0, 1.0], relation=["owes", "owes", "likes"]
        )
    [said] = [notice for notice in graph.notices if "both ways" in notice]
    assert said.startswith("owes: 1 pair of nodes has edges both ways")
    assert said.endswith("use directed=True.")
    assert in_words(said).endswith("use --directed.")

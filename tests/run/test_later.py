"""What came after a fit is added to its graph: the same as if all had been read at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn.cli.printing import in_words
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.run.later import alone, extended

FIRST = [("a", "b"), ("b", "c"), ("c", "d")]
LATER = [("d", "e"), ("b", "a"), ("f", "a"), ("e", "f")]
X = {name: [i, 10.0 * i] for i, name in enumerate("abcdef", start=1)}


def graph(pairs, names, weights=None, features=True, labels=None, sparse=False):
    """A graph on `names`, in that order, whose features are rows of `X`."""
    at = {name: i for i, name in enumerate(names)}
    ends = np.array([(at[u], at[v]) for u, v in pairs]).reshape(-1, 2)
    F = np.array([X[name] for name in names], dtype=np.float32).reshape(-1, 2)
    return Graph.from_edges(
        ends[:, 0],
        ends[:, 1],
        weights=weights,
        node_ids=list(names),
        features=None if not features else sp.csr_array(F) if sparse else F,
        feature_names=["p", "q"] if features else None,
        labels=labels,
    )


def dense(features):
    return features.toarray() if sp.issparse(features) else features


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_is_the_graph_of_both_lists_of_edges(weighted, sparse):
    one, two = ([2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]) if weighted else (None, None)
    labels = np.array(["x", None, "y", "x"], dtype=object)
    fitted = graph(FIRST, "abcd", one, labels=labels, sparse=sparse)
    made = extended(fitted, graph(LATER, "feadb", two))
    whole = graph(FIRST + LATER, "abcdfe", one and one + two, sparse=sparse)
    np.testing.assert_array_equal(made.graph.adjacency.toarray(), whole.adjacency.toarray())
    np.testing.assert_array_equal(dense(made.graph.features), dense(whole.features))
    assert list(made.graph.node_ids) == list("abcdfe")
    assert made.graph.class_names == fitted.class_names
    assert made.graph.labels.tolist() == [*fitted.labels, -1, -1]
    assert [made.graph.node_ids[i] for i in made.named] == list("feadb")
    assert made.notices[0] == (
        "2 new nodes and 3 new edges were added to the 4 nodes and 3 edges of the fit."
    )
    assert "3 took the features given there and 0 kept those of the fit" in made.notices[1]
    assert any("1 later edge was already in the fit" in line for line in made.notices) == weighted


def test_known_nodes_keep_their_features_where_there_are_no_others():
    fitted = graph(FIRST, "abcd")
    later = graph(LATER, "abdef").with_features(-np.ones((5, 2)))
    described = np.array([False, True, False, True, True])
    made = extended(fitted, later, described=described)
    expected = np.array([X["a"], [-1, -1], X["c"], X["d"], [-1, -1], [-1, -1]])
    np.testing.assert_array_equal(made.graph.features, expected)
    assert "1 took the features given there and 2 kept those of the fit" in made.notices[1]


def test_features_are_matched_by_name():
    fitted, later = graph(FIRST, "abcd"), graph([("d", "e")], "de")
    turned = Graph.from_edges(
        [0], [1], node_ids=["d", "e"], features=later.features[:, ::-1], feature_names=["q", "p"]
    )
    made = extended(fitted, turned)
    np.testing.assert_array_equal(made.graph.features, [X[name] for name in "abcde"])


def test_new_nodes_need_features_or_medians():
    fitted, later = graph(FIRST, "abcd"), graph([("d", "e"), ("e", "f")], "def", features=False)
    with pytest.raises(InputError, match=r"none for 2 new nodes, 'e' first.*impute='median'"):
        extended(fitted, later)
    made = extended(fitted, later, medians=[7.0, 8.0])
    np.testing.assert_array_equal(made.graph.features[4:], [[7, 8], [7, 8]])
    np.testing.assert_array_equal(made.graph.features[:4], fitted.features)
    assert any("2 new nodes without features got the medians" in line for line in made.notices)
    same = extended(fitted, graph([("a", "d")], "ad", features=False))
    np.testing.assert_array_equal(same.graph.features, fitted.features)


def test_numbers_and_text_name_the_same_nodes():
    """A graph file knows node 3, a table the text "3"."""
    fitted = Graph.from_edges([0, 1], [1, 2])
    later = Graph.from_pandas(pd.DataFrame({"u": ["2", "3"], "v": ["0", "1"]}))
    made = extended(fitted, later)
    assert made.graph.num_nodes == 4
    assert list(made.graph.node_ids) == ["0", "1", "2", "3"]
    assert made.graph.adjacency[[0], [2]] == 1
    assert extended(fitted, Graph.from_edges([0], [2])).graph.node_ids.equals(fitted.node_ids)


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (graph(LATER, "abdef", [1.0, 2.0, 3.0, 4.0]), "have no weights, like the fitted graph"),
        (graph(LATER, "abdef").with_features(np.ones((5, 3))), "have the 2 features of the fit"),
    ],
)
def test_what_does_not_fit_is_refused(later, message):
    with pytest.raises(InputError, match=message):
        extended(graph(FIRST, "abcd"), later)


def test_a_featureless_fit_takes_no_features():
    with pytest.raises(InputError, match="have no features, like the fitted graph"):
        extended(graph(FIRST, "abcd", features=False), graph(LATER, "abdef"))


def test_later_edges_without_weights_are_announced_where_the_fit_has_some():
    fitted = graph(FIRST, "abcd", [200.0, 300.0, 400.0])
    bare = extended(fitted, graph([("d", "e")], "de")).notices
    [said] = [n for n in bare if "each counts 1; in the fit an edge weighs 300 on average" in n]
    assert said.endswith("use weight='…'.")
    assert in_words(said).endswith("use --weight ….")
    weighed = extended(fitted, graph([("d", "e")], "de", [5.0])).notices
    assert not any("weight=" in n for n in weighed)


def test_the_kind_of_a_new_node_follows_from_its_edges_and_columns():
    fitted = Graph.from_edges(
        [0, 1, 0], [2, 2, 1], relation=["uses", "uses", "pays"], directed=["pays"],
        labels=[0, 1, -1], node_ids=list("abx"),
    ).with_kinds(["account", "account", "device"])  # fmt: skip
    later = Graph.from_edges(
        [0, 3, 1, 4], [1, 2, 4, 5], relation=["uses", "uses", "pays", "uses"], directed=["pays"],
        node_ids=["n1", "x", "m1", "a", "n2", "m2"],
    )  # fmt: skip
    with pytest.raises(InputError, match="keep its kind"):
        extended(fitted, later.with_kinds(["account"] * 6))
    later = Graph.from_edges(
        [0, 3, 4, 4], [1, 2, 0, 5], relation=["uses", "uses", "pays", "uses"], directed=["pays"],
        node_ids=["n1", "x", "m1", "a", "n2", "m2"],
    )  # fmt: skip
    both = extended(fitted, later).graph
    names = np.array(both.kinds.names)[both.kinds.codes]
    assert dict(zip(both.node_ids, names, strict=True)) == {
        "a": "account", "b": "account", "x": "device",
        "n1": "account", "m1": "device", "n2": "account", "m2": "device",
    }  # fmt: skip
    by_itself = alone(fitted, later)
    assert by_itself.node_ids.equals(later.node_ids)
    assert dict(zip(by_itself.node_ids, by_itself.kinds.codes, strict=True)) == {
        "a": 0, "x": 1, "n1": 0, "m1": 1, "n2": 0, "m2": 1,
    }  # fmt: skip
    strangers = Graph.from_edges([0], [1], relation=["uses"], node_ids=["p", "q"])
    with pytest.raises(InputError, match=r"have a kind: account, device\. Got none for 'p'"):
        extended(fitted, strangers)

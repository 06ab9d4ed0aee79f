"""Node ids of pandas tables: which column or index, one type, no spaces, labels by id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn.errors import InputError
from cpgnn.graph import Graph

EDGES = pd.DataFrame({"source": ["b", "c"], "target": ["a", "a"]})  # nodes: b, c, a
FEATURES = pd.DataFrame({"id": ["a", "b", "c"], "age": [1.0, 2, 3], "size": [4.0, 5, 6]})
LABELS = pd.DataFrame({"id": ["a", "c"], "label": ["x", "y"]})


@pytest.mark.parametrize("features", [FEATURES, FEATURES.set_index("id"), FEATURES[::-1]])
@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        LABELS.set_index("id"),
        LABELS.set_index("id")["label"],
        LABELS.rename(columns={"id": "who", "label": "what"}),
        pd.DataFrame({"id": ["a", "b", "c"], "label": ["x", None, "y"]})[::2],
    ],
)
def test_ids_in_the_first_column_or_in_the_index(labels, features):
    graph = Graph.from_pandas(EDGES, labels, features)
    assert graph.node_ids.tolist() == ["b", "c", "a"]
    assert graph.features.tolist() == [[2, 5], [3, 6], [1, 4]]
    assert graph.feature_names == ("age", "size")
    assert graph.labels.tolist() == [-1, 1, 0]


def test_ids_in_both_are_refused():
    table = FEATURES.set_index(pd.Index(["p", "q", "r"]))
    with pytest.raises(InputError, match="in the first column or in the index"):
        Graph.from_pandas(EDGES, features=table)
    with pytest.raises(InputError, match="in the first column or in the index"):
        Graph.from_pandas(EDGES, LABELS.set_index(pd.Index(["p", "q"])))


def test_numbers_and_text_do_not_mix():
    edges = pd.DataFrame({"source": [1, 2], "target": [2, 3]})
    with pytest.raises(InputError, match=r"numbers in 'edges' and text in 'labels'.*astype\(str\)"):
        Graph.from_pandas(edges, pd.Series({"1": "x", "2": "y"}))


def test_spaces_are_no_difference():
    with pytest.raises(InputError, match=r"more than surrounding spaces. Got 'a' and 'a '"):
        Graph.from_pandas(EDGES, pd.Series({"a ": "x"}))


def test_a_node_without_features_is_named():
    with pytest.raises(InputError, match="Got none for b"):
        Graph.from_pandas(EDGES, features=FEATURES.drop(index=1))


def test_a_series_is_matched_by_node_id():
    graph = Graph.from_pandas(EDGES)
    y = pd.Series({"a": 5, "b": 3, "c": 4})
    assert np.array(graph.with_labels(y).class_names)[graph.with_labels(y).labels].tolist() == [
        3,
        4,
        5,
    ]
    part = graph.with_labels(pd.Series({"a": 5, "c": 4}))
    assert part.class_names == (4, 5)
    assert part.labels.tolist() == [-1, 0, 1]


def test_a_series_without_ids_goes_by_position():
    graph = Graph.from_pandas(EDGES)
    assert graph.with_labels(pd.Series([7, 8, 9])).labels.tolist() == [0, 1, 2]
    ring = Graph.from_edges([0, 1, 2], [1, 2, 0])
    assert ring.with_labels(pd.Series([7, 8, 9])).labels.tolist() == [0, 1, 2]


def test_a_series_of_the_first_nodes_whose_ids_are_positions():
    """Read either way, it says the same."""
    ring = Graph.from_edges([0, 1, 2], [1, 2, 0])
    assert ring.with_labels(pd.Series(["x", "y"])).labels.tolist() == [0, 1, -1]


def test_where_nobody_can_tell_a_series_is_refused():
    shuffled = Graph.from_pandas(pd.DataFrame({"source": [2, 0], "target": [1, 2]}))
    with pytest.raises(InputError, match="holds node ids or positions"):
        shuffled.with_labels(pd.Series([7, 8, 9]))
    with pytest.raises(InputError, match="'d', and no such node"):
        Graph.from_pandas(EDGES).with_labels(pd.Series({"a": 1, "b": 2, "d": 3}))
    with pytest.raises(InputError, match="no such node"):
        Graph.from_pandas(EDGES).with_labels(pd.Series([7, 8, 9], index=[4, 2, 6]))


ORDER = ["b", "c", "a"]


@pytest.mark.parametrize("table", [FEATURES, FEATURES.set_index("id"), FEATURES[::-1]])
def test_tables_are_matched_by_node_id_whatever_the_way_in(table):
    """With node ids, as with tables of edges: the rows that pandas gives for these ids."""
    y = LABELS.set_index("id")["label"]
    expected = FEATURES.set_index("id").loc[ORDER].to_numpy()
    rest = {"features": table, "labels": y, "node_ids": ORDER}
    edges = sp.coo_array(([1, 1], ([0, 1], [2, 2])), shape=(3, 3))
    plain = Graph.from_edges([0, 1], [2, 2], node_ids=ORDER)
    for graph in (
        Graph.from_edges([0, 1], [2, 2], **rest),
        Graph.from_scipy(edges, **rest),
        plain.with_features(table).with_labels(y),
    ):
        np.testing.assert_array_equal(graph.features, expected)
        assert graph.feature_names == ("age", "size")
        assert graph.labels.tolist() == [-1, 1, 0]
    assert plain.with_features(table, ["x", "y"]).feature_names == ("x", "y")


def test_a_table_that_nobody_indexed_is_matched_by_position():
    table = pd.DataFrame({"age": [2, 3, 1]})
    graph = Graph.from_edges([0, 1], [2, 2], node_ids=ORDER, features=table)
    assert graph.features.ravel().tolist() == [2, 3, 1]
    for wrong in (table[:2], table.set_index(pd.Index(["b", "c", "x"]))):
        with pytest.raises(InputError, match=r"Got none for .*Try features\.to_numpy\(\)"):
            graph.with_features(wrong)
    with pytest.raises(InputError, match=r"'node_ids' must be unique"):
        Graph.from_edges([0, 1], [2, 2], node_ids=["b", "b", "a"], features=table)

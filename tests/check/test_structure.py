"""Findings about edges, each with a case that has it and one that has not."""

from __future__ import annotations

from contextlib import nullcontext

import networkx as nx
import numpy as np
import pytest

from cpgnn import Graph
from cpgnn.check.structure import edge_rows, parts, weights


def codes(findings):
    return {finding.code: finding for finding in findings}


def of_rows(pairs, weights=None):
    rows = np.array(pairs).T
    repeats = len(set(map(frozenset, pairs))) < len(pairs)
    with pytest.warns() if repeats else nullcontext():
        graph = Graph.from_edges(*rows, weights=weights, node_ids=list("abcd"))
    return codes(edge_rows(graph, rows))


def test_rows_in_one_direction_or_all_in_both_are_fine():
    assert not of_rows([(0, 1), (1, 2), (2, 3)])
    assert not of_rows([(0, 1), (1, 0), (1, 2), (2, 1)])


def test_repeated_rows():
    found = of_rows([(0, 1), (1, 2), (0, 1), (0, 1)])
    assert set(found) == {"repeated-edges"}
    assert found["repeated-edges"].count == 2
    assert found["repeated-edges"].severity == "note"
    assert found["repeated-edges"].nodes == ("a", "b")
    said = "2 rows join the same two nodes, in the same direction, as an earlier row."
    assert found["repeated-edges"].detail.startswith(said), "amounts and dates may differ"


def test_edges_of_two_types_repeat_nothing():
    rows = np.array([[0, 0, 0, 1, 2], [1, 1, 1, 2, 1], [0, 1, 1, 0, 1]])
    graph = Graph.from_edges([0], [1], num_nodes=4)
    found = codes(edge_rows(graph, rows))
    assert set(found) == {"repeated-edges"}
    assert (found["repeated-edges"].count, found["repeated-edges"].nodes) == (1, ("0", "1"))


def test_some_edges_in_one_direction_and_others_in_both():
    found = of_rows([(0, 1), (1, 0), (1, 2), (3, 2)])
    assert set(found) == {"one-direction-edges"}
    assert found["one-direction-edges"].count == 2
    assert found["one-direction-edges"].nodes == ("a", "b")  # the rarer kind
    assert "1 in both" in found["one-direction-edges"].detail
    assert found["one-direction-edges"].severity == "note"


def test_directions_are_no_news_where_it_is_said_that_there_are_none():
    rows = np.array([(0, 1), (1, 0), (1, 2), (3, 2)]).T
    with pytest.warns():
        graph = Graph.from_edges(*rows)
    assert codes(edge_rows(graph, rows))
    assert not codes(edge_rows(graph, rows, undirected=True))
    mostly_both = np.array([(0, 1), (1, 0), (1, 2), (2, 1), (2, 3)]).T
    assert codes(edge_rows(graph, mostly_both, undirected=True)), "a row may be missing"


def test_kinds_that_cannot_have_a_label_are_not_missed_in_parts_without_one():
    """Accounts 0 to 3 and cards 4 to 7: the last two cards are a part of their own."""
    y = [0, 1, -1, -1, -1, -1, -1, -1]
    graph = Graph.from_edges([0, 1, 2, 3, 6], [4, 4, 5, 5, 7], num_nodes=8, labels=y)
    assert codes(parts(graph))["parts-without-labels"].count == 5
    graph = graph.with_kinds(["account"] * 4 + ["card"] * 4)
    found = codes(parts(graph))["parts-without-labels"]
    assert (found.count, found.nodes) == (2, ("2", "3"))
    y = [0, 1, 0, 1, -1, -1, -1, -1]
    assert "parts-without-labels" not in codes(parts(graph.with_labels(y, [0, 1])))


def test_ordinary_payments_are_no_problem():
    """Most go one way, some are answered, some repeat: weights add up."""
    pairs = [(0, 1), (1, 0), (1, 2), (3, 2), (3, 2), (0, 3)]
    for amounts in ([5.0, 1.0, 2.0, 3.0, 3.0, 7.0], None):
        found = of_rows(pairs, weights=amounts)
        assert set(found) == {"repeated-edges", "one-direction-edges"}
        assert {finding.severity for finding in found.values()} == {"note"}


def test_gaps_in_a_list_of_both_directions_are_a_risk_with_weights():
    pairs = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3)]
    found = of_rows(pairs, weights=[2.0] * 5)["one-direction-edges"]
    assert (found.severity, found.nodes) == ("risk", ("c", "d"))
    assert "both are added up" in found.detail
    assert of_rows(pairs)["one-direction-edges"].severity == "note"


@pytest.mark.parametrize("seed", range(4))
def test_row_counts_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 8, (2, 30))
    graph = Graph.from_edges([0], [1], num_nodes=8)
    found = codes(edge_rows(graph, rows))
    pairs = [(u, v) for u, v in rows.T.tolist() if u != v]
    assert found["repeated-edges"].count == len(pairs) - len(set(pairs))
    one_way = {(u, v) for u, v in pairs if (v, u) not in pairs}
    assert found["one-direction-edges"].count == len(one_way)


@pytest.mark.parametrize("seed", range(4))
def test_components_as_networkx_counts_them(seed):
    there = nx.gnm_random_graph(60, 45, seed=seed)
    joined = [part for part in nx.connected_components(there) if len(part) > 1]
    labelled = max(joined, key=len)
    y = np.array([0 if v in labelled else -1 for v in range(60)])
    y[min(labelled)] = 1
    graph = Graph.from_edges(*np.array(there.edges).T, num_nodes=60, labels=y)
    found = codes(parts(graph))
    assert found["components"].count == len(joined)
    assert f"largest has {len(labelled)} of 60" in found["components"].detail
    dark = found["parts-without-labels"]
    assert dark.count == sum(len(part) for part in joined) - len(labelled)
    assert dark.severity == "risk"


def test_one_component_is_fine():
    graph = Graph.from_edges([0, 1], [1, 2], labels=[0, 1, -1])
    assert not [*parts(graph)]


def test_large_weights_matter_to_the_papers_models_only():
    ring = np.arange(4), (np.arange(4) + 1) % 4
    euros = np.array([0.5, 1.0, 2.0, 3.0])
    assert not list(weights(Graph.from_edges(*ring)))
    assert not list(weights(Graph.from_edges(*ring, weights=euros)))
    (found,) = weights(Graph.from_edges(*ring, weights=100 * euros, node_ids=list("abcd")))
    assert (found.code, found.severity, found.count) == ("large-weights", "note", 4)
    assert "The default model takes weights in any unit." in found.detail
    assert str(found.advice).startswith(
        "Nothing for the default model. With prior='mlp' or 'cheby',"
    )
    assert "162 on average and up to 300" in found.detail
    assert found.nodes[0] == "d"  # 2 + 3 of its edges

"""An explanation as tables: nothing is lost on the way."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier, explain
from toys import planted, random_model, toy


@pytest.mark.parametrize("num_layers", [0, 1, 2])
def test_the_frame_sums_to_the_logits(num_layers):
    graph = toy(4, n=12, weighted=True).graph
    model = random_model(graph, prior="mlp", num_layers=num_layers)
    made = explain(model, graph, [11, 2, 0])
    frame = made.to_frame()
    assert list(frame.columns) == [
        "node",
        "term",
        "neighbour",
        "weight",
        "looks_like",
        "class",
        "contribution",
    ]
    total = frame.groupby(["node", "class"])["contribution"].sum().unstack()
    np.testing.assert_allclose(total.loc[["11", "2", "0"]].to_numpy(), made.logits, rtol=1e-4)
    terms = {0: {"prior"}, 1: {"prior", "neighbour"}, 2: {"prior", "neighbour", "returning"}}
    assert set(frame["term"]) == terms[num_layers]
    assert frame["node"].drop_duplicates().tolist() == ["11", "2", "0"]
    of_neighbours = frame["term"] == "neighbour"
    assert (frame["neighbour"].notna() == of_neighbours).all()
    if num_layers:
        row = frame[of_neighbours].iloc[0]
        A = graph.adjacency.toarray()
        assert row["weight"] == A[int(row["node"]), int(row["neighbour"])]


def test_the_dictionary_is_json_and_agrees_with_the_frame():
    graph = toy(4, n=12).graph
    made = explain(random_model(graph, prior="mlp", num_layers=2), graph, [2, 11])
    back = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert back["classes"] == ["class 0", "class 1", "class 2"]
    node, isolated = back["nodes"]
    assert isolated["neighbours"] == []
    total = np.array(node["prior"]) + node["returning"]
    total = total + sum(np.array(n["contribution"]) for n in node["neighbours"])
    np.testing.assert_allclose(total, node["logits"], rtol=1e-4)
    frame = made.to_frame()
    rows = frame[(frame["node"] == "2") & (frame["term"] == "neighbour")]
    assert rows["neighbour"].unique().tolist() == [n["id"] for n in node["neighbours"]]
    assert node["words"] == made.words(0)


def test_a_class_without_evidence_is_null_in_json():
    graph = toy(0, density=0.0).graph
    made = explain(random_model(graph, prior="mlp", num_layers=1), graph, [0])
    assert made.to_dict()["edge_frequency"] == [[None] * 3] * 3
    assert pd.isna(made.edge_share).all()


def test_in_favour_of_a_class_that_is_not_the_most_probable():
    graph = toy(4, n=20).graph
    made = explain(random_model(graph, prior="mlp", num_layers=1), graph)
    other = made.in_favour_of(2)
    assert (other.predicted == 2).all()
    assert (other.runner_up != 2).all()
    rest = np.delete(made.probabilities, 2, axis=1).max(axis=1)
    everyone = np.arange(20)
    np.testing.assert_allclose(made.probabilities[everyone, other.runner_up], rest)
    margin = other.margin(other.total, everyone)
    lead = made.total[:, 2] - made.total[everyone, other.runner_up]
    np.testing.assert_allclose(margin, lead)
    assert "is *class 2*" in other.words(0)


def test_it_reads_as_sentences_and_shows_itself_in_a_line():
    graph = planted(n=60)
    model = CPGNNClassifier("mlp", 1, hidden=8, pretrain_epochs=5, epochs=5).fit(graph)
    made = explain(model, nodes=graph.node_ids[:12])
    assert repr(made).startswith("Explanation(12 nodes, 3 classes)")
    first, *_, last = str(made).split("\n\n")
    assert first == made.words(0).replace("*", "")
    assert last == "… and 2 more."

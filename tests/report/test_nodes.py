"""What the search box knows is what the model says."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.demo import example_graph
from cpgnn.errors import InputError
from cpgnn.explanation.contributions import explain
from cpgnn.report import nodes
from cpgnn.report.nodes import TOP, by_interest, links_between, node_data, node_table


@pytest.fixture(scope="module", params=[1, 2])
def fitted(request):
    classifier = CPGNNClassifier("mlp", request.param, pretrain_epochs=20, epochs=20)
    return classifier.fit(example_graph(0))


def test_terms_of_a_node_add_up_to_its_lead(fitted):
    P, R = fitted.predict_proba(), fitted.logits().astype(float)
    shown = np.array([5, 2999, 17, 0])
    table = node_table(fitted, P, shown)
    order = np.argsort(-P[shown], axis=1)
    lead = np.take_along_axis(R[shown], order, 1)
    np.testing.assert_allclose(table.terms.sum(axis=1), lead[:, 0] - lead[:, 1], atol=1e-4)
    np.testing.assert_array_equal(table.degree, np.diff(fitted.graph_.adjacency.indptr)[shown])


def test_the_neighbours_shown_are_those_that_say_most(fitted):
    P = fitted.predict_proba()
    table = node_table(fitted, P, np.array([11]))
    explanation = explain(fitted, None, [11])
    rows = explanation.contributions
    lead = rows[:, explanation.predicted[0]] - rows[:, explanation.runner_up[0]]
    strongest = np.argsort(-np.abs(lead), kind="stable")[:TOP]
    named = [table.ids[i - 1] for i in table.neighbours[0] if i]
    assert named == [str(name) for name in explanation.neighbours[strongest]]
    np.testing.assert_allclose(table.terms[0, 2 : 2 + len(named)], lead[strongest])
    assert table.terms[0, -1] == pytest.approx(np.delete(lead, strongest).sum())


def test_least_interesting_nodes_go_first(fitted, monkeypatch):
    P, first = fitted.predict_proba(), np.array([3, 4])
    order = by_interest(P, first, test=np.array([9, 8]))
    assert set(order[:2]) == {3, 4}
    assert set(order[2:4]) == {8, 9}
    sure = P.max(axis=1)[order[4:]]
    assert (np.diff(sure) >= 0).all()
    everything = node_data(fitted, P, first)
    assert everything["shown"] == everything["all"] == len(P)
    monkeypatch.setattr(nodes, "BUDGET", 40_000)
    few = node_data(fitted, P, first)
    assert 2 < few["shown"] < len(P)
    assert few["all"] == len(P)


def test_a_graph_that_cannot_be_explained_still_gets_its_page(fitted, monkeypatch):
    def refuse(*_: object) -> None:
        raise InputError("too many walks")

    monkeypatch.setattr("cpgnn.report.nodes.explain", refuse)
    assert node_data(fitted, fitted.predict_proba(), np.array([1])) == {"shown": 0, "all": 3000}


def test_links_between_neighbours(fitted):
    A = fitted.graph_.adjacency
    dense = A.toarray()
    near = np.array([[3, 50, 7, -1, -1], [*A.indices[:5]], [-1] * 5])
    made = links_between(A, near)
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    for row, bits in zip(near, made, strict=True):
        joined = [row[a] >= 0 and row[b] >= 0 and dense[row[a], row[b]] > 0 for a, b in pairs]
        assert [bool(bits >> k & 1) for k in range(10)] == joined
    table = node_table(fitted, fitted.predict_proba(), np.arange(200))
    assert (table.links > 0).any()

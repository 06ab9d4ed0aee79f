"""Plots: given axes come back, and what is drawn is what the numbers say."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image
from sklearn.exceptions import NotFittedError

from cpgnn.classifier import CPGNNClassifier
from cpgnn.errors import InputError
from cpgnn.evaluation.calibration import reliability
from cpgnn.explanation.contributions import explain
from cpgnn.explanation.terms import terms
from cpgnn.graph import Graph
from cpgnn.plots import (
    plot_explanation,
    plot_history,
    plot_matrix,
    plot_neighbourhood,
    plot_reliability,
)
from cpgnn.report.neighbourhood import draw as drawn
from cpgnn.report.neighbourhood import draw_neighbourhoods, neighbourhood
from cpgnn.report.nodes import node_table
from toys import planted

EVIL = ["$x^$", "<script>alert(1)</script>", "a" * 500, "节点", "&amp;"]


@pytest.fixture(scope="module")
def fitted() -> CPGNNClassifier:
    graph = planted(n=90, signal=0.4)
    ids = pd.Index([*EVIL, *(f"n{i}" for i in range(5, 90))])
    y = np.where(np.arange(90) < 45, graph.labels, -1)
    graph = replace(graph.with_labels(y, ["$a", "b", "c"]), node_ids=ids)
    everything = CPGNNClassifier("mlp", 1, hidden=8, pretrain_epochs=20, epochs=30, validation=0.0)
    return everything.fit(graph)


def axes():
    return Figure().subplots()


def test_every_plot_returns_the_axes_it_was_given(fitted):
    graph = fitted.graph_
    P, known = fitted.predict_proba(), graph.labels >= 0
    made = reliability(P[known], graph.labels[known])
    for plot in (
        lambda to: plot_matrix(fitted, axes=to),
        lambda to: plot_matrix(np.eye(3), ["a", "b", "c"], axes=to),
        lambda to: plot_reliability(made, axes=to),
        lambda to: plot_history(fitted, axes=to),
        lambda to: plot_history(fitted.history_, columns=["loss"], axes=to),
        lambda to: plot_explanation(explain(fitted, nodes=["n7"]), axes=to),
        lambda to: plot_neighbourhood(fitted, "n7", axes=to),
    ):
        to = axes()
        assert plot(to) is to
        to.figure.draw_without_rendering()


def test_axes_of_its_own(fitted):
    from matplotlib import pyplot

    try:
        made = plot_neighbourhood(fitted, "n7")
        assert made.figure.number in pyplot.get_fignums()  # so that a notebook shows it
    finally:
        pyplot.close("all")


def test_a_matrix_says_its_shares_and_intervals(fitted):
    to, made = plot_matrix(fitted, axes=axes()), fitted.edge_frequency_interval_
    words = [text.get_text() for text in to.texts]
    assert [word.splitlines()[0] for word in words] == [f"{v:.2f}" for v in made.share.ravel()]
    assert words[5].splitlines()[1:] in ([f"{made.low[1, 2]:.2f}–{made.high[1, 2]:.2f}"], [])
    assert [tick.get_text() for tick in to.get_yticklabels()] == ["$a", "b", "c"]


def test_long_names_of_a_matrix_stand_upright():
    names = ("Personal banking", "Small enterprises", "Agencies")
    short = plot_matrix(np.eye(3), ("a", "b", "c"), axes=axes())
    long = plot_matrix(np.eye(3), names, axes=axes())
    assert {text.get_rotation() for text in short.get_xticklabels()} == {0}
    assert {text.get_rotation() for text in long.get_xticklabels()} == {90}


def test_a_history_is_drawn_over_both_phases(fitted):
    to = plot_history(fitted, columns=["train_accuracy"], axes=axes())
    x, y = to.lines[0].get_data()
    np.testing.assert_array_equal(x, np.arange(1, 51))
    np.testing.assert_array_equal(y, fitted.history_["train_accuracy"])
    kept = 20 * (fitted.kept_.phase == 2) + fitted.kept_.epoch
    assert [line.get_xdata()[0] for line in to.lines[1:]] == [20, kept]


def test_a_neighbourhood_is_the_row_of_the_adjacency(fitted):
    graph, P = fitted.graph_, fitted.predict_proba()
    A, ids = graph.adjacency.toarray(), graph.node_ids
    of = explain(fitted, nodes=ids)
    for i in range(90):
        made = neighbourhood(of, i, graph, P, top=4)
        near = set(ids[A[i] > 0])
        assert made.ids[0] == ids[i]
        assert set(made.ids[1:]) <= near
        assert len(made.ids) - 1 + made.others == len(near)
        at = graph.positions(list(made.ids))
        np.testing.assert_array_equal(made.called, P[at].argmax(axis=1))
        inner = {(a, b) for a in range(1, len(at)) for b in range(1, a) if A[at[a], at[b]]}
        assert {(b, a) for a, b in made.links} == inner
        said = {t.name: t.margin for t in terms(of, i, 99) if t.kind == "neighbour"}
        assert dict(zip(made.ids[1:], made.margins[1:], strict=True)).items() <= said.items()
        weakest = min((abs(m) for m in made.margins[1:]), default=0)
        assert all(abs(m) <= weakest for name, m in said.items() if name not in made.ids)


def test_neighbours_heard_by_types_of_edges_and_cards_without_a_class():
    """What is heard over `pays (out)` counts, and a card has no class to be coloured by."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    edges = [(u, int(rng.choice(np.flatnonzero(y != y[u])))) for u in range(40) for _ in range(3)]
    edges = [*dict.fromkeys(edges), *((u, 40 + 2 * int(rng.integers(3)) + y[u]) for u in range(40))]
    u, v = np.array(edges).T
    graph = Graph.from_edges(
        u,
        v,
        num_nodes=46,
        labels=np.append(y, np.full(6, -1)),
        relation=np.where(v < 40, "pays", "uses"),
        directed=["pays"],
    ).with_kinds(["account"] * 40 + ["card"] * 6)
    model = CPGNNClassifier("trees", budget="fast").fit(graph)
    of, P = explain(model, nodes=[0]), model.predict_proba()
    made = neighbourhood(of, 0, graph, P, top=9)
    for node, margin in zip(made.ids[1:], made.margins[1:], strict=True):
        said = of.margin(of.contributions, 0)[of.neighbours == int(node)]
        assert margin == pytest.approx(said.sum())
    assert np.abs(made.margins).max() > 0.01
    assert [c < 0 for c in made.called] == [int(node) >= 40 for node in made.ids]
    [card] = [node for node in made.ids if int(node) >= 40]
    assert f"{card} (like" not in made.text
    assert card in made.text
    drawn(made, axes())
    table = node_table(model, P, np.array([0]))
    assert (table.predicted == 2).tolist() == [int(node) >= 40 for node in table.ids]


def test_colours_of_edges_say_for_and_against(fitted):
    of = explain(fitted, nodes=["n7"])
    made = neighbourhood(of, 0, fitted.graph_, fitted.predict_proba())
    to = plot_neighbourhood(fitted, "n7", axes=axes())
    spokes = to.lines[len(made.links) :]
    assert len(spokes) == len(made.ids) - 1 > 2
    for line, margin in zip(spokes, made.margins[1:], strict=True):
        assert (line.get_color() == "#4f7f93") == (margin > 0)
    widths = [line.get_linewidth() for line in spokes]
    assert np.argmax(widths) == np.abs(made.margins[1:]).argmax()


def test_neighbourhoods_as_files(fitted, tmp_path):
    graph, P = fitted.graph_, fitted.predict_proba()
    of = explain(fitted, nodes=EVIL[:3])
    draw_neighbourhoods(of, graph, P, tmp_path / "near.svg")
    root = ElementTree.parse(tmp_path / "near.svg").getroot()
    assert not any(element.tag.endswith("script") for element in root.iter())
    draw_neighbourhoods(of, graph, P, tmp_path / "near.png", top=3)
    with Image.open(tmp_path / "near.png") as picture:
        text = picture.text["Description"]
    assert text == " ".join(neighbourhood(of, i, graph, P, top=3).text for i in range(3))
    with pytest.raises(InputError, match="at most 6 nodes"):
        draw_neighbourhoods(explain(fitted), graph, P, tmp_path / "all.png")


def test_a_node_without_neighbours():
    graph = planted(n=60)
    A = graph.adjacency.tolil()
    A[:, 5] = 0
    A[5] = 0
    alone = replace(graph, adjacency=type(graph.adjacency)(A.tocsr()))
    fitted = CPGNNClassifier("mlp", 1, hidden=4, pretrain_epochs=5, epochs=5).fit(alone)
    to = plot_neighbourhood(fitted, 5, axes=axes())
    assert len(to.lines) == 0
    of = explain(fitted, nodes=[5])
    assert neighbourhood(of, 0, alone, fitted.predict_proba()).text.endswith("Neighbours: none.")


def test_what_cannot_be_drawn_is_refused_in_words(fitted):
    for draw, message in (
        (lambda: plot_explanation(fitted), r"be an Explanation\. Got CPGNNClassifier\. Try"),
        (lambda: plot_reliability(fitted), r"be a Reliability\. Got CPGNNClassifier\. Try"),
        (lambda: plot_matrix(3), r"be a fitted classifier or a matrix\. Got int"),
        (lambda: plot_history(3), r"be a fitted classifier or its history_\. Got int"),
    ):
        with pytest.raises(InputError, match=message):
            draw()


def test_a_loaded_or_unfitted_classifier_says_what_to_draw(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model", fitted.graph_)
    with pytest.raises(InputError, match=r"one that was loaded\. Draw run\.history"):
        plot_history(again)
    for draw in (plot_history, plot_matrix):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            draw(CPGNNClassifier())


def test_a_blend_has_no_epochs_but_candidates():
    model = CPGNNClassifier("trees", budget="fast").fit(planted(n=60, signal=0.6))
    assert not len(model.history_)
    to, same = plot_history(model, axes=axes()), plot_history(model.trials_, axes=axes())
    np.testing.assert_allclose([bar.get_width() for bar in to.patches], model.trials_["score"])
    assert len(same.patches) == len(to.patches)
    assert [label.get_text() for label in to.get_yticklabels()] == model.trials_[
        "candidate"
    ].tolist()

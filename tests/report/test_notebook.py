"""What notebooks show: the right numbers, any name, little HTML however large the graph."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from cpgnn import CPGNNClassifier, Graph, MLPPrior, Split, explain, homophily_ratio
from cpgnn.explanation.terms import terms
from cpgnn.report.notebook import MOST_CLASSES, MOST_NODES, MOST_ROWS, MOST_TERMS
from hostile import EVIL, hostile_graph, quick_classifier
from toys import random_model, toy

VOID = {"br", "img", "hr"}


class Shown(HTMLParser):
    """Tables by caption (rows of cells), texts, tags and styles of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[list[str]]] = {}
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(html)
        self.close()
        assert not self._open, "every tag is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        elif tag == "p":
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if "small" in self._open:
            data = f" {data}"
        if "caption" in self._open:
            self._caption += data
        elif "td" in self._open or "th" in self._open:
            self._rows[-1][-1] += data
        elif "p" in self._open:
            self.texts[-1] += data

    @property
    def facts(self) -> dict[str, str]:
        return dict(self.tables[""])

    def safe(self) -> Shown:
        """Itself, if nothing in it can run or load."""
        allowed = "div style p strong table caption thead tbody tr th td small i em"
        assert self.tags <= set(allowed.split())
        assert {name for name, _ in self.attributes} <= {"class", "style", "scope"}
        return self


@pytest.fixture(scope="module")
def fitted() -> CPGNNClassifier:
    return quick_classifier().fit(hostile_graph(classes=3).graph)


# -- a graph -----------------------------------------------------------------------------------


def test_facts_of_a_graph():
    graph = toy(3, n=12, weighted=True).graph
    labels = np.where(np.arange(12) < 9, graph.labels, -1)
    graph = replace(graph, labels=labels, self_loops=np.array([2]))
    shown = Shown(graph._repr_html_()).safe()
    weights, alone = graph.adjacency.data, int((graph.degrees == 0).sum())
    assert shown.facts == {
        "nodes": f"12, {alone} without an edge",
        "edges": f"{graph.num_edges}",
        "self-loops": "set aside at 1 node",
        "weights": f"from {weights.min():g} to {weights.max():g}",
        "features": "4",
        "classes": "3",
        "labelled": "9 (75.0 %)",
        "homophily": f"{homophily_ratio(graph, by_weight=False):.3f} of the edges, "
        f"{homophily_ratio(graph):.3f} of their weight",
    }
    head, *rows = shown.tables["Classes"]
    assert head[:2] == ["class", "labelled nodes"]
    for i, (name, number, share) in enumerate(rows):
        known = int((labels == i).sum())
        assert (name, number, share) == (f"class {i}", f"{known}", f"{100 * known / 9:.1f} %")


def test_a_graph_of_edges_alone():
    facts = Shown(Graph.from_edges([0, 1], [1, 2])._repr_html_()).safe().facts
    assert facts == {
        "nodes": "3",
        "edges": "2",
        "weights": "none",
        "features": "none",
        "classes": "0",
        "labelled": "0 (0.0 %)",
    }
    assert Shown(Graph.from_edges([], [], num_nodes=0)._repr_html_()).facts["nodes"] == "0"


def test_what_was_changed_on_the_way_in_is_said():
    with pytest.warns(UserWarning, match="self-loop"):
        graph = Graph.from_edges([0, 1, 1], [1, 2, 1])
    assert graph.notices[0] in Shown(graph._repr_html_()).texts


def test_a_large_graph_is_shown_at_once_and_in_little():
    """10⁶ edges, and as many classes as nodes: nothing of the size of either is made."""
    n, order = 100_000, np.random.default_rng(0).permutation(100_000)
    u, v = np.repeat(np.arange(n), 10), np.add.outer(np.arange(n), 1 + np.arange(10)).ravel() % n
    names = tuple(f"{i}{'&' * 1000}" for i in range(n))
    many = Graph.from_edges(order[u], order[v], labels=np.arange(n), class_names=names)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        html = many._repr_html_()
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.2
    assert len(html) < 8_000
    shown = Shown(html).safe()
    assert (shown.facts["nodes"], shown.facts["edges"]) == ("100,000", "1,000,000")
    assert shown.facts["homophily"] == "0.000"
    assert len(shown.tables["Classes"]) == 1 + MOST_ROWS
    assert f"… and {n - MOST_ROWS:,} more classes" in shown.texts


# -- a model -----------------------------------------------------------------------------------


def test_a_fitted_model(fitted, monkeypatch):
    monkeypatch.setattr(CPGNNClassifier, "_predicted", None)  # nothing is predicted anew
    shown = Shown(fitted._repr_html_()).safe()
    val, train, held = (
        len(x) for x in (fitted.split_.val, fitted.split_.train, fitted.calibration_)
    )
    assert shown.facts == {
        "model": str(fitted.architecture_),
        "layers": f"{fitted.num_layers_}",
        "validation score": f"{100 * fitted.validation_score_:.1f} % "
        f"(accuracy of {val - held} validation nodes, which also chose the epoch)",
        "trained on": f"{train} labelled nodes",
        "temperature": f"{fitted.temperature_:.3g}, set on {held} labelled nodes",
    }
    interval = fitted.edge_frequency_interval_
    head, *rows = next(of for caption, of in shown.tables.items() if "lead" in caption)
    assert [row[0] for row in rows] == head[1:] == list(fitted.classes_)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row[1:]):
            low, high = 100 * interval.low[i, j], 100 * interval.high[i, j]
            assert cell == f"{100 * fitted.edge_frequency_[i, j]:.0f} {low:.0f}–{high:.0f}"
    assert any(text.startswith(f"{100 * interval.share[0].max():.0f} % of") for text in shown.texts)


def test_the_score_is_that_of_the_nodes_it_names(fitted):
    """Not of those that set the temperature, which had no say in the choice."""
    chose = np.setdiff1d(fitted.split_.val, fitted.calibration_)
    assert 0 < len(chose) < len(fitted.split_.val)
    right = fitted.logits()[chose].argmax(axis=1) == fitted.graph_.labels[chose]
    assert right.mean() == pytest.approx(fitted.validation_score_)


@pytest.mark.parametrize("optimistic", [True, False])
def test_optimistic_intervals_are_called_so(fitted, optimistic):
    model = copy(fitted)
    model.edge_frequency_interval_ = replace(model.edge_frequency_interval_, optimistic=optimistic)
    texts = Shown(model._repr_html_()).texts
    assert any("intervals may be too narrow" in text for text in texts) == optimistic


def test_what_was_tried(fitted):
    trials = pd.DataFrame(
        [(f"MLP-{i}", i / 100, i / 200, EVIL) for i in range(MOST_ROWS + 2)],
        columns=["candidate", "score", "mean", "note"],
    )
    model = copy(fitted)
    model.trials_ = trials
    shown = Shown(model._repr_html_()).safe()
    _, *rows = next(of for caption, of in shown.tables.items() if "tried" in caption)
    assert rows == [[f"MLP-{i}", f"{i:.1f} %", f"{i / 2:.1f} %", EVIL] for i in range(MOST_ROWS)]
    assert "… and 2 more candidates" in shown.texts


def test_notebooks_ask_for_a_bundle(fitted):
    assert fitted._repr_mimebundle_()["text/html"] == fitted._repr_html_()
    with config_context(display="text"):
        assert set(fitted._repr_mimebundle_(include=None)) == {"text/plain"}


def test_an_unfitted_model_is_shown_by_scikit_learn():
    html = CPGNNClassifier("mlp", hidden=7)._repr_html_()
    assert "sk-top-container" in html
    assert 'class="cpgnn"' not in html


def test_a_loaded_model_without_its_graph(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    shown = Shown(CPGNNClassifier.load(tmp_path / "model")._repr_html_()).safe()
    score = f"{100 * fitted.validation_score_:.1f} % (accuracy"
    assert shown.facts["validation score"].startswith(score)


def test_a_custom_prior_alone_without_validation_nodes():
    graph = toy(3, n=30).graph
    split = Split(np.arange(20), np.arange(0), np.arange(20, 30))

    def prior(graph: Graph, seed: int) -> MLPPrior:
        return MLPPrior(graph, hidden=4, seed=seed)

    model = CPGNNClassifier(prior, 0, pretrain_epochs=2, epochs=2).fit(graph, split=split)
    facts = Shown(model._repr_html_()).safe().facts
    assert facts == {
        "model": "a custom prior",
        "layers": "0: the prior alone",
        "validation score": "none: no validation nodes",
        "trained on": "20 labelled nodes",
    }


def test_many_classes_with_long_names():
    model = quick_classifier().fit(hostile_graph(classes=12, long=True).graph)
    html = model._repr_html_()
    assert len(html) < 16_000
    shown = Shown(html).safe()
    head, *rows = next(of for caption, of in shown.tables.items() if "lead" in caption)
    assert len(rows) == len(head) - 1 == MOST_CLASSES
    assert "… and 4 more classes" in shown.texts


# -- an explanation ------------------------------------------------------------------------------


def test_terms_as_bars():
    graph = toy(4, n=12).graph
    made = explain(random_model(graph, prior="mlp", num_layers=2), graph, graph.node_ids[:2])
    shown = Shown(made._repr_html_()).safe()
    for i, rows in enumerate(shown.tables.values()):
        listed = terms(made, i, MOST_TERMS)
        assert [row[1] for row in rows] == [f"{term.margin:+.2f}" for term in listed]
        assert all(row[0].startswith(term.name) for row, term in zip(rows, listed, strict=True))
        assert made.words(i).replace("*", "") in shown.texts
    styles = [value for name, value in shown.attributes if name == "style"]
    places = [dict(part.split(":") for part in style.split(";")) for style in styles]
    margins = [term.margin for i in range(2) for term in terms(made, i, MOST_TERMS)]
    first = len(terms(made, 0, MOST_TERMS))
    for part in (slice(0, first), slice(first, None)):
        room = max(0, *margins[part]) - min(0, *margins[part])
        for place, margin in zip(places[part], margins[part], strict=True):
            left, width = (float(place[name].rstrip("%")) for name in ("margin-left", "width"))
            assert width == pytest.approx(100 * abs(margin) / room, abs=0.06)
            zero = left if margin > 0 else left + width
            assert zero == pytest.approx(-100 * min(0, *margins[part]) / room, abs=0.11)


def test_an_explanation_of_many_nodes_and_hostile_names(fitted):
    made = explain(fitted, nodes=fitted.graph_.node_ids[:50])
    html = made._repr_html_()
    assert len(html) < 20_000
    shown = Shown(html).safe()
    assert len(shown.tables) == MOST_NODES
    assert f"… and {50 - MOST_NODES} more nodes" in shown.texts
    assert any(caption.startswith(f"{EVIL}: ") for caption in shown.tables)


def test_names_of_any_length_in_an_explanation():
    graph = replace(
        toy(4, n=12).graph, node_ids=pd.Index([f"{i}{'<' * 10_000}" for i in range(12)])
    )
    made = explain(random_model(graph, prior="mlp", num_layers=1), graph, graph.node_ids[:6])
    html = made._repr_html_()
    assert len(html) < 40_000
    Shown(html).safe()

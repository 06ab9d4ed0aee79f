"""The page itself: its parts, its escapes and its text alternatives, read by a parser."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.io import LoadedGraph
from cpgnn.run.folder import fit_run, write_report
from hostile import EVIL, hostile_graph, quick_classifier


class Reader(HTMLParser):
    """Counts elements and collects what must not be there."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def page_of(folder: Path, loaded: LoadedGraph, classifier: CPGNNClassifier, **options) -> str:
    fit_run(loaded, classifier, folder, **options)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "<b>run</b>"
    return page_of(folder, hostile_graph(), quick_classifier())


def test_no_name_from_the_data_becomes_markup(page):
    reader = Reader(page)
    assert len(reader.all("script")) == 2, "the data and our own"
    assert not reader.all("b") or "<b>run</b>" not in page
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_needs_nothing_from_outside(page):
    reader = Reader(page)
    for _, attributes in reader.tags:
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))


def test_pictures_and_tables_say_what_they_are(page):
    reader = Reader(page)
    ids = {attributes.get("id") for _, attributes in reader.tags}
    pictures = reader.all("svg")
    assert pictures
    for picture in pictures:
        assert picture["role"] == "img"
        assert set((picture["aria-labelledby"] or "").split()) <= ids
    assert len(reader.all("caption")) == len(reader.all("table"))
    assert all(attributes.get("scope") in ("row", "col") for attributes in reader.all("th"))
    assert {"for": "query"} in reader.all("label")


def test_sections_come_in_order_with_the_answer_first(page):
    reader = Reader(page)
    sections = [attributes["id"] for attributes in reader.all("section")]
    wanted = "answer matrix learning confusion calibration labels findings certain search"
    assert sections == wanted.split()


def without_features() -> LoadedGraph:
    loaded = hostile_graph()
    return LoadedGraph(replace(loaded.graph, features=None), None)


def without_test() -> LoadedGraph:
    return LoadedGraph(
        hostile_graph().graph, np.array(["train", "train", "val"] * 100, dtype=object)
    )


@pytest.mark.parametrize(
    ("loaded", "classifier", "options", "says"),
    [
        (hostile_graph, quick_classifier(), {"refit": True}, "held-out nodes get the right"),
        (without_features, quick_classifier(), {}, "There are no features"),
        (without_test, quick_classifier(), {}, "No labels were held out"),
        (hostile_graph, quick_classifier().set_params(num_layers=0), {}, "its prior alone"),
        (hostile_graph, quick_classifier().set_params(num_layers=3), {}, "How it was learned"),
    ],
    ids=["refit", "no features", "no test", "prior alone", "three layers"],
)
def test_every_kind_of_run_gets_a_page(tmp_path, loaded, classifier, options, says):
    assert says in page_of(tmp_path / "run", loaded(), classifier, **options)


def test_the_page_knows_what_the_rows_of_the_edge_file_told(tmp_path):
    """A graph forgets repeated rows; the run keeps what they told, and a page made again too."""
    loaded = hostile_graph()
    source, target = loaded.graph.adjacency.nonzero()
    once = np.stack([source, target])[:, source < target]
    loaded = replace(loaded, rows=np.concatenate([once, once[:, :7]], axis=1))
    fit_run(loaded, quick_classifier(), tmp_path / "run")
    write_report(tmp_path / "run", tmp_path / "again.html")
    for page in (tmp_path / "run" / "report.html", tmp_path / "again.html"):
        assert "7 rows join the same two nodes" in page.read_text(encoding="utf-8")


def test_a_split_that_was_drawn_is_no_column_to_leave_out(tmp_path):
    """Two nodes of a class: neither is held out, and nobody wrote a split column."""
    loaded = hostile_graph(120, 3)
    labels = np.where(loaded.graph.labels == 2, -1, loaded.graph.labels)
    labels[[2, 5]] = 2
    loaded = replace(loaded, graph=replace(loaded.graph, labels=labels))
    page = page_of(tmp_path / "run", loaded, quick_classifier())
    assert "Some classes have no test node" in page
    assert "leave the split column out" not in page


@pytest.mark.parametrize(
    ("nodes", "calibrate", "says"),
    [
        (100, True, "Correcting them takes 60 validation nodes; there are 16."),
        (800, False, "Calibration was turned off"),
    ],
)
def test_why_probabilities_were_not_corrected(nodes, calibrate, says, tmp_path):
    classifier = quick_classifier().set_params(calibrate=calibrate)
    assert says in page_of(tmp_path / "run", hostile_graph(nodes), classifier)

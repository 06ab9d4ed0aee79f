"""One rule for names, in every format: CSV, Parquet, GraphML and `.npz`."""

from __future__ import annotations

from dataclasses import replace
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd
import pytest

from cpgnn.check.names import similar_ids
from cpgnn.errors import InputError, tidy
from cpgnn.graph import Graph
from cpgnn.io import read_graph
from cpgnn.io.names import check_graph_names
from cpgnn.relations.kinds import Kinds

BAD = {
    "escape": ("\x1b[31mred", "no control characters"),
    "bell": ("a\x07", "no control characters"),
    "delete": ("a\x7f", "no control characters"),
    "C1": ("a\x9bm", "no control characters"),
    "two lines": ("a\nb", "be on one line"),
    "blank": (" ", "not be empty"),
    "a twin in spaces": (" b", "more than surrounding spaces"),
}
NOT_IN_XML = ("escape", "bell")


def csv(path, ids):
    pd.DataFrame({"source": ids, "target": ["b"] * len(ids)}).to_csv(path, index=False)


def parquet(path, ids):
    pd.DataFrame({"source": ids, "target": ["b"] * len(ids)}).to_parquet(path)


def graphml(path, ids):
    lines = [f"<node id={quoteattr(name)}/>" for name in [*ids, "b"]]
    path.write_text(f"<graphml><graph>{''.join(lines)}</graph></graphml>", encoding="utf-8")


def npz(path, ids):
    names = [*ids, "b"]
    raw = [name.encode() for name in names]
    np.savez(
        path,
        edge_index=np.array([[0], [1]]),
        labels=np.full(len(names), -1),
        node_ids_bytes=np.frombuffer(b"".join(raw), np.uint8),
        node_ids_offsets=np.cumsum([0, *map(len, raw)]),
    )


def npz_of_unicode(path, ids):
    np.savez(path, edge_index=np.array([[0], [1]]), node_ids=np.array([*ids, "b"]))


FORMATS = {
    "e.csv": csv,
    "e.parquet": parquet,
    "g.graphml": graphml,
    "g.npz": npz,
    "u.npz": npz_of_unicode,
}


@pytest.mark.parametrize("name", FORMATS)
def test_ids(tmp_path, name):
    path = tmp_path / name
    FORMATS[name](path, ["x", "é", "日本", "a b", "c" * 5000])
    assert read_graph(path).graph.num_nodes == 6
    for case, (bad, words) in BAD.items():
        if name == "g.graphml" and case in NOT_IN_XML:
            words = "well-formed XML"
        if name == "g.graphml" and case == "blank":
            words = "have 'id'"
        if name == "e.csv" and case in NOT_IN_XML:
            words = "no control characters|binary content"
        FORMATS[name](path, ["x", "y", bad])
        with pytest.raises(InputError, match=words) as caught:
            read_graph(path)
        assert str(caught.value).isprintable(), case
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("point", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
def test_code_points_that_unicode_does_not_have(tmp_path, point):
    path = tmp_path / "g.npz"
    names = np.array(["a", "b"])
    names.view(np.uint32)[1] = point
    for array in (names, names.astype(">U1")):
        np.savez(path, edge_index=np.array([[0], [1]]), node_ids=array)
        with pytest.raises(InputError, match="must hold Unicode text"):
            read_graph(path)


def test_classes_and_features(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    (tmp_path / "l.csv").write_text("id,label\na,x\nb,\x1b[2J\nc,x\n")
    (tmp_path / "f.csv").write_text("id,f\x1b,g\na,1,2\nb,1,2\nc,1,2\n")
    with pytest.raises(InputError, match=r"l\.csv: A class name must have no control"):
        read_graph(tmp_path / "e.csv", tmp_path / "l.csv")
    with pytest.raises(InputError, match=r"f\.csv: A feature name must have no control"):
        read_graph(tmp_path / "e.csv", None, tmp_path / "f.csv")


@pytest.mark.parametrize("long", ["label", "f", "type"])
def test_names_that_stand_in_every_table_are_not_long(tmp_path, long):
    words = {"label": "x", "f": "f", "type": "pays", long: "y" * 1001}
    (tmp_path / "e.csv").write_text(f"source,target,type\na,b,t\nb,c,{words['type']}\n")
    (tmp_path / "l.csv").write_text(f"id,label\na,z\nb,{words['label']}\nc,z\n")
    (tmp_path / "f.csv").write_text(f"id,{words['f']},g\na,1,2\nb,1,2\nc,1,2\n")
    files = [tmp_path / f"{name}.csv" for name in "elf"]
    with pytest.raises(InputError, match=r"at most 1,000 characters\. Got 1,001") as caught:
        read_graph(*files)
    assert len(str(caught.value)) < 500
    words[long] = "y" * 1000
    for path in files:
        path.write_text(path.read_text().replace("y" * 1001, words[long]))
    assert read_graph(*files).graph.num_nodes == 3


def test_types_and_kinds_of_a_graph():
    edges = Graph.from_edges([0, 1], [1, 2], relation=["a", "b\x1b"], directed=False)
    kind = Kinds(np.zeros(3, int), ("\x1b",), (False,))
    kinds = replace(Graph.from_edges([0, 1], [1, 2]), kinds=kind)
    for graph, what in ((edges, "A type of edges"), (kinds, "A kind of nodes")):
        with pytest.raises(InputError, match=f"{what} must have no control characters"):
            check_graph_names(graph)


def test_what_is_said_is_printable_and_short(tmp_path):
    path = tmp_path / "odd\x1b[31m\n.csv"
    path.write_text("id,label\n" + f"{'n' * 100_000},x\n" * 2)
    with pytest.raises(InputError) as caught:
        read_graph(path, path)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    assert len(str(caught.value)) < 3000


def test_tidy():
    assert tidy("plain – é 日本") == "plain – é 日本"
    assert tidy("a\tb\x1b\u202e") == "a\\tb\\x1b\\u202e"
    assert tidy("abcdefghij", most=5) == "ab…ij"
    assert tidy(tidy("\x00" * 1000)) == tidy(tidy(tidy("\x00" * 1000)))


def test_unicode_twins_are_noticed():
    composed, decomposed = "Jos\u00e9", "Jose\u0301"
    graph = Graph.from_edges(
        [0, 1, 2], [1, 2, 3], node_ids=[composed, decomposed, "x", "y"], labels=[0, 1, 0, 1]
    )
    [found] = similar_ids(graph)
    assert found.count == 2
    assert r"'Jos\\xe9', 'Jose\\u0301'" in found.detail


def test_the_other_form_in_another_file_is_told(tmp_path):
    (tmp_path / "e.csv").write_text("Jos\u00e9,b\nb,c\n")
    (tmp_path / "l.csv").write_text("id,label\nJose\u0301,x\nb,y\nc,x\n")
    notices = read_graph(tmp_path / "e.csv", tmp_path / "l.csv").graph.notices
    assert any("differ in their Unicode form" in notice for notice in notices)

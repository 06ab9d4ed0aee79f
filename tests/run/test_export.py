"""The graph of a run for other programs: read back by them, and equal to what the run says."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cpgnn import Graph, export_run, load_run, read_graph
from cpgnn.errors import GraphNotice, InputError
from cpgnn.evaluation.thresholds import Goal
from cpgnn.io import LoadedGraph
from cpgnn.report.contents import gather
from cpgnn.run.folder import fit_run, write_run
from hostile import EVIL, NAMES, hostile_graph, quick_classifier

ODD = ["a tab\tinside", "<&>'\"]]>", "é 漢 😀", "007", "1e5"]


def changed(loaded: LoadedGraph, ids: list[str]) -> LoadedGraph:
    """The same graph with weights, some labels unknown, a lonely node, and these ids."""
    graph = loaded.graph
    A = graph.adjacency.tocoo()
    once = A.row < A.col
    weights = np.random.default_rng(0).lognormal(0, 3, once.sum())
    n = graph.num_nodes + 1
    labels = np.where(np.arange(n) % 3 == 0, -1, np.append(graph.labels, -1))
    names = np.append(graph.node_ids, "alone")
    names[10 : 10 + len(ids)] = ids
    given = Graph.from_edges(
        A.row[once],
        A.col[once],
        weights=weights,
        num_nodes=n,
        labels=labels,
        class_names=graph.class_names,
        features=np.vstack([graph.features, np.zeros((1, graph.num_features))]),
        node_ids=names,
    )
    return LoadedGraph(given, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with a threshold on a graph with weights, hostile names and a node without edges."""
    out = tmp_path_factory.mktemp("export") / "run"
    loaded = changed(hostile_graph(60), ODD)
    fit_run(loaded, quick_classifier(), out, positive=EVIL, goal=Goal("f1"))
    return out


@pytest.fixture(scope="module")
def expected(folder):
    """Each node's columns, from the file that `fit` wrote."""
    table = pd.read_parquet(folder / "predictions.parquet")
    table["probability"] = [row[f"p_{row['class']}"] for _, row in table.iterrows()]
    assert {"flagged", "label", "split", "class", f"p_{EVIL}"} <= set(table)
    assert set(NAMES) | set(ODD) < set(table["id"])
    return table.set_index("id")


def weights(graph: Graph) -> dict[frozenset[str], np.float32]:
    A = graph.adjacency.tocoo()
    ids = graph.node_ids.astype(str)
    return {frozenset((ids[u], ids[v])): w for u, v, w in zip(*A.coords, A.data, strict=True)}


def filled(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value != ""}


@pytest.mark.parametrize("to", ["gexf", "graphml"])
def test_another_program_reads_every_attribute(to, folder, expected, tmp_path):
    run = load_run(folder)
    out = export_run(run, tmp_path / f"graph.{to}", to)
    read = nx.read_gexf(out, version="1.3") if to == "gexf" else nx.read_graphml(out)
    assert not read.is_directed()
    assert list(read) == list(expected.index)
    for node, wanted in expected.to_dict("index").items():
        given = dict(read.nodes[node])
        if to == "gexf":  # there a label is what is shown, and ours has another name
            assert given.pop("label") == node
            given |= {"label": given.pop("known_label")} if "known_label" in given else {}
        assert given == filled(wanted)
    found = {frozenset((u, v)): np.float32(w) for u, v, w in read.edges(data="weight")}
    assert found == weights(run.graph)
    assert len(found) == read.number_of_edges() == run.graph.num_edges


def test_gexf_is_of_version_1_3(folder, tmp_path):
    root = ET.parse(export_run(load_run(folder), tmp_path / "graph.gexf", "gexf")).getroot()
    assert root.tag == "{http://gexf.net/1.3}gexf"
    assert root.get("version") == "1.3"
    edges = root.findall(".//{*}edge")
    assert len({edge.get("id") for edge in edges}) == len(edges)


def test_parquet_is_two_tables(folder, expected, tmp_path):
    run = load_run(folder)
    out = export_run(run, tmp_path / "tables", "parquet")
    assert sorted(path.name for path in out.iterdir()) == ["edges.parquet", "nodes.parquet"]
    nodes = pq.read_table(out / "nodes.parquet").to_pandas().set_index("id")
    pd.testing.assert_frame_equal(nodes[list(expected)], expected)
    edges = pq.read_table(out / "edges.parquet").to_pylist()
    found = {frozenset((e["source"], e["target"])): np.float32(e["weight"]) for e in edges}
    assert found == weights(run.graph)
    assert len(edges) == run.graph.num_edges


def same_graph(loaded: LoadedGraph, folder) -> None:
    """The nodes, edges and known labels of the run; its predictions nowhere."""
    run = load_run(folder)
    graph = loaded.graph
    assert set(graph.node_ids) == set(run.graph.node_ids)
    assert weights(graph) == weights(run.graph)
    at = graph.positions(run.graph.node_ids)
    names = [np.array([*of.class_names, ""], dtype=object)[of.labels] for of in (graph, run.graph)]
    assert list(names[0][at]) == list(names[1])
    assert (graph.labels < 0).any()
    assert graph.features is None
    for part in ("train", "val", "test"):
        ids = graph.node_ids[loaded.split == part]
        assert set(ids) == set(run.graph.node_ids[getattr(run.split, part)])


def test_we_read_graphml_back_to_the_same_graph(folder, tmp_path):
    out = export_run(load_run(folder), tmp_path / "graph.graphml", "graphml")
    loaded = read_graph(out)
    same_graph(loaded, folder)
    assert list(loaded.graph.node_ids) == list(load_run(folder).graph.node_ids)
    assert any("predictions of an earlier run" in notice for notice in loaded.graph.notices)


def test_predictions_are_no_labels_after_another_program_wrote_them_again(folder, tmp_path):
    out = export_run(load_run(folder), tmp_path / "graph.graphml", "graphml")
    nx.write_graphml(nx.read_graphml(out), out)
    same_graph(read_graph(out), folder)


def test_a_class_of_ones_own_is_still_a_label(tmp_path):
    """`class` with some columns of that kind, but not one for each class: not ours."""
    graph = nx.Graph([("a", "b")])
    graph.add_node("a", **{"class": "x", "probability": 0.5, "p_value": 0.1})
    graph.add_node("b", **{"class": "y", "probability": 0.5, "p_value": 0.2})
    nx.write_graphml(graph, tmp_path / "own.graphml")
    read = read_graph(tmp_path / "own.graphml").graph
    assert read.class_names == ("x", "y")
    assert set(read.feature_names) == {"probability", "p_value"}


def test_we_read_the_tables_back_to_the_same_graph(tmp_path):
    loaded = changed(hostile_graph(60), ["007", "1e5"])  # ids of tables stand on one line
    run = fit_run(loaded, quick_classifier(), tmp_path / "run")
    out = export_run(run, tmp_path / "tables", "parquet")
    read = read_graph(out / "edges.parquet", labels=out / "nodes.parquet", label="label")
    same_graph(read, tmp_path / "run")


def test_nothing_known_is_said(tmp_path):
    loaded = changed(hostile_graph(60), [])
    bare = LoadedGraph(replace(loaded.graph, features=None), None)
    run = fit_run(bare, quick_classifier(), tmp_path / "run")
    out = export_run(run, tmp_path / "graph.graphml", "graphml")
    assert nx.get_node_attributes(nx.read_graphml(out), "basis") == {"alone": "nothing known"}


@pytest.mark.parametrize("bad", ["bell\x07", "\x00", "\ufffe", "\x1b[2J"])
def test_ids_that_xml_cannot_hold_are_refused_by_name(bad, folder, tmp_path):
    run = load_run(folder)
    ids = pd.Index([bad, *run.graph.node_ids[1:]])
    run.classifier.graph_ = replace(run.graph, node_ids=ids)
    for to in ("gexf", "graphml"):
        with pytest.raises(InputError, match=r"A node id .* XML allows.*to='parquet'") as caught:
            export_run(run, tmp_path / f"graph.{to}", to)
        assert repr(bad) in str(caught.value)
    assert not list(tmp_path.iterdir())
    written = pq.read_table(export_run(run, tmp_path / "tables", "parquet") / "nodes.parquet")
    assert written["id"][0].as_py() == bad


def test_classes_that_xml_cannot_hold_do_not_get_as_far_as_a_run(tmp_path):
    named = replace(hostile_graph(60).graph, class_names=("fine", "not\x02fine"))
    with pytest.raises(InputError, match=r"A class name .*not.x02fine"):
        fit_run(LoadedGraph(named, None), quick_classifier(), tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_run_without_its_graph_says_what_to_do(folder, tmp_path):
    write_run(load_run(folder), tmp_path / "part", with_graph=False)
    with pytest.raises(InputError, match=r"have the graph .* Got none\. .*spark predict"):
        export_run(load_run(tmp_path / "part"), tmp_path / "graph.gexf", "gexf")
    assert not (tmp_path / "graph.gexf").exists()


@pytest.mark.parametrize(
    ("out", "to", "words"),
    [
        ("graph.xml", "gexf", "must be '.gexf'. Got '.xml'"),
        ("graph", "graphml", "must be '.graphml'. Got 'graph'"),
        ("full", "parquet", "must be new or empty"),
        ("full.gexf", "gexf", "must be a file"),
        ("none/graph.gexf", "gexf", "Cannot write here"),
        ("graph.dot", "dot", "'to' must be 'gexf', 'graphml' or 'parquet'. Got 'dot'"),
    ],
)
def test_wrong_places_are_refused(out, to, words, folder, tmp_path):
    for name in ("full", "full.gexf"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    with pytest.raises(InputError) as caught:
        export_run(load_run(folder), tmp_path / out, to)
    assert words in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "full.gexf"]


def test_a_file_that_fails_midway_leaves_nothing(folder, tmp_path, monkeypatch):
    def failing(self):
        yield '"a"', '"b"', "1.0", ""
        raise OSError("the disk is full")

    monkeypatch.setattr("cpgnn.run.export._Tables.edge_cells", failing)
    with pytest.raises(OSError, match="disk is full"):
        export_run(load_run(folder), tmp_path / "graph.gexf", "gexf")
    assert not list(tmp_path.iterdir())


def test_nodes_of_another_kind_are_there_without_a_class(tmp_path):
    """Among the others, so that positions in the predictions are not those in the graph."""
    loaded = hostile_graph(60)
    kinds = np.where(np.arange(60) % 5 == 0, "device", "account")
    labels = np.where(kinds == "device", -1, loaded.graph.labels)
    graph = loaded.graph.with_labels(labels, loaded.graph.class_names).with_kinds(kinds)
    run = fit_run(
        LoadedGraph(graph, None), quick_classifier(), tmp_path / "run", coverage=0.8, refit=True
    )
    table = pd.read_csv(tmp_path / "run/predictions.csv", keep_default_na=False)
    assert list(table["id"]) == list(graph.node_ids[kinds == "account"])
    assert (table["set"].str.split("|").str.len() * (table["set"] != "") == table["set_size"]).all()
    assert sum(size for _, size, _ in gather(run, "run")["set_sizes"]) == 48
    for to, read in (("gexf", nx.read_gexf), ("graphml", nx.read_graphml)):
        found = read(export_run(run, tmp_path / f"g.{to}", to))
        assert list(found) == list(graph.node_ids)
        assert {v for v in found if "class" not in found.nodes[v]} == set(
            graph.node_ids[kinds == "device"]
        )
        edges = {frozenset((u, v)): np.float32(w) for u, v, w in found.edges(data="weight")}
        assert edges == weights(graph)
    again = read_graph(tmp_path / "g.graphml")
    assert again.graph.features is None, "the size of a set is no feature"
    nodes = pd.read_parquet(export_run(run, tmp_path / "p", "parquet") / "nodes.parquet")
    assert ((nodes["class"] == "") == (kinds == "device")).all()
    assert (nodes["p_class1"].isna() == (kinds == "device")).all()


def test_types_directions_and_kinds_are_exported(tmp_path):
    """Payments lead from source to target; a card in use is joined to its account both ways."""
    rng = np.random.default_rng(0)
    pays = [(u, v) for u, v in rng.integers(0, 40, (120, 2)).tolist() if u != v]
    uses = [(u, 40 + u % 5) for u in range(40)]
    with pytest.warns(GraphNotice):
        graph = Graph.from_edges(
            *np.array([*pays, *uses]).T,
            num_nodes=45,
            labels=[*(np.arange(40) % 2), *[-1] * 5],
            node_ids=[f"n{i}" for i in range(45)],
            relation=["<pays>"] * len(pays) + ["uses"] * 40,
            directed=["<pays>"],
        ).with_kinds(["account"] * 40 + ["card"] * 5)
    run = fit_run(LoadedGraph(graph, None), quick_classifier(), tmp_path / "run")
    sent = {(f"n{u}", f"n{v}", "<pays>") for u, v in pays}
    used = {(f"n{u}", f"n{v}", "uses") for u, v in uses}
    for to, read in (("gexf", nx.read_gexf), ("graphml", nx.read_graphml)):
        found = read(export_run(run, tmp_path / f"g.{to}", to))
        assert found.is_directed()
        assert set(found.edges(data="type")) == sent | used | {(v, u, t) for u, v, t in used}
        assert [found.nodes[f"n{i}"]["kind"] for i in (0, 44)] == ["account", "card"]
    folder = export_run(run, tmp_path / "p", "parquet")
    edges = pd.read_parquet(folder / "edges.parquet")
    once = set(edges[["source", "target", "type"]].itertuples(index=False, name=None))
    assert once == sent | used
    assert len(edges) == len(once)
    assert pd.read_parquet(folder / "nodes.parquet")["kind"].tolist()[40:] == ["card"] * 5

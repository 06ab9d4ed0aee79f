"""Kinds of nodes from files: a column, whole kinds without features, ends of edges."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.check.columns import missing_features
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import InputError
from cpgnn.io import read_graph
from toys import table_as_it_was

EDGES = "source,target,type\na,x,uses\nb,x,uses\nb,y,uses\na,b,pays\n"


@pytest.fixture
def write(tmp_path):
    def written(name: str, text: str):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


def kinds(graph) -> dict[str, str]:
    names = np.array(graph.kinds.names)[graph.kinds.codes]
    return dict(zip(graph.node_ids, names.tolist(), strict=True))


def test_a_column_in_the_features(write):
    edges = write("edges.csv", EDGES)
    labels = write("labels.csv", "id,label\na,good\nb,bad\n")
    rows = "id,kind,age,os\na,account,30,\nb,account,40,\nx,device,,1\ny,device,,0\n"
    graph = read_graph(edges, labels, write("features.csv", rows)).graph
    assert kinds(graph) == {"a": "account", "b": "account", "x": "device", "y": "device"}
    assert graph.feature_names == ("age", "os")
    assert graph.predicted.tolist() == [kinds(graph)[i] == "account" for i in graph.node_ids]
    age = dict(zip(graph.node_ids, graph.features[:, 0].tolist(), strict=True))
    assert age == {"a": 30, "b": 40, "x": 35, "y": 35}
    assert np.isnan(table_as_it_was(graph)[0][graph.positions(["x", "y"]), 0]).all()


def test_a_kind_without_features(write):
    edges = write("edges.csv", EDGES)
    labels = write(
        "labels.csv", "id,label,kind\na,good,account\nb,bad,account\nx,,device\ny,,device\n"
    )
    graph = read_graph(edges, labels, write("features.csv", "id,age\na,30\nb,40\n")).graph
    assert graph.kinds.described == (True, False)
    assert any("no node of kind 'device' has features" in n for n in graph.notices)
    table = "id,age,kind\na,30,account\nb,40,account\nd,50,shop\n"
    edges_to_shop = write("more.csv", f"{EDGES}a,d,pays\n")
    bare = write("bare.csv", "id,label\na,good\nb,bad\n")
    notices = read_graph(edges_to_shop, bare, write("f.csv", table)).graph.notices
    said = "f.csv ('x' first) are of a kind without features, 'other'."
    assert any(n.startswith("2 nodes not in ") and n.endswith(said) for n in notices)
    loaded = read_graph(edges, labels, write("partly.csv", "id,age\na,30\nb,\n"))
    (found,) = missing_features(loaded)
    assert found.detail.startswith("1 cell is empty, in the column 'age' (1). ")
    scaled = FeatureScaler.fit(graph)(graph)
    rows = dict(zip(graph.node_ids, scaled.features[:, 0].tolist(), strict=True))
    assert rows == {"a": -1, "b": 1, "x": 0, "y": 0}


def test_the_ends_of_edges_show_kinds(write):
    edges = write("edges.csv", "account,device\na,x\nb,x\nb,y\n")
    labels = write("labels.csv", "id,label\na,good\nb,bad\n")
    features = write("features.csv", "id,age\na,30\nb,40\n")
    graph = read_graph(edges, labels, features, source="account", target="device").graph
    assert kinds(graph) == {"a": "account", "b": "account", "x": "device", "y": "device"}
    with pytest.raises(InputError, match="Every node must have features"):
        read_graph(edges, labels, features, source="account", target="device", kind_column="")


def test_types_show_more_than_two_kinds(write):
    rows = "p1,a1,by\np2,a1,by\np1,s1,about\np2,s1,about\np1,p2,cites\n"
    edges = write("edges.csv", "source,target,type\n" + rows)
    labels = write("labels.csv", "id,label\np1,x\np2,y\n")
    graph = read_graph(edges, labels, write("features.csv", "id,f\np1,1\np2,2\n")).graph
    found = kinds(graph)
    assert len({found["p1"], found["a1"], found["s1"]}) == 3
    assert found["a1"] == "target of 'by'"
    assert found["p1"] == found["p2"]


def test_a_bipartite_graph_without_features(write):
    rng = np.random.default_rng(0)
    rows = "".join(f"u{u},i{i}\n" for u, i in rng.integers(0, 20, (90, 2)))
    edges = write("edges.csv", "source,target\n" + rows)
    users = sorted({row.split(",")[0] for row in rows.split()})
    labels = write("labels.csv", "id,label\n" + "".join(f"{u},{u[-1] > '4'}\n" for u in users))
    graph = read_graph(edges, labels).graph
    assert graph.predicted.sum() == len(users)
    both = write("both.csv", (labels).read_text() + "i1,True\n")
    assert read_graph(edges, both).graph.kinds is None


def test_an_ordinary_missing_row_shows_no_kind(write):
    edges = write("edges.csv", "source,target\na,b\nb,c\nc,a\n")
    labels = write("labels.csv", "id,label\na,x\nb,y\n")
    graph = read_graph(edges, labels, write("features.csv", "id,f\na,1\nb,2\n")).graph
    assert graph.kinds is None
    assert any("1 node without a row got the median" in n for n in graph.notices)


def test_a_column_that_is_merely_called_kind_stays_a_feature(write):
    edges = write("edges.csv", "source,target\na,b\nb,c\nc,a\n")
    labels = write("labels.csv", "id,label\na,x\nb,y\nc,x\n")
    features = write("features.csv", "id,kind\na,red\nb,blue\nc,red\n")
    graph = read_graph(edges, labels, features, one_hot=True).graph
    assert graph.kinds is None
    assert graph.num_features == 2
    assert any("use kind_column='kind' if it tells kinds" in said for said in graph.notices)
    rows = write("f.csv", "id,kind,z\na,red,1\nb,blue,2\nc,red,3\n")
    with pytest.raises(InputError, match="Labels must sit on one kind of nodes"):
        read_graph(edges, labels, rows, kind_column="kind")


@pytest.mark.parametrize(
    ("labels", "features", "message"),
    [
        (
            "id,label,kind\na,x,account\nb,y,account\nx,,device\n",
            "id,kind,f\na,account,1\nb,account,2\nx,phone,3\ny,device,4\n",
            "features.csv, line 4|labels.csv, line 4",
        ),
        ("id,label,kind\na,x,account\nx,y,device\n", None, "Labels must sit on one kind"),
    ],
)
def test_kinds_that_contradict_each_other(write, labels, features, message):
    paths = [write("labels.csv", labels), features and write("features.csv", features)]
    with pytest.raises(InputError, match=message):
        read_graph(write("edges.csv", EDGES), *paths, kind_column="kind")


def test_an_unknown_column_of_kinds(write):
    with pytest.raises(InputError, match="'kind_column' must name a column of the labels or"):
        read_graph(
            write("edges.csv", EDGES), write("l.csv", "id,label\na,1\nb,2\n"), kind_column="what"
        )


def test_files_that_share_no_node_describe_different_kinds(write):
    edges = write("edges.csv", EDGES)
    labels = write("labels.csv", "id,label\na,good\nb,bad\n")
    accounts = write("accounts.csv", "id,age,job\na,30,x\nb,,x\n")
    money = write("money.csv", "id,income\na,1\n")
    devices = write("devices.csv", "id,year,os\nx,2001,ios\ny,2003,ios\n")
    graph = read_graph(edges, labels, [accounts, devices, money], impute="median").graph
    assert kinds(graph) == {"a": "accounts", "b": "accounts", "x": "devices", "y": "devices"}
    loaded = read_graph(edges, labels, [accounts, devices])
    assert list(loaded.gaps.values()) == [1], "what a kind does not have is not missing"
    cells = table_as_it_was(loaded.graph)[0][loaded.graph.positions(["a", "x"])].T
    cells = dict(zip(("age", "year", "job", "os"), cells, strict=True))
    assert {name: np.isnan(cell).tolist() for name, cell in cells.items()} == {
        "age": [False, True], "year": [True, False], "job": [False, True], "os": [True, False],
    }  # fmt: skip
    with pytest.raises(InputError, match="Every node must have features"):
        read_graph(edges, labels, [accounts, devices], kind_column="")


def test_each_of_several_feature_files_names_its_kind(write):
    edges = write("edges.csv", EDGES)
    labels = write("labels.csv", "id,label\na,good\nb,bad\n")
    accounts = write("first.csv", "id,kind,age\na,account,30\nb,account,4\n")
    devices = write("second.csv", "id,kind,year\nx,device,2001\ny,device,2003\n")
    graph = read_graph(edges, labels, [accounts, devices]).graph
    assert kinds(graph) == {"a": "account", "b": "account", "x": "device", "y": "device"}
    assert graph.feature_names == ("age", "year")


def test_labels_on_nodes_of_two_feature_files(write):
    labels = write("labels.csv", "id,label\na,good\nb,bad\nx,bad\n")
    files = [
        write("accounts.csv", "id,age\na,30\nb,4\n"),
        write("devices.csv", "id,year\nx,1\ny,3\n"),
    ]
    with pytest.raises(InputError, match=r"one kind of nodes\. Got 2 on accounts, 1 on devices"):
        read_graph(write("edges.csv", EDGES), labels, files)

"""`read_graph`: which nodes there are, which labels, splits and features they get."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.io import read_graph, write_graph

EDGES = "source,target\nb,a\nc,a\nd,b\n"


def names(loaded) -> list[object]:
    return loaded.graph.node_ids.tolist()


def labels(loaded) -> dict[object, object]:
    classes = (*loaded.graph.class_names, None)
    return dict(zip(names(loaded), (classes[i] for i in loaded.graph.labels), strict=True))


def test_nodes_come_in_the_order_of_edges_features_labels(put):
    features = put("f.csv", "id,x\ne,1\na,2\nb,3\nc,4\nd,5\nf,7\n")
    loaded = read_graph(put("e.csv", EDGES), put("l.csv", "id,label\nf,q\na,p\nd,q\n"), features)
    assert names(loaded) == ["b", "c", "d", "a", "e", "f"]
    assert loaded.graph.features.ravel().tolist() == [3, 4, 5, 2, 1, 7]
    assert labels(loaded) == {"b": None, "c": None, "d": "q", "a": "p", "e": None, "f": "q"}
    text = "\n".join(loaded.graph.notices)
    assert "f.csv: 2 ids are not in" in text
    assert "l.csv: 1 id is not in" in text
    assert "2 nodes have no edge" in text
    assert loaded.split is None


def test_number_ids_give_the_same_graph_as_text_ids(put):
    plain = read_graph(put("e.csv", "3,10\n10,2\n2,3\n7,0\n")).graph
    text = read_graph(put("t.csv", "n3,n10\nn10,n2\nn2,n3\nn7,n0\n")).graph
    assert ["n" + node for node in plain.node_ids] == text.node_ids.tolist()
    assert (plain.adjacency != text.adjacency).nnz == 0


@pytest.mark.parametrize("odd", ["007", "+7", "-7", "7.0", " 7", "99999999999999999999"])
def test_ids_are_never_normalised(put, odd):
    content = f"1,2\n2,8\n{odd},1\n"
    assert names(read_graph(put("e.csv", content))) == ["1", "2", odd, "8"]


def test_weights_notices_and_no_python_warnings(put):
    path = put("e.csv", "source,target,worth\na,b,2\nb,a,0.5\na,a,1\nb,c,0\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = read_graph(path, directed=False).graph
    assert graph.adjacency.toarray().tolist() == [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 0]]
    text = "\n".join(graph.notices)
    for part in ("'worth' is used as the edge weight", "self-loop", "weight 0", "1 node has no"):
        assert part in text


def test_classes_are_sorted_and_empty_means_unknown(put):
    edges = put("e.csv", EDGES)
    loaded = read_graph(edges, put("l.csv", "a,10\nb,9\nc,\nd,?\n"), unlabelled="?")
    assert loaded.graph.class_names == ("9", "10")
    assert labels(loaded) == {"a": "10", "b": "9", "c": None, "d": None}
    loaded = read_graph(edges, put("l.csv", "a,10\nb,9\nc,x\n"))
    assert loaded.graph.class_names == ("10", "9", "x")
    assert read_graph(edges, put("l.csv", "a,NA\nb,NA\n")).graph.class_names == ("NA",)


def test_the_split_column(put):
    content = "id,label,split\na,x,train\nb,y,val\nc,x,test\nd,,\n"
    loaded = read_graph(put("e.csv", EDGES), put("l.csv", content))
    split = dict(zip(names(loaded), loaded.split.tolist(), strict=True))
    assert split == {"a": "train", "b": "val", "c": "test", "d": ""}


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        (("A", "B", "C"), r"'A' appears there as 'a': they differ in case"),
        (("00a", "0b", "0c"), r"'00a' appears there as 'a': they differ in leading zeros"),
        (("a.0", "b.0", "c.0"), r"'a.0' appears there as 'a': they differ in '.0' at the end"),
        ((" 0A", " 0B", "C "), r"' 0A' appears there as 'a'"),
        (("x", "y", "z"), "Check that the files match"),
    ],
)
def test_mostly_unknown_labels_are_an_error_with_a_hint(put, ids, hint):
    path = put("l.csv", "id,label\nd,p\n" + "".join(f"{node},q\n" for node in ids))
    with pytest.raises(InputError) as caught:
        read_graph(put("e.csv", EDGES), path)
    message = str(caught.value)
    assert "l.csv, line 3: Most ids must be in" in message
    assert "3 of 4" in message
    assert hint in message


def test_unlabelled_rows_do_not_count_as_labelled_ids(put):
    content = "a,p\nb,q\nx,\ny,\nz,\n"
    assert read_graph(put("e.csv", EDGES), put("l.csv", content)).graph.num_nodes == 7


def test_a_few_unknown_ids_are_a_notice_unless_strict(put):
    edges, path = put("e.csv", EDGES), put("l.csv", "a,p\nb,q\nD,p\n")
    notices = read_graph(edges, path).graph.notices
    assert any("1 id is not in" in text and "'D' appears there as 'd'" in text for text in notices)
    with pytest.raises(InputError, match=r"l\.csv, line 3: Every id must be in .*e\.csv"):
        read_graph(edges, path, strict_ids=True)


def test_medians_fill_cells_and_nodes(put):
    edges = put("e.csv", EDGES)
    path = put("f.csv", "id,x,y\na,1,5\nb,,NA\nc,4,7\n")
    X = read_graph(edges, None, path, impute="median").graph.features
    assert X.tolist() == [[2.5, 6], [4, 7], [2.5, 6], [1, 5]]  # b, c, d, a
    assert X.dtype == np.float32


def test_one_hot_columns_are_sorted_and_sparse_when_many(put):
    edges = put("e.csv", EDGES)
    path = put("f.csv", "id,x,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,\n")
    X = read_graph(edges, None, path, one_hot=True, impute="median").graph.features
    assert X.tolist() == [[2, 1, 0], [3, 0, 1], [4, 0, 0], [1, 0, 1]]
    ring = "".join(f"n{i},n{(i + 1) % 80}\n" for i in range(80))
    many = "id,x,kind\n" + "".join(f"n{i},1,k{i % 79:02}\n" for i in range(80))
    X = read_graph(put("r.csv", ring), None, put("m.csv", many), one_hot=True).graph.features
    assert sp.issparse(X)
    kinds = np.eye(79)[np.arange(80) % 79]
    assert X.toarray().tolist() == np.hstack([np.ones((80, 1)), kinds]).tolist()


def test_a_label_among_the_features_is_announced(put):
    path = put("f.csv", "id,x,label\na,1,0\nb,2,0\nc,3,1\nd,4,1\n")
    notices = read_graph(put("e.csv", EDGES), None, path).graph.notices
    assert any("column 'label' is used as a feature" in text for text in notices)


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="Class" attr.type="string"/>
  <key id="d1" for="node" attr.name="age" attr.type="int"><default>30</default></key>
  <key id="d2" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d3" for="node" attr.name="split" attr.type="string"/>
  <key id="d4" for="node" attr.name="note" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="n1"><data key="d0">x</data><data key="d1">7</data><data key="d3">train</data></node>
    <node id="n0"><data key="d0">y &amp; z</data><data key="d4">hm</data></node>
    <node id="n2"/>
    <edge source="n0" target="n1"><data key="d2">2.5</data></edge>
    <edge source="n2" target="n1"/>
  </graph>
</graphml>
"""


@pytest.mark.parametrize("name", ["g.graphml", "g.graphml.gz", "g.xml"])
def test_graphml(put, name):
    loaded = read_graph(put(name, GRAPHML))
    assert labels(loaded) == {"n1": "x", "n0": "y & z", "n2": None}
    assert loaded.graph.features.ravel().tolist() == [7, 30, 30]
    assert loaded.graph.adjacency.toarray().tolist() == [[0, 2.5, 1], [2.5, 0, 0], [1, 0, 0]]
    assert loaded.split.tolist() == ["train", "", ""]
    text = "\n".join(loaded.graph.notices)
    assert "1 edge without a weight, counted as 1" in text
    assert "1 numeric node attribute used as features ('age')" in text


def test_columns_that_are_not_used_are_not_said_to_be(put):
    empty = '<key id="d9" for="node" attr.name="size" attr.type="int"/>\n  <graph edge'
    loaded = read_graph(put("g.graphml", GRAPHML.replace("<graph edge", empty)))
    text = "\n".join(loaded.graph.notices)
    assert "1 numeric node attribute used as features ('age')" in text
    assert "column 'size' is empty, so it is not used" in text
    table = put("f.csv", "id,label,age\nn0,u,1\nn1,v,2\nn2,w,4\n")
    text = "\n".join(read_graph(put("g.graphml", GRAPHML), features=table).graph.notices)
    assert "column 'label' is not used: every row has a different value" in text
    assert "column 'label' is used" not in text


def test_graphml_with_other_labels_and_features(put):
    path = put("g.graphml", GRAPHML)
    loaded = read_graph(path, put("l.csv", "n0,p\nn2,q\n"), put("f.csv", "n0,1\nn1,2\nn2,3\n"))
    assert labels(loaded) == {"n1": None, "n0": "p", "n2": "q"}
    assert loaded.graph.features.ravel().tolist() == [2, 1, 3]
    assert read_graph(path, unlabelled="x").graph.class_names == ("y & z",)


TYPED = """<graphml>
  <key id="w" for="edge" attr.name="amount" attr.type="double"/>
  <key id="t" for="edge" attr.name="type" attr.type="string"/>
  <key id="a" for="node" attr.name="age" attr.type="double"/>
  <graph edgedefault="directed">
    <node id="a"><data key="a">1</data></node>
    <node id="b"><data key="a">2</data></node>
    <node id="c"><data key="a">4</data></node>
    <edge source="a" target="b"><data key="w">2</data><data key="t">pays</data></edge>
    <edge source="b" target="a"><data key="w">5</data><data key="t">pays</data></edge>
    <edge source="b" target="c"><data key="w">1</data><data key="t">uses</data></edge>
  </graph>
</graphml>"""


def test_graphml_says_what_a_table_of_its_edges_says(put):
    """Types, weights and directions are asked for in the same way."""
    path = put("g.graphml", TYPED)
    table = put("e.csv", "source,target,amount,type\na,b,2,pays\nb,a,5,pays\nb,c,1,uses\n")
    for options in (
        {"directed": True, "weight": "amount"},
        {"directed": ["pays"]},
        {"directed": True, "relation_column": ""},
        {"relation_column": "type"},
    ):
        one, two = (read_graph(file, **options).graph for file in (path, table))
        assert [r.name for r in one.relations] == [r.name for r in two.relations]
        for ours, theirs in zip(one.relations, two.relations, strict=True):
            np.testing.assert_array_equal(ours.matrix.toarray(), theirs.matrix.toarray())
    text = "\n".join(read_graph(path).graph.notices)
    assert "column 'type' is used as the type of an edge ('pays', 'uses')" in text
    with pytest.raises(InputError, match=r"have an attribute 'euros'\. Got 'amount', 'type'"):
        read_graph(path, weight="euros")
    with pytest.raises(InputError, match=r"give every edge a type\. Got 1 empty cell in 3 rows"):
        read_graph(put("h.graphml", TYPED.replace('<data key="t">uses</data>', "")))


KINDS = """<graphml>
  <key id="k" for="node" attr.name="kind" attr.type="string"/>
  <key id="l" for="node" attr.name="label" attr.type="string"/>
  <key id="a" for="node" attr.name="age" attr.type="double"/>
  <key id="m" for="node" attr.name="memory" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="d"><data key="k">device</data><data key="m">8</data></node>
    <node id="a"><data key="k">account</data><data key="l">x</data><data key="a">1</data></node>
    <node id="b"><data key="k">account</data><data key="l">y</data><data key="a">2</data></node>
    <node id="c"><data key="k">card</data></node>
    <node id="e"/>
    <edge source="a" target="d"/>
    <edge source="b" target="c"/>
    <edge source="e" target="a"/>
  </graph>
</graphml>"""


def test_graphml_says_what_a_table_of_its_nodes_says(put):
    """Kinds, and columns that only one of them has."""
    path, edges = put("g.graphml", KINDS), put("e.csv", "source,target\na,d\nb,c\ne,a\n")
    labels = put("l.csv", "id,label\na,x\nb,y\n")
    features = put("f.csv", "id,kind,age,memory\nd,device,,8\na,account,1,\nb,account,2,\n")
    one, two = (read_graph(*files).graph for files in ((path,), (edges, labels, features)))
    assert one.node_ids.tolist() == list("dabce")
    kinds = [one.kinds.names[k] for k in one.kinds.codes]
    assert kinds == ["device", "account", "account", "card", "other"]
    described = dict(zip(one.kinds.names, one.kinds.described, strict=True))
    assert described == {"account": True, "device": True, "card": False, "other": False}
    at = [two.node_ids.get_loc(name) for name in "dab"]
    np.testing.assert_array_equal(one.features[:3], two.features[at])
    gaps = [graph.mixed.gaps.toarray() for graph in (one, two)]
    np.testing.assert_array_equal(gaps[0][:3], gaps[1][at])
    assert one.predicted.tolist() == [False, True, True, False, False]

    assert read_graph(path, kind_column="").graph.kinds is None
    both = KINDS.replace('key="k">card</data>', 'key="k">card</data><data key="l">x</data>')
    assert read_graph(put("b.graphml", both)).graph.kinds is None
    with pytest.raises(InputError, match="Labels must sit on one kind of nodes"):
        read_graph(put("b.graphml", both), kind_column="kind")
    with pytest.raises(InputError, match="must name a column of the labels or features"):
        read_graph(path, kind_column="colour")


def test_features_in_another_file_are_read_instead_of_those_of_a_graph_file(put, tmp_path):
    """Also where the columns are those of an earlier fit, which the graph file does not have."""
    path, features = put("g.graphml", TYPED), put("f.csv", "id,size\na,1\nb,2\nc,3\n")
    like = read_graph(path, features=features).columns
    write_graph(tmp_path / "g.npz", read_graph(path).graph)
    for graph in (path, tmp_path / "g.npz"):
        again = read_graph(graph, features=features, like=like).graph
        assert again.feature_names == ("size",)


def test_our_npz_may_have_a_direction(tmp_path):
    path = graph_file(tmp_path)
    assert [r.name for r in read_graph(path).graph.relations] == ["edges"]
    assert [r.name for r in read_graph(path, directed=True).graph.relations] == ["out", "in"]


def graph_file(tmp_path, ids=None):
    graph = Graph.from_edges(
        [0, 1], [1, 2], features=np.eye(3), labels=[0, 1, -1], class_names=[5, 6], node_ids=ids
    )
    write_graph(tmp_path / "g.npz", graph)
    return tmp_path / "g.npz"


def test_our_npz_as_edges_with_and_without_other_files(put, tmp_path):
    path = graph_file(tmp_path)
    loaded = read_graph(path)
    assert loaded.graph.node_ids.equals(pd.RangeIndex(3))
    assert labels(loaded) == {0: 5, 1: 6, 2: None}
    assert read_graph(path, unlabelled="5").graph.class_names == (6,)
    loaded = read_graph(path, put("l.csv", "2,a\n0,b\n"), put("f.csv", "2,7\n1,8\n0,9\n"))
    assert labels(loaded) == {0: "b", 1: None, 2: "a"}
    assert loaded.graph.features.ravel().tolist() == [9, 8, 7]
    loaded = read_graph(path, put("l.csv", "2,a\n0,b\n9,a\n"), impute="median")
    assert labels(loaded) == {"0": "b", "1": None, "2": "a", "9": "a"}
    assert loaded.graph.features[3].tolist() == [0, 0, 0]


def test_features_from_npz_by_id_by_number_or_by_order(put, tmp_path):
    X = np.array([[1.0], [2], [3]])
    np.savez(tmp_path / "ids.npz", features=X, node_ids=np.array(["c", "a", "b"]))
    np.savez(tmp_path / "bare.npz", features=X)
    text, numbers = put("e.csv", "b,a\na,c\n"), put("n.csv", "2,1\n1,0\n")
    assert read_graph(text, None, tmp_path / "ids.npz").graph.features.ravel().tolist() == [3, 2, 1]
    loaded = read_graph(numbers, None, tmp_path / "bare.npz")
    assert names(loaded) == ["2", "1", "0"]
    assert loaded.graph.features.ravel().tolist() == [3, 2, 1]  # row i is the node called i
    loaded = read_graph(text, None, tmp_path / "bare.npz")
    assert loaded.graph.features.ravel().tolist() == [1, 2, 3]
    assert any("row i is taken to be the i-th node" in text for text in loaded.graph.notices)


def test_sparse_features_and_their_medians(put, tmp_path):
    X = sp.csr_array(np.array([[1.0, 0, 0], [2, 0, 5], [3, 0, 0]]))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    arrays = {f"features_{key}": np.asarray(value) for key, value in parts.items()}
    np.savez(tmp_path / "f.npz", node_ids=np.array(["a", "b", "c"]), **arrays)
    loaded = read_graph(put("e.csv", EDGES), None, tmp_path / "f.npz", impute="median")
    assert sp.issparse(loaded.graph.features)
    assert loaded.graph.features.toarray().tolist() == [[2, 0, 5], [3, 0, 0], [2, 0, 0], [1, 0, 0]]


def test_parquet_throughout(tmp_path):
    edges = pd.DataFrame({"source": [1, 2], "target": [2, 3]})
    edges.to_parquet(tmp_path / "e.parquet")
    pd.DataFrame({"id": [3, 1], "label": [1.0, None]}).to_parquet(tmp_path / "l.parquet")
    pd.DataFrame({"id": [1, 2, 3], "x": [1.5, 2, 3]}).to_parquet(tmp_path / "f.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in "elf"]
    loaded = read_graph(*paths)
    assert labels(loaded) == {"1": None, "2": None, "3": "1"}
    assert loaded.graph.features.ravel().tolist() == [1.5, 2, 3]

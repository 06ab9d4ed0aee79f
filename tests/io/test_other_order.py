"""Files in other encodings, and columns in another order: read as the usual file, with a notice."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

EDGES = "José,b\nb,c\nc,d\nd,José\n"
LABELS = "id,label\nJosé,x\nb,y\nc,x\nd,y\n"


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_encodings(put, encoding):
    wanted = read_graph(put("e.csv", EDGES), put("l.csv", LABELS)).graph
    files = put("e2.csv", EDGES.encode(encoding)), put("l2.csv.gz", LABELS.encode(encoding))
    found = read_graph(*files).graph
    assert list(found.node_ids) == list(wanted.node_ids)
    np.testing.assert_array_equal(found.labels, wanted.labels)
    name = "Windows-1252" if encoding in ("cp1252", "latin-1") else "UTF-16"
    doubt = " (if letters look wrong: encoding='…')" if name == "Windows-1252" else ""
    told = f"not UTF-8; read as {name}{doubt}."
    assert [notice.partition(": ")[2] for notice in found.notices] == [told, told]


def test_one_file_may_be_in_another_encoding(put):
    labels = put("l.csv", LABELS.encode("cp1252"))
    assert (read_graph(put("e.csv", EDGES), labels).graph.labels >= 0).all()


def test_a_letter_far_down(put):
    edges = put("e.csv", ("a,b\n" * 30_000 + "José,b\n").encode("cp1252"))
    assert "José" in read_graph(edges).graph.node_ids


@pytest.mark.parametrize(
    "labels",
    ["label,id\nx,José\ny,b\nx,c\ny,d\n", "x,José\ny,b\nx,c\ny,d\n",
     "split,class,node\n,x,José\n,y,b\n,x,c\n,y,d\n"],
)  # fmt: skip
def test_labels_before_ids(put, labels):
    wanted = read_graph(put("e.csv", EDGES), put("l.csv", LABELS)).graph
    found = read_graph(put("e.csv", EDGES), put("l2.csv", labels)).graph
    np.testing.assert_array_equal(found.labels, wanted.labels)
    assert found.class_names == ("x", "y")
    assert "in another order: id is column" in found.notices[0]


def test_a_header_nobody_knows_above_labels_before_ids(put):
    labels = put("l.csv", "State,Account\nx,a1\nx,a2\ny,a3\ny,a4\ny,a5\n")
    found = read_graph(put("e.csv", "a1,a2\na2,a3\na3,a4\na4,a5\n"), labels).graph
    assert found.class_names == ("x", "y")
    assert found.labels.tolist() == [0, 0, 1, 1, 1]
    assert any("line 1 (State, Account) was read as a header" in told for told in found.notices)


@pytest.mark.parametrize(
    "edges",
    ["weight,source,target\n2,a,b\n3,b,c\n", "2,a,b\n3,b,c\n", "target,source,w\nb,a,2\nc,b,3\n",
     "target,weight,source\nb,2,a\nc,3,b\n"],
)  # fmt: skip
def test_weights_before_ends(put, edges):
    wanted = read_graph(put("e.csv", "source,target,weight\na,b,2\nb,c,3\n")).graph
    found = read_graph(put("e2.csv", edges)).graph
    assert list(found.node_ids) == list(wanted.node_ids)
    np.testing.assert_array_equal(found.adjacency.toarray(), wanted.adjacency.toarray())
    assert "in another order: source is column" in found.notices[0]


def test_fractions_before_whole_ids(put):
    found = read_graph(put("e.csv", "0.5,007,8\n1.5,8,9\n2,9,007\n")).graph
    assert list(found.node_ids) == ["007", "8", "9"]
    assert found.adjacency[0, 1] == 0.5


@pytest.mark.parametrize("edges", ["1,2,0.5\n2,3,1.5\n", "1,2,3\n2,3,4\n", "1,a,2\n2,a,3\n"])
def test_the_usual_order_stays(put, edges):
    found = read_graph(put("e.csv", edges)).graph
    assert "1" in found.node_ids
    assert not any("order" in notice for notice in found.notices)


def test_ids_behind_features(put):
    features = put("f.csv", "age,income,id\n1,5,José\n2,6,b\n3,7,c\n4,8,d\n")
    found = read_graph(put("e.csv", EDGES), features=features).graph
    np.testing.assert_array_equal(found.features[:, 0], [1, 2, 3, 4])
    assert found.feature_names == ("age", "income")
    assert any("the ids are in column 'id'" in notice for notice in found.notices)


@pytest.mark.parametrize("encoding", ["cp1250", "cp1251", "shift_jis", "gb18030", "euc_kr"])
def test_an_encoding_by_name(put, encoding):
    name = {"cp1250": "Łódź", "cp1251": "Иванов", "euc_kr": "김철수"}.get(encoding, "山田")
    edges, labels = EDGES.replace("José", name), LABELS.replace("José", name)
    files = put("e.csv", edges.encode(encoding)), put("l.csv", labels)  # one of them UTF-8
    found = read_graph(*files, encoding=encoding).graph
    assert name in found.node_ids
    assert (found.labels >= 0).all()
    assert f"{files[0]}: not UTF-8; read as {encoding}." in found.notices


@pytest.mark.parametrize(
    ("content", "encoding", "words"),
    [
        (b"a,b\nb,c\n", "cp12x", "'encoding' must be an encoding that Python knows"),
        (b"a,b\nb,c\n", "hex", "'encoding' must be an encoding"),
        ("山,b\nb,c\n".encode("shift_jis"), "euc_kr", "A euc_kr file must be whole.*Name another"),
    ],
)
def test_no_encoding(put, content, encoding, words):
    with pytest.raises(InputError, match=words):
        read_graph(put("e.csv", content), encoding=encoding)

"""Edge files with a direction, types, weights and further columns."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph


def write(folder, text, name="edges.csv"):
    path = folder / name
    path.write_text(text)
    return path


def relations(loaded) -> dict[str, set]:
    ids = loaded.graph.node_ids
    found = {}
    for relation in loaded.graph.relations:
        M = relation.matrix.tocoo()
        found[relation.name] = {
            (ids[u], ids[v], float(w)) for u, v, w in zip(*M.coords, M.data, strict=True)
        }
    return found


def test_a_directed_file(tmp_path):
    loaded = read_graph(write(tmp_path, "source,target\na,b\nb,c\n"), directed=True)
    assert relations(loaded) == {
        "out": {("a", "b", 1), ("b", "c", 1)},
        "in": {("b", "a", 1), ("c", "b", 1)},
    }


@pytest.mark.parametrize("name", ["type", "relation", "Kind", "edge_type"])
@pytest.mark.parametrize("weight", [None, 2, 3])
def test_a_column_of_types_with_or_without_weights(tmp_path, name, weight):
    header, rows = ["from", "to", name], [["a", "b", "pays"], ["b", "c", "0"]]
    if weight is not None:
        header.insert(weight, "weight")
        for row, value in zip(rows, "24", strict=True):
            row.insert(weight, value)
    text = "\n".join(",".join(row) for row in [header, *rows])
    loaded = read_graph(write(tmp_path, text))
    one, two = (1.0, 1.0) if weight is None else (2.0, 4.0)
    assert relations(loaded) == {
        "0": {("b", "c", two), ("c", "b", two)},
        "pays": {("a", "b", one), ("b", "a", one)},
    }
    assert any(f"column {name!r} is used as the type of an edge" in n for n in loaded.graph.notices)


def test_further_columns_are_named_and_not_used(tmp_path):
    text = "from,to,amount,date,channel\na,b,5,2024-01-02,web\nb,c,7,2024-01-03,shop\n"
    plain = read_graph(write(tmp_path, text))
    assert list(relations(plain)) == ["edges"]
    assert any("columns 'amount', 'date', 'channel' not" in n for n in plain.graph.notices)
    assert not plain.graph.is_weighted
    typed = read_graph(
        tmp_path / "edges.csv", relation_column="channel", weight="amount", directed=["web"]
    )
    assert relations(typed) == {
        "shop": {("b", "c", 7), ("c", "b", 7)},
        "web (out)": {("a", "b", 5)},
        "web (in)": {("b", "a", 5)},
    }


def test_no_types_if_asked(tmp_path):
    path = write(tmp_path, "source,target,type\na,b,x\nb,c,y\n")
    assert list(relations(read_graph(path, relation_column=""))) == ["edges"]


def test_many_values_are_no_types(tmp_path):
    path = write(tmp_path, "source,target,type\n" + "".join(f"a,b{i},t{i}\n" for i in range(160)))
    loaded = read_graph(path)
    assert list(relations(loaded)) == ["edges"]
    assert any("not used as the type: 160 different values" in n for n in loaded.graph.notices)
    with pytest.raises(InputError, match="hold at most 100 types"):
        read_graph(path, relation_column="type")


def test_amounts_are_noticed(tmp_path):
    rows = "".join(f"a{i},b{i},{10.0**i}\n" for i in range(6))
    loaded = read_graph(write(tmp_path, "source,target,weight\n" + rows))
    (said,) = (n for n in loaded.graph.notices if "span a factor of" in n)
    assert said.endswith("The default model also tries logarithms and no weights.")
    later = read_graph(tmp_path / "edges.csv", optional=["source"])  # nothing is tried there
    (said,) = (n for n in later.graph.notices if "span a factor of" in n)
    assert said.endswith("drown out the others.")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,x\nb,c,\nc,d,\nd,e,y\n", {}, r"line 3.*every edge a type\. Got 2 empty cells in 4"),
        ("a,b,x\n", {"relation_column": "tpye"}, r"'relation_column' must name a column.*'type'\?"),
        ("a,b,x\n", {"directed": ["pays"]}, r"'directed' must name types of edges: x\. Got 'pays'"),
    ],
)  # fmt: skip
def test_bad_columns_of_types(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read_graph(write(tmp_path, "source,target,type\n" + text), **options)


def test_types_of_many_rows_keep_their_rows(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"n{u}", f"n{v}", "xyz"[t]) for u, v, t in rng.integers(0, (9, 9, 3), (200, 3))]
    path = write(tmp_path, "source,target,type\n" + "\n".join(map(",".join, rows)))
    loaded = read_graph(path, directed=True)
    for name, found in relations(loaded).items():
        kind, way = name.split(" ")
        expected = {(u, v, 1.0) for u, v, t in rows if t == kind and u != v}
        assert found == {(v, u, w) for u, v, w in expected} if way == "(in)" else expected


def test_rows_of_a_file_with_types_keep_them(tmp_path):
    path = write(tmp_path, "source,target,type\na,b,pays\na,b,uses\nb,c,pays\n")
    rows = read_graph(path, keep_rows=True).rows
    assert rows[:2].T.tolist() == [[0, 1], [0, 1], [1, 2]]
    assert rows[2, 0] == rows[2, 2] != rows[2, 1]

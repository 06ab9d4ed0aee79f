"""Several feature files give what one file with all their columns gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn.errors import InputError
from cpgnn.io import FeatureColumns, read_graph

EDGES = "a,b\nb,c\nc,d\nd,a\n"
ONE = "id,age,colour\nb,1,red\na,2,blue\nc,3,red\nd,4,blue\n"
TWO = "id,income,shape,seen\nd,40,round,01.02.2024\nc,30,flat,02.02.2024\nb,10,flat,13.02.2024\na,20,round,04.02.2024\n"  # noqa: E501


def together(put):
    one, two = (pd.read_csv(put(n, t), dtype=str) for n, t in (("1.csv", ONE), ("2.csv", TWO)))
    return put("both.csv", one.merge(two, on="id").to_csv(index=False))


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def test_as_if_they_were_one(put):
    wanted = read_graph(put("e.csv", EDGES), features=together(put), one_hot=True)
    files = [put("1.csv", ONE), put("2.csv", TWO)]
    found = read_graph(put("e.csv", EDGES), features=files, one_hot=True)
    assert found.graph.feature_names == wanted.graph.feature_names
    np.testing.assert_array_equal(found.graph.features, wanted.graph.features)
    assert list(found.graph.node_ids) == list(wanted.graph.node_ids)
    assert found.columns.names == wanted.columns.names
    assert [one.reading for one in found.columns] == [one.reading for one in wanted.columns]
    assert sum("read as dates" in notice for notice in found.graph.notices) == 1


def test_later_files_in_another_order(put):
    edges = put("e.csv", EDGES)
    first = read_graph(edges, features=[put("1.csv", ONE), put("2.csv", TWO)], one_hot=True)
    like = FeatureColumns.from_dict(first.columns.as_dict())
    swapped = read_graph(edges, features=[put("2.csv", TWO), put("1.csv", ONE)], like=like)
    place = first.graph.node_ids.get_indexer(swapped.graph.node_ids)
    np.testing.assert_array_equal(swapped.graph.features, first.graph.features[place])
    assert swapped.graph.feature_names == first.graph.feature_names
    whole = read_graph(edges, features=together(put), like=like)
    place = first.graph.node_ids.get_indexer(whole.graph.node_ids)
    np.testing.assert_array_equal(whole.graph.features, first.graph.features[place])
    fewer = put("3.csv", ONE.replace("age", "years"))
    with pytest.raises(InputError, match="age"):
        read_graph(edges, features=[put("2.csv", TWO), fewer], like=like)


def test_trees_see_the_categories_of_later_files(put):
    edges, files = put("e.csv", EDGES), [put("1.csv", ONE), put("2.csv", TWO)]
    first = read_graph(edges, features=files)
    assert first.graph.mixed.categories
    like = FeatureColumns.from_dict(first.columns.as_dict())
    later = read_graph(edges, features=files[::-1], like=like).graph
    assert later.mixed.categories == first.graph.mixed.categories


def test_gaps_between_files(put):
    edges, two = put("e.csv", EDGES), put("2.csv", "id,x\na,1\nb,2\nc,9\n")
    few = put("3.csv", "id,x\na,1\nb,2\n")
    with pytest.raises(
        InputError, match=r"3\.csv: Every node .*none for 2 nodes, starting with 'c' \(.*line 4"
    ):
        read_graph(edges, features=[put("1.csv", ONE), few], one_hot=True)
    loaded = read_graph(edges, features=[put("1.csv", ONE), two])
    names, nodes = loaded.graph.feature_names, list(loaded.graph.node_ids)
    assert loaded.graph.mixed.gaps.toarray()[nodes.index("d"), names.index("x")]
    assert loaded.graph.mixed.gaps.nnz == 1
    assert [(c.name, names[c.start]) for c in loaded.graph.mixed.categories] == [
        ("colour", "colour=blue")
    ]
    loaded = read_graph(edges, features=[put("1.csv", ONE), two], one_hot=True, impute="median")
    x = loaded.graph.features[:, loaded.graph.feature_names.index("x")]
    values = dict(zip(loaded.graph.node_ids, x, strict=True))
    assert values == {"a": 1, "b": 2, "c": 9, "d": 2}
    assert loaded.columns.medians is not None
    assert len(loaded.columns.medians) == loaded.graph.num_features


def test_many_categories_stay_sparse(put):
    n = 130
    edges = put("e.csv", "".join(f"{i},{(i + 1) % n}\n" for i in range(n)))
    text = put("1.csv", "id,word\n" + "".join(f"{i},w{i % 65}\n" for i in range(n)))
    numbers = put("2.csv", "id,x\n" + "".join(f"{i},{i}\n" for i in range(n)))
    loaded = read_graph(edges, features=[text, numbers], one_hot=True)
    assert sp.issparse(loaded.graph.features)
    X = dense(loaded.graph.features)
    assert loaded.graph.feature_names[:2] == ("x", "word=w0")
    np.testing.assert_array_equal(X[:, 0], np.arange(n))
    np.testing.assert_array_equal(X[:, 1:].argmax(axis=1) + 0, [
        sorted(f"w{j}" for j in range(65)).index(f"w{i % 65}") for i in range(n)
    ])  # fmt: skip


def test_what_is_refused(put):
    edges, one = put("e.csv", EDGES), put("1.csv", ONE)
    again = put("2.csv", "id,age,x\na,1,1\nb,1,1\nc,1,1\nd,1,1\n")
    with pytest.raises(InputError, match=r"2\.csv: Column 'age' must be in one file only.*1\.csv"):
        read_graph(edges, features=[one, again], one_hot=True)
    found = read_graph(edges, features=[one, again], one_hot=True, feature=["colour", "x"])
    assert found.graph.feature_names == ("x", "colour=blue", "colour=red")
    with pytest.raises(InputError, match=r"'ignore' must name a column .* Did you mean 'colour'"):
        read_graph(edges, features=[one, put("2.csv", TWO)], one_hot=True, ignore=["color"])
    with pytest.raises(InputError, match="There are 2 problems"):
        read_graph(edges, features=[put("x.csv", "id,f\na,inf\n"), put("y.csv", "id,g\na,\n")])
    with pytest.raises(InputError, match="'features' must be tables"):
        read_graph(edges, features=[one, put("f.npz", b"")])

"""Tables of numbers, text and gaps: read, kept, found again, and seen by trees as they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn.engine.mixed import Category, Mixed
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import InputError
from cpgnn.evaluation.prediction import in_order
from cpgnn.graph import Graph
from cpgnn.io import FeatureColumns, read_graph, write_graph
from cpgnn.priors.columns import STRUCTURE
from cpgnn.priors.inputs import Basis, Inputs
from cpgnn.run.later import extended
from toys import table_as_it_was

EDGES = "source,target\na,b\nb,c\nc,d\n"
TABLE = "id,age,colour,height\na,1,red,5\nb,,blue,\nc,4,,7\nd,8,red,9\n"
NAN = np.nan
NATIVE = [[1, 5, 1], [NAN, NAN, 0], [4, 7, NAN], [8, 9, 1]]
"""Age and height, then the colour: 0 is blue, 1 red."""


@pytest.fixture
def loaded(put):
    return read_graph(put("e.csv", EDGES), features=put("f.csv", TABLE))


def values(graph: Graph) -> np.ndarray:
    return table_as_it_was(graph)[0]


def categories(graph: Graph) -> dict[str, tuple[str, ...]]:
    return table_as_it_was(graph)[1]


def test_networks_read_numbers_and_trees_the_table(loaded):
    graph = loaded.graph
    assert graph.feature_names == ("age", "height", "colour=blue", "colour=red")
    expected = [[1, 5, 0, 1], [4, 7, 1, 0], [4, 7, 0, 0], [8, 9, 0, 1]]
    assert graph.features.tolist() == expected
    np.testing.assert_array_equal(values(graph), NATIVE)
    assert categories(graph) == {"colour": ("blue", "red")}
    notes = "\n".join(graph.notices)
    assert "3 missing values in 3 columns ('age', 'height', 'colour') were filled" in notes
    assert "Trees see the gaps." in notes


def test_options_make_numbers_of_them_for_all(put):
    files = {"edges": put("e.csv", EDGES), "features": put("f.csv", TABLE)}
    assert read_graph(**files, impute="median", one_hot=True).graph.mixed is None
    filled = read_graph(**files, impute="median").graph
    assert values(filled)[:, :2].tolist() == [[1, 5], [4, 7], [4, 7], [8, 9]]
    hot = read_graph(**files, one_hot=True).graph
    assert categories(hot) == {}
    assert values(hot)[1].tolist()[2:] == [1, 0]


@pytest.mark.parametrize("kind", ["standard", "rows", "none"])
def test_a_scale_changes_no_category_and_fills_no_gap(loaded, kind):
    scaled = values(FeatureScaler.fit(loaded.graph, kind)(loaded.graph))
    np.testing.assert_array_equal(scaled[:, 2], np.array(NATIVE)[:, 2])
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(NATIVE))


def test_many_values_are_sparse_for_networks_and_one_column_for_trees(put):
    ring = "".join(f"n{i},n{(i + 1) % 300}\n" for i in range(300))
    rows = "".join(f"n{i},{i or ''},k{i % 70:02}\n" for i in range(300))
    graph = read_graph(put("e.csv", ring), features=put("f.csv", "id,x,kind\n" + rows)).graph
    assert sp.issparse(graph.features)
    expected = np.stack([np.where(np.arange(300), np.arange(300), NAN), np.arange(300) % 70], 1)
    np.testing.assert_array_equal(values(graph), expected)
    assert FeatureScaler.fit(graph).kind == "standard", "money beside 0/1 is no bag of words"


def test_the_most_frequent_values_are_kept(put, monkeypatch):
    monkeypatch.setattr("cpgnn.io.feature_matrix.MAX_CATEGORIES", 2)
    rows = "id,x\na,u\nb,v\nc,v\nd,w\ne,w\n"
    graph = read_graph(put("e.csv", EDGES + "d,e\n"), features=put("f.csv", rows)).graph
    np.testing.assert_array_equal(values(graph).ravel(), [NAN, 0, 0, 1, 1])
    assert "3 different values of column 'x' the 2 most frequent" in "\n".join(graph.notices)


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_the_rows_is_no_feature(put, first):
    """Whatever it is called, and wherever it stands."""
    rows = [f"a{i},{9 * i % 7},{i + first}" for i in range(30)]
    table = put("f.csv", "\n".join(["konto,umsatz,lfd. nr.", *rows, ""]))
    edges = put("e.csv", "source,target\n" + "".join(f"a{i},a{i + 1}\n" for i in range(29)))
    loaded = read_graph(edges, features=table)
    assert loaded.graph.feature_names == ("umsatz",)
    assert any("'lfd. nr.' only counts the rows" in notice for notice in loaded.graph.notices)
    asked = read_graph(edges, features=table, feature=["lfd. nr."]).graph
    assert asked.feature_names == ("lfd. nr.",)


def test_a_word_among_numbers_is_a_slip(put):
    files = {"edges": put("e.csv", EDGES), "features": put("f.csv", TABLE.replace(",4,", ",old,"))}
    with pytest.raises(InputError, match=r"line 4: .*'age'.*Got 'old'.*one_hot=True"):
        read_graph(**files)
    bands = "id,age\na,10-19\nb,20-29\nc,10-19\nd,20-29\n"
    graph = read_graph(put("e.csv", EDGES), features=put("g.csv", bands)).graph
    assert categories(graph) == {"age": ("10-19", "20-29")}


def test_nodes_without_a_row_are_missing_if_they_are_few(put):
    rows = "id,age,colour\na,1,red\nb,2,blue\nc,4,red\n"
    graph = read_graph(put("e.csv", EDGES), features=put("f.csv", rows)).graph
    assert np.isnan(values(graph)[3]).all()
    assert graph.features[3].tolist() == [2, 0, 0]
    assert "1 node without a row got the median" in "\n".join(graph.notices)


def test_later_files_are_read_alike(loaded, put):
    columns = FeatureColumns.from_dict(loaded.columns.as_dict())
    assert columns == loaded.columns
    later = put("g.csv", "id,height,colour,age\nd,1,red,\nx,,pink,2\n")
    graph = read_graph(put("h.csv", "d,x\n"), features=later, like=columns).graph
    np.testing.assert_array_equal(values(graph), [[NAN, 1, 1], [2, NAN, NAN]])
    assert graph.features.tolist() == [[4, 1, 0, 1], [2, 7, 0, 0]], "medians of the first file"
    assert "a value that the model was not fitted with ('pink')" in "\n".join(graph.notices)
    assert "treated as no category" in "\n".join(graph.notices)


def test_later_nodes_keep_their_gaps(loaded, put):
    later = put("g.csv", "id,height,colour,age\nd,1,red,\nx,,pink,2\n")
    graph = read_graph(put("h.csv", "d,x\nx,y\n"), features=later, like=loaded.columns).graph
    described = np.array([True, True, False])
    more = extended(loaded.graph, graph, described=described, medians=loaded.columns.medians).graph
    expected = [*NATIVE[:3], [NAN, 1, 1], [2, NAN, NAN], [NAN] * 3]
    np.testing.assert_array_equal(values(more), expected)


def test_there_and_back(loaded, tmp_path):
    write_graph(tmp_path / "g.npz", loaded.graph)
    graph = read_graph(tmp_path / "g.npz").graph
    np.testing.assert_array_equal(values(graph), NATIVE)
    assert categories(graph) == {"colour": ("blue", "red")}


@pytest.mark.parametrize(
    "change",
    [
        {"gaps": np.array([[9], [0]])},
        {"gaps": np.array([[0, 1, 2]])},
        {"category_sizes": np.array([3])},
        {"category_sizes": np.array([-1])},
        {"category_start": np.array([3])},
        {"category_start": np.array([1, 2])},
    ],
)
def test_damaged_files_are_refused(loaded, tmp_path, change):
    write_graph(tmp_path / "g.npz", loaded.graph)
    with np.load(tmp_path / "g.npz") as found:
        arrays = dict(found) | change
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=r"bad\.npz: '(gaps|category_sizes|mixed)' must"):
        read_graph(tmp_path / "bad.npz")


def test_columns_in_another_order(loaded):
    graph = loaded.graph
    wanted = ("colour=blue", "colour=red", "height", "age")
    np.testing.assert_array_equal(values(in_order(graph, wanted)), np.array(NATIVE)[:, [1, 0, 2]])
    apart = in_order(graph, ("colour=blue", "height", "colour=red", "age"))
    assert categories(apart) == {}, "no longer one after the other: numbers"


def test_other_features_are_not_mixed(loaded):
    assert loaded.graph.with_features(np.ones((4, 2))).mixed is None
    assert loaded.graph.with_features(None).mixed is None
    X = loaded.graph.features
    assert loaded.graph.with_features(X).mixed is None  # complete, as far as anybody says
    assert loaded.graph.with_features(X, mixed=loaded.graph.mixed).mixed is loaded.graph.mixed


@pytest.mark.parametrize("kind", ["rows", "standard", "none"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_scaled_gap_is_a_gap(loaded, kind, sparse):
    X = loaded.graph.features
    graph = replace(loaded.graph, features=sp.csr_array(X) if sparse else X)
    scaled = FeatureScaler.fit(graph, kind)(graph)
    np.testing.assert_array_equal(scaled.mixed.gaps.toarray(), graph.mixed.gaps.toarray())


def test_what_does_not_fit_is_refused(loaded):
    graph, gaps = loaded.graph, loaded.graph.mixed.gaps
    with pytest.raises(InputError, match=r"'mixed' must have gaps \[4, 4\]"):
        replace(graph, mixed=Mixed(gaps[:2]))
    twice = (Category("x", 0, ("u", "v")), Category("y", 1, ("u", "v")))
    with pytest.raises(InputError, match="to one category"):
        replace(graph, mixed=Mixed(gaps, twice))


def test_parquet_too(put, tmp_path):
    frame = pd.DataFrame({"id": list("abcd"), "age": [1, None, 4, 8], "colour": list("rbrb")})
    frame.loc[2, "colour"] = None
    frame.to_parquet(tmp_path / "f.parquet")
    graph = read_graph(put("e.csv", EDGES), features=tmp_path / "f.parquet").graph
    np.testing.assert_array_equal(values(graph), [[1, 1], [NAN, 0], [4, NAN], [8, 0]])


def test_trees_of_the_default_see_the_gaps(loaded):
    graph = FeatureScaler.fit(loaded.graph)(loaded.graph)
    known = np.arange(4)
    x = Inputs(graph, Basis.of(graph), known, 4, graph.labels)
    own = x.columns[:, len(STRUCTURE) : len(STRUCTURE) + 4]
    assert np.isnan(own).tolist() == loaded.graph.mixed.gaps.toarray().tolist()
    assert not np.isnan(x.coordinates).any(), "networks read medians"
    near = x.columns[graph.positions("c")[0], len(STRUCTURE) + 4]
    assert near == own[graph.positions("d")[0], 0], "b has no age, so the mean is that of d"

"""The columns of a feature file, kept and found again."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn.engine.scaling import match_names
from cpgnn.errors import InputError
from cpgnn.io import FeatureColumns, read_graph
from cpgnn.io.feature_columns import column_medians

EDGES = "source,target\na,b\nb,c\nc,d\n"
FIRST = "id,age,colour,height\na,1,red,5\nb,2,blue,6\nc,4,red,7\nd,8,green,9\n"


def test_json_there_and_back(put):
    loaded = read_graph(put("e.csv", EDGES), features=put("f.csv", FIRST), one_hot=True)
    assert loaded.columns.names == ("age", "colour", "height")
    expected = ("age", "height", "colour=blue", "colour=green", "colour=red")
    assert loaded.graph.feature_names == loaded.columns.matrix_names == expected
    columns = loaded.columns.with_medians_of(loaded.graph.features)
    assert columns.medians == (3, 6.5, 0, 0, 0)
    assert FeatureColumns.from_dict(json.loads(json.dumps(columns.as_dict()))) == columns


@pytest.mark.parametrize(
    "change",
    [
        {"format": 4},
        {"readings": [None]},
        {"names": ["age"]},
        {"names": [1, 2, 3]},
        {"categories": [None, "red", None]},
        {"medians": [1.0]},
    ],
)
def test_foreign_json_is_refused(put, change):
    loaded = read_graph(put("e.csv", EDGES), features=put("f.csv", FIRST), one_hot=True)
    with pytest.raises(ValueError, match=r"newer|needed|valid string|valid tuple"):
        FeatureColumns.from_dict(loaded.columns.as_dict() | change)


def test_a_later_file_gives_the_same_matrix(put):
    edges = put("e.csv", EDGES)
    first = read_graph(edges, features=put("f.csv", FIRST), one_hot=True)
    later = "id,colour,height,age\nd,green,9,8\na,red,5,1\nb,blue,6,2\nc,red,7,4\n"
    again = read_graph(edges, features=put("g.csv", later), like=first.columns)
    np.testing.assert_array_equal(again.graph.features, first.graph.features)


def test_gaps_need_the_medians_of_the_first(put):
    edges = put("e.csv", EDGES)
    first = read_graph(edges, features=put("f.csv", FIRST), one_hot=True)
    gaps = put("g.csv", "id,colour,height,age\nd,green,9,\na,red,5,\nb,blue,6,\n")
    bare = FeatureColumns.from_dict(first.columns.as_dict() | {"medians": None})
    with pytest.raises(InputError, match="with_medians_of"):
        read_graph(edges, features=gaps, impute="median", like=bare)
    with pytest.raises(InputError, match=r"line 2: .*'age'.*Got a missing value, the first of 3"):
        read_graph(edges, features=gaps, like=bare)
    columns = bare.with_medians_of(first.graph.features)
    assert columns == first.columns
    again = read_graph(edges, features=gaps, impute="median", like=columns)
    assert again.graph.features[:, 0].tolist() == [3, 3, 3, 3]
    assert again.graph.features[2].tolist() == [3, 6.5, 0, 0, 0], "c has no row"
    text = "\n".join(again.graph.notices)
    assert "3 missing values in 1 column ('age') were filled" in text
    assert "1 node without a row got the median of every column" in text


def test_a_column_that_is_text_now_is_an_error(put):
    edges = put("e.csv", EDGES)
    first = read_graph(edges, features=put("f.csv", FIRST), one_hot=True)
    with pytest.raises(InputError, match=r"line 2.*'age'.*'old'.*when the model was fitted"):
        read_graph(edges, features=put("g.csv", FIRST.replace(",1,", ",old,")), like=first.columns)


def test_filling_leaves_the_median_where_it_was():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((101, 7)).astype(np.float32)
    known = X[:60]
    medians = column_medians(known)
    np.testing.assert_array_equal(medians, np.median(known, axis=0))
    filled = np.vstack([known, np.tile(medians, (41, 1))])
    np.testing.assert_array_equal(column_medians(filled), medians)
    X[X < 0.3] = 0
    np.testing.assert_array_equal(column_medians(sp.csr_array(X)), np.median(X, axis=0))


def test_names_are_matched_or_named():
    assert match_names(["a", "b"], ["c", "b", "a"]) == ([2, 1], ["c"])
    with pytest.raises(InputError, match="none called 'b', but 'bb'"):
        match_names(["a", "b"], ["a", "bb"])
    with pytest.raises(InputError, match="'a' twice"):
        match_names(["a"], ["a", "a"])

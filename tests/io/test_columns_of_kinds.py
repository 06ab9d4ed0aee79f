"""Later files with the columns of some kinds of nodes only."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn.errors import InputError
from cpgnn.io import read_graph

EDGES = "source,target,type\na,x,uses\nb,x,uses\nc,y,uses\na,b,pays\n"
ACCOUNTS = "id,job,age,country\na,clerk,30,AT\nb,smith,,AT\nc,clerk,20,DE\n"
DEVICES = "id,memory,country\nx,8,DE\ny,4,\n"
LATER = "source,target,type\nd,x,uses\nd,a,pays\n"


def whole(put, one_file: bool, **how):
    """The graph of a fit; its columns of both kinds in one file with a column, or in two."""
    rows = "id,kind,job,age,memory,country\n"
    rows += "a,accounts,clerk,30,,AT\nb,accounts,smith,,,AT\nc,accounts,clerk,20,,DE\n"
    rows += "x,devices,,,8,DE\ny,devices,,,4,\n"
    files = [put("accounts.csv", ACCOUNTS.replace("country", "land"))]
    files.append(put("devices.csv", DEVICES))
    files = put("nodes.csv", rows) if one_file else files
    labels = put("labels.csv", "id,label\na,good\nb,bad\nc,bad\n")
    return read_graph(put("edges.csv", EDGES), labels, files, **how)


def cells(loaded, node):
    """What a node's columns hold, None where they hold nothing."""
    graph = loaded.graph
    at = graph.node_ids.get_loc(node)
    X, gaps = graph.features, graph.mixed.gaps.toarray()[at]
    row = (X.toarray() if sp.issparse(X) else X)[at]
    values = [None if gap else value for value, gap in zip(row.tolist(), gaps, strict=True)]
    return dict(zip(graph.feature_names, values, strict=True))


@pytest.mark.parametrize("one_file", [True, False])
def test_which_columns_each_kind_has(put, one_file):
    columns = whole(put, one_file).columns
    found = {kind: set(names) for kind, names in columns.of_kinds.items()}
    account = {"job", "age", "country" if one_file else "land"}
    assert found == {"accounts": account, "devices": {"memory", "country"}}


def test_graphs_of_one_kind_need_all_columns(put):
    edges, features = (
        put("e.csv", "source,target\na,b\n"),
        put("f.csv", "id,age,x\na,1,9\nb,3,4\n"),
    )
    columns = read_graph(edges, None, features).columns
    assert not columns.of_kinds
    with pytest.raises(InputError, match="none called 'x'"):
        read_graph(edges, None, put("g.csv", "id,age\na,1\nb,9\n"), like=columns)


@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize("one_file", [True, False])
def test_a_file_of_one_kind_is_enough(put, one_file, said):
    first = whole(put, one_file)
    country = "country" if one_file else "land"
    kind, own = (",kind", ",accounts") if said else ("", "")
    later = read_graph(
        put("later.csv", LATER),
        features=put("new.csv", f"id{kind},age,{country},job\nd{own},40,DE,smith\n"),
        like=first.columns,
        known=first.graph.node_ids,
    )
    assert later.graph.feature_names == first.graph.feature_names
    assert later.columns.names == first.columns.names
    nothing = dict.fromkeys(first.graph.feature_names, 0)
    told = {"age": 40, "memory": None, "job=smith": 1, f"{country}=DE": 1}
    found = cells(later, "d")
    assert found["memory"] is None
    assert {name: value or 0 for name, value in found.items()} == nothing | told | {"memory": 0}
    assert not any("has features" in notice for notice in later.graph.notices)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("id,age,country\nd,40,DE\n", "none called 'job'"),
        ("id,kind,memory,country\nd,accounts,4,DE\n", "none called 'job', 'age'"),
        ("id,kind,age,country,job\nd,accounts,4,DE,smith\nz,devices,,DE,\n", "called 'memory'"),
        ("id,ages,country,job\nd,4,DE,smith\n", "Is 'ages' meant to be 'age'"),
        ("id,height\nd,4\n", "none called"),
    ],
)
def test_what_its_own_kind_has_may_not_be_absent(put, text, missing):
    first = whole(put, one_file=True)
    with pytest.raises(InputError, match=f"new.csv must have the features.*{missing}"):
        read_graph(
            put("later.csv", LATER),
            features=put("new.csv", text),
            like=first.columns,
            known=first.graph.node_ids,
        )


def test_a_file_without_a_header_says_nothing_about_its_columns(put):
    first = whole(put, one_file=True)
    later, new = put("later.csv", LATER), put("new.csv", "d,smith,40,,DE\n")
    with pytest.raises(InputError, match=r"Features must name their columns.*Add a header"):
        read_graph(later, features=new, like=first.columns, known=first.graph.node_ids)


def test_wide_categories_stay_sparse(put):
    rows = "".join(f"n{i},job{i % 80}\n" for i in range(200))
    edges = "".join(f"n{i},x{i % 50},uses\n" for i in range(200))
    devices = "".join(f"x{i},{i}\n" for i in range(50))
    labels = "".join(f"n{i},{'ab'[i % 2]}\n" for i in range(200))
    first = read_graph(
        put("edges.csv", "source,target,type\n" + edges),
        put("labels.csv", "id,label\n" + labels),
        [put("a.csv", "id,job\n" + rows), put("b.csv", "id,memory\n" + devices)],
    )
    assert sp.issparse(first.graph.features)
    assert first.columns.of_kinds == {"a": {"job"}, "b": {"memory"}}
    later = read_graph(
        put("later.csv", "source,target,type\nnew,x3,uses\n"),
        features=put("new.csv", "id,job\nnew,job7\n"),
        like=first.columns,
        known=first.graph.node_ids,
    )
    row = later.graph.features[[later.graph.node_ids.get_loc("new")]].toarray()[0]
    names = np.array(first.graph.feature_names)
    assert set(names[row != 0]) == {"job=job7", "memory"}, "a gap holds the median"
    assert cells(later, "new")["memory"] is None

"""What the parsers refuse, and what Planetoid's files leave out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from cpgnn.datasets.upstream import (
    EDGES,
    NODES,
    check_pickle,
    parse_film,
    parse_geom_gcn,
    parse_planetoid,
    parse_platonov,
)
from cpgnn.errors import InputError
from upstream import features_of, toy_arrays, write_geom_gcn, write_planetoid, write_platonov


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        (EDGES, "3", "line 2: A row must have 2 cells, like the others. Got 1"),
        (EDGES, "3\tfour", "be as published. Got ValueError: .*'four'"),
        (NODES, "{id}\t1,0,x\t0", "be as published. Got ValueError"),
        (NODES, "{id}\t1,0\t0", "be as published. Got ValueError"),
        (NODES, "{id}\t{zeros}\t0,5", "be as published. Got ValueError: .*'0,5'"),
        (NODES, "70\t{zeros}\t0", "node ids must be 0 … n-1"),
        (NODES, "{other}\t{zeros}\t0", r"must be 0 … n-1, each once\. Got 29 of them in 30 rows"),
        (NODES, f"{{id}}\t{{zeros}}\t{10**25}", "be as published. Got OverflowError"),
        (EDGES, f"0\t{2**32 + 1}", "A node must lie in 0 … 2,147,483,647"),
        (EDGES, f"0\t{10**25}", "be as published. Got OverflowError"),
    ],
)
def test_what_is_not_as_published_is_refused(file, line, message, tmp_path):
    write_geom_gcn(tmp_path, "texas", toy_arrays())
    lines = (tmp_path / file).read_text().splitlines()
    own, other = (text.split("\t")[0] for text in lines[1:3])
    lines[1] = line.format(id=own, other=other, zeros=",".join("0" * 80))
    (tmp_path / file).write_text("\n".join(lines))
    with pytest.raises(InputError, match=message):
        parse_geom_gcn(tmp_path)


def test_film_has_932_features(tmp_path):
    write_geom_gcn(tmp_path, "film", toy_arrays(width=932), film=True)
    text = (tmp_path / NODES).read_text()
    (tmp_path / NODES).write_text(text + "30\t5,932\t0\n")
    with pytest.raises(InputError, match=r"be as published\. Got IndexError: index 932"):
        parse_film(tmp_path)


def test_an_edge_to_nowhere(tmp_path):
    arrays = toy_arrays()
    arrays["edge_index"][1, 0] = 99
    write_geom_gcn(tmp_path, "texas", arrays)
    from cpgnn.datasets.dataset import as_dataset

    with pytest.raises(InputError, match=r"be from 0 to 29. Got 99"):
        as_dataset(tmp_path, parse_geom_gcn(tmp_path), "texas", "")


def test_an_array_is_missing(tmp_path):
    arrays = toy_arrays()
    write_platonov(tmp_path, "tolokers", arrays)
    held = dict(np.load(tmp_path / "tolokers.npz"))
    del held["edges"]
    np.savez(tmp_path / "tolokers.npz", **held)
    with pytest.raises(InputError, match=r"be as published. Got KeyError: 'edges'"):
        parse_platonov(tmp_path)


def test_a_label_that_would_not_fit(tmp_path):
    write_geom_gcn(tmp_path, "texas", toy_arrays())
    text = (tmp_path / NODES).read_text().rstrip()
    (tmp_path / NODES).write_text(text.rpartition("\t")[0] + "\t65536\n")
    with pytest.raises(InputError, match="A label must lie in 0 … 32,767"):
        parse_geom_gcn(tmp_path)


@pytest.mark.parametrize(("key", "what"), [("edges", "A node"), ("node_labels", "A label")])
def test_numbers_that_would_not_fit(key, what, tmp_path):
    write_platonov(tmp_path, "tolokers", toy_arrays())
    held = dict(np.load(tmp_path / "tolokers.npz"))
    held[key] = held[key].astype(np.int64)
    held[key].flat[0] += 2**32
    np.savez(tmp_path / "tolokers.npz", **held)
    with pytest.raises(InputError, match=f"{what} must lie in 0"):
        parse_platonov(tmp_path)


def test_few_or_full_columns_stay_dense(tmp_path):
    write_platonov(tmp_path, "minesweeper", toy_arrays(width=7))
    assert "features" in parse_platonov(tmp_path)


def test_citeseer_has_nodes_that_no_file_describes(tmp_path):
    arrays = toy_arrays(n=560, splits=2)
    write_planetoid(tmp_path, "citeseer", arrays, missing=3)
    read = parse_planetoid(tmp_path)
    missing = [505, 506, 507]  # the first test node is 504
    others = np.setdiff1d(np.arange(560), missing)
    X = features_of(read)
    assert not X[missing].any()
    assert not read["labels"][missing].any()
    np.testing.assert_array_equal(X[others], features_of(arrays)[others])
    np.testing.assert_array_equal(read["labels"][others], arrays["labels"][others])
    assert read["self_loops"].tolist() == [1, 4]


class Evil:
    def __reduce__(self):
        return print, ("this must never run",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_would_run_something_is_refused(protocol, tmp_path, capsys):
    write_planetoid(tmp_path, "cora", toy_arrays(n=560, splits=2))
    (tmp_path / "ind.cora.tx").write_bytes(pickle.dumps([1, Evil()], protocol=protocol))
    with pytest.raises(InputError, match="contain nothing but arrays and lists"):
        parse_planetoid(tmp_path)
    assert capsys.readouterr().out == ""


def test_bytes_that_are_no_pickle(tmp_path):
    (tmp_path / "file").write_bytes(b"<html>")
    with pytest.raises(InputError, match="A pickle must be whole"):
        check_pickle(tmp_path / "file")

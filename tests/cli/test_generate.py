"""`cpgnn generate`: a graph as files that the other commands read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cpgnn.io import read_graph_npz

SMALL = ("--classes", 3, "--class-size", 60, "--edges-per-node", 3, "--bootstrap-nodes", 20)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables(cpgnn, here):
    done = cpgnn("generate", "--out", "graph", *SMALL, "--homophily", 0.1)
    assert done.code == 0, done.err
    # a chain of 20, and 3 edges for each of the other 160 nodes
    assert "180 nodes, 499 edges, 3 classes, 100 features" in done.out
    assert "requested: 0.1" in done.out
    assert len(pd.read_csv("graph/edges.csv")) == 499
    assert pd.read_csv("graph/labels.csv")["label"].value_counts().tolist() == [60, 60, 60]
    assert pd.read_csv("graph/features.csv").shape == (180, 101)
    words = ["graph/edges.csv", "--labels", "graph/labels.csv", "--features", "graph/features.csv"]
    assert cpgnn("stats", *words).code == 0


def test_the_same_seed_gives_the_same_bytes(cpgnn, here):
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert cpgnn("generate", "--out", out, *SMALL, "--seed", seed).code == 0
    for file in ("edges.csv", "labels.csv", "features.csv"):
        a, b, c = ((here / out / file).read_bytes() for out in "abc")
        assert a == b
        assert a != c


def test_one_npz_without_features(cpgnn, here):
    done = cpgnn("generate", "--out", "graph", *SMALL, "--features", "none", "--npz")
    assert done.code == 0, done.err
    assert [path.name for path in (here / "graph").iterdir()] == ["graph.npz"]
    graph = read_graph_npz("graph/graph.npz")
    assert graph.num_edges == 499
    assert graph.features is None


def test_features_of_another_graph(cpgnn, here):
    labels = np.repeat(np.arange(3), 70)
    np.savez("other.npz", features=np.eye(3)[labels] * 7, labels=labels)
    done = cpgnn("generate", "--out", "graph", *SMALL, "--features", "other.npz")
    assert done.code == 0, done.err
    X = pd.read_csv("graph/features.csv").to_numpy()[:, 1:]
    y = pd.read_csv("graph/labels.csv")["label"].to_numpy()
    assert len(np.unique(np.column_stack([y, X.argmax(axis=1)]), axis=0)) == 3


def test_sparse_features_stay_sparse(cpgnn, here):
    labels = np.repeat(np.arange(3), 70)
    np.savez(
        "other.npz",
        labels=labels,
        features_data=np.ones(210, dtype=np.float32),
        features_indices=labels,
        features_indptr=np.arange(211),
        features_shape=np.array([210, 300]),
    )
    done = cpgnn("generate", "--out", "graph", *SMALL, "--features", "other.npz")
    assert done.code == 0, done.err
    assert "features.npz" in done.out
    words = ["graph/edges.csv", "--features", "graph/features.npz"]
    assert "300" in cpgnn("stats", *words).out


def test_the_other_classes_alike(cpgnn, here):
    """At h = 0 with two classes there is only one way; with five, --uniform flattens the rows."""
    size = ("--classes", 5, "--class-size", 400, "--features", "none", "--homophily", 0)
    for words, closest in ((["--uniform"], 0.25), (["--base", 4], 0.4)):
        done = cpgnn("generate", "--out", words[0], *size, *words, "--bootstrap", "authors")
        assert done.code == 0, done.err
        edges = pd.read_csv(f"{words[0]}/edges.csv")
        y = pd.read_csv(f"{words[0]}/labels.csv")["label"].to_numpy()
        step = np.abs(y[edges["source"]] - y[edges["target"]])
        assert (step == 0).sum() == 0
        beside = np.isin(step, (1, 4)).mean()  # two of the four other classes are beside
        assert beside == pytest.approx(2 * closest, abs=0.02)


def test_a_note_where_edges_are_missing(cpgnn, here):
    """At h = 1 the three bootstrap nodes cannot give three neighbours to a node of each class."""
    words = ("--class-size", 60, "--classes", 3, "--bootstrap-nodes", 3, "--edges-per-node", 3)
    done = cpgnn("generate", "--out", "graph", *words, "--homophily", 1, "--features", "none")
    assert done.code == 0, done.err
    assert "could reach fewer than 3 compatible nodes" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--homophily", "1.5"], "'--homophily' must lie in [0, 1]"),
        (["--features", "products"], "must be gaussian, none, ogbn-products or the path"),
        (["--features", "missing.npz"], "missing.npz: No such file"),
        (["--bootstrap", "other"], "'--bootstrap'"),
        (["--class-size", "1000000000"], "must fit into"),
        (["--classes", "1000000", "--class-size", "1"], "must fit into"),
        (["--edges-per-node", "1000000000"], "must fit into"),
        (["--class-size", "5"], "'--bootstrap-nodes' must be below the number of nodes"),
        (["--out", "full"], "The output folder must be new or empty"),
    ],
)
def test_what_goes_wrong_leaves_nothing(words, message, cpgnn, here):
    (here / "full").mkdir()
    (here / "full" / "file").write_text("")
    done = cpgnn("generate", "--out", "graph", *words)
    assert done.code == 2
    assert message in done.err
    assert sorted(path.name for path in here.iterdir()) == ["full"]


def test_types_and_directions(cpgnn, here):
    words = ("--classes", 3, "--class-size", 200, "--directed", "--relations", 2)
    done = cpgnn("generate", "--out", "graph", *words, "--features", "none")
    assert done.code == 0, done.err
    edges = pd.read_csv("graph/edges.csv")
    assert list(edges.columns) == ["source", "target", "type"]
    for number, name in enumerate(("type 1", "type 2"), start=1):
        rows = edges[edges["type"] == name]
        assert f"{name}: {len(rows):,} edges. Mean difference" in done.out
        y = pd.read_csv("graph/labels.csv")["label"].to_numpy()
        step = (y[rows["target"]] - y[rows["source"]]) % 3
        assert abs((step == number % 3).mean() - 0.2) < 0.05  # h = 0.2, moved on

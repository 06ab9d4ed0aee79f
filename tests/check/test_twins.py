"""Twins across the border: hashes against brute force, the rule, and the known leaks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn import Graph, Split, load_dataset
from cpgnn.check import check, check_loaded, find
from cpgnn.check.twins import coincidences, held_out_twins, row_groups, row_hashes
from cpgnn.io import read_graph


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_equal_rows_by_brute_force(seed, monkeypatch):
    monkeypatch.setattr("cpgnn.check.twins.BLOCK", 7)
    rng = np.random.default_rng(seed)
    M = rng.choice([0, 0, 1, 2, -0.5], (40, 3)).astype(np.float32)
    M[0] = -0.0
    for group in (row_groups(M), row_groups(sp.csr_array(M))):
        for i in range(40):
            for j in range(40):
                same = M[i].any() and (M[i] == M[j]).all()
                assert (group[i] == group[j] and group[i] >= 0) == same


def test_a_hash_knows_columns_from_values():
    M = np.array([[1, 2], [2, 1], [3, 0], [0, 3]], dtype=np.float32)
    assert len(np.unique(row_hashes(M))) == 4
    assert (row_hashes(M) == row_hashes(sp.csr_array(M))).all()


@pytest.mark.parametrize("seed", range(5))
def test_held_out_twins_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, c = 60, 3
    group = rng.integers(-1, 25, n)
    graph = Graph.from_edges([0], [1], num_nodes=n, labels=rng.integers(-1, c, n))
    order = rng.permutation(n)
    split = Split(order[:25], order[25:30], order[30:])
    found = held_out_twins(graph, split, group)
    y, agree, nodes = graph.labels, [], []
    for v in split.test:
        votes = [y[u] for u in split.train if group[u] == group[v] >= 0 and y[u] >= 0]
        if votes and y[v] >= 0:
            nodes.append(v)
            agree.append(np.bincount(votes, minlength=c).argmax() == y[v])
    assert found.nodes.tolist() == nodes
    assert found.num_held_out == (y[split.test] >= 0).sum()
    assert found.agreement == pytest.approx(np.mean(agree))
    known = y[y >= 0]
    same = (known[:, None] == known[None, :]).mean()
    assert found.chance == pytest.approx(same)


def copied(copies: int, n: int = 120, seed: int = 0) -> Graph:
    """A random graph; the first `copies` nodes get a second node with the same neighbours."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.08, 1)
    A = (upper | upper.T).astype(float)
    A = np.block([[A, A[:, :copies]], [A[:copies], A[:copies, :copies]]])
    y = rng.integers(0, 3, n)
    return Graph.from_scipy(sp.csr_array(A), labels=np.append(y, y[:copies]))


def codes(report):
    return {finding.code: finding for finding in report.findings}


def test_copies_across_the_border_are_a_problem():
    report = check(copied(60), compare=False)
    finding = codes(report)["twins-by-neighbours"]
    assert finding.severity == "problem"
    assert not report.clean
    assert finding.count >= 10
    assert len(finding.nodes) == 5


def test_copies_on_one_side_are_none():
    graph = copied(60)
    pairs = np.arange(60)
    rest = np.arange(60, 120)
    split = Split(np.concatenate([pairs, pairs + 120]), rest[:10], rest[10:])
    assert "twins-by-neighbours" not in codes(check(graph, split, compare=False))


def test_few_copies_are_a_note():
    found = codes(
        check(copied(9), Split(np.arange(60), [60, 61], np.arange(70, 129)), compare=False)
    )
    assert found["twins-by-neighbours"].severity == "note"


def test_one_shared_neighbour_is_ordinary():
    star = Graph.from_edges(np.zeros(50, int), np.arange(1, 51), labels=np.arange(51) % 2)
    assert "twins-by-neighbours" not in codes(check(star, compare=False))


@pytest.mark.parametrize("sparse", [False, True])
def test_copied_features(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4)).astype(np.float32)
    y = rng.integers(0, 2, 100)
    X, y = np.vstack([X, X]), np.append(y, y)
    graph = Graph.from_edges(
        np.arange(199),
        np.arange(1, 200),
        num_nodes=200,
        labels=y,
        features=sp.csr_array(X) if sparse else X,
    )
    assert codes(check(graph, compare=False))["twins-by-features"].severity == "risk"
    other = graph.with_features(rng.normal(size=(200, 4)))
    assert "twins-by-features" not in codes(check(other, compare=False))


def test_nodes_without_a_row_are_no_twins(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"n{i},{','.join(map(str, rng.normal(size=4)))}\n" for i in range(100))
    (tmp_path / "f.csv").write_text("id,a,b,c,d\n" + rows)
    edges = "".join(f"n{i},n{(i + 1) % 140}\n" for i in range(140))
    (tmp_path / "e.csv").write_text(edges)
    labels = "".join(f"n{i},{'x' if i < 100 else 'y'}\n" for i in range(140))
    (tmp_path / "l.csv").write_text(labels)
    loaded = read_graph(tmp_path / "e.csv", tmp_path / "l.csv", tmp_path / "f.csv")
    found = codes(check_loaded(loaded, compare=False))
    assert found["missing-features"].count == 40
    assert "twins-by-features" not in found


def test_coarse_features_are_equal_by_chance():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 5)).astype(np.float32)
    pairs = (X[:, None] == X[None]).all(axis=2).sum() / 400  # itself included
    assert coincidences(X) == pytest.approx(pairs, rel=0.1)
    assert coincidences(sp.csr_array(X)) == pytest.approx(coincidences(X))
    graph = Graph.from_edges([0], [1], num_nodes=400, labels=X[:, 0].astype(int), features=X)
    assert "twins-by-features" not in codes(check(graph, compare=False))


@pytest.mark.skipif("CPGNN_DATA" not in os.environ, reason="needs the published graphs")
@pytest.mark.parametrize(
    ("name", "leaks"),
    [
        ("squirrel", True),
        ("chameleon", True),
        ("squirrel_filtered", False),
        ("chameleon_filtered", False),
    ],
)
def test_known_leaks_are_found_and_the_filtered_graphs_are_clean(name, leaks):
    """Over all published splits, and over the split that `fit` would draw."""
    if not list(Path(os.environ["CPGNN_DATA"]).rglob(f"{name}.npz")):
        pytest.skip(f"CPGNN_DATA has no {name}.npz")
    dataset = load_dataset(name)
    for split in (None, *dataset.splits):
        findings = {finding.code: finding for finding in find(dataset.graph, split)}
        found = findings.get("twins-by-neighbours")
        assert (found is not None and found.severity == "problem") == leaks
        assert any(finding.counts for finding in findings.values()) == leaks

"""`cpgnn datasets` over two small data sets in a local folder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cpgnn.datasets import SPECS, Expected, Spec


@pytest.fixture
def local(tmp_path, monkeypatch):
    """Only 'texas', which is at hand, and 'cora', which is not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CPGNN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CPGNN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "deep").mkdir(parents=True)
    nodes = np.arange(40)
    np.savez(
        tmp_path / "data" / "deep" / "texas.npz",
        edge_index=np.stack([nodes[:-1], nodes[1:]]),  # a chain: every edge joins two classes
        self_loops=np.array([3]),
        labels=nodes % 2,
        features=np.eye(40, dtype=np.float32),
    )
    expected = Expected(nodes=40, edges=40, classes=2, features=40, splits=0, self_loops=1)
    far = Expected(nodes=1234, edges=99, classes=3, features=5)
    for name in list(SPECS):
        monkeypatch.delitem(SPECS, name)
    refused = ("http://127.0.0.1:9/cora.npz",)
    monkeypatch.setitem(SPECS, "texas", Spec("a test", (), lambda folder: {}, expected))
    monkeypatch.setitem(SPECS, "cora", Spec("far away", refused, lambda folder: {}, far))
    return tmp_path


def rows(text: str) -> set[str]:
    return {" ".join(line.split()) for line in text.splitlines()}


def test_the_list(cpgnn, local):
    done = cpgnn("datasets")
    assert done.code == 0, done.err
    path = local / "data" / "deep" / "texas.npz"
    lines = "\n".join(rows(done.out))
    assert "texas 40 39 40 2 40 0.000 0.025" in lines
    assert path.name in done.out
    assert "cora 1,234 – 99 3 5 – – download (far away)" in lines


def test_a_file_that_is_refused_does_not_hide_the_others(cpgnn, local):
    (local / "data" / "cora.npz").write_bytes(b"not an archive")
    done = cpgnn("datasets")
    assert done.code == 0, done.err
    lines = "\n".join(rows(done.out))
    assert "texas 40 39 40 2 40 0.000 0.025" in lines
    assert "cora 1,234 – 99 3 5 – –" in lines
    assert "rejected: see 'cpgnn datasets cora'" in " ".join(done.out.split())
    refused = cpgnn("datasets", "cora")
    assert refused.code == 2
    assert "cora.npz" in refused.err


def test_one_with_and_without_self_loops(cpgnn, local):
    done = cpgnn("datasets", "texas")
    assert done.code == 0, done.err
    assert {"nodes 40 40", "edges 39 40", "homophily ratio h 0.000 0.025"} <= rows(done.out)
    assert "Published splits: 0" in done.out


def test_files_that_fit_can_use(cpgnn, local):
    done = cpgnn("datasets", "texas", "--out", "texas")
    assert done.code == 0, done.err
    assert "edges.csv, features.npz, labels.csv" in done.out
    assert len(pd.read_csv("texas/labels.csv")) == 40
    words = ["texas/edges.csv", "--labels", "texas/labels.csv", "--features", "texas/features.npz"]
    done = cpgnn("stats", *words)
    assert {"nodes 40", "edges 39", "features 40", "h with self-loops 0.025"} <= rows(done.out)
    done = cpgnn("fit", *words, "--out", "run", "--prior", "mlp", "--layers", 1, "--epochs", 10)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cora"], "set CPGNN_DATA to a folder with cora.npz"),
        (["cor"], "Did you mean 'cora'?"),
        (["--out", "x"], "'--out' must come with the name of a data set"),
        (["texas", "--out", "data"], "The output folder must be new or empty"),
    ],
)
def test_what_goes_wrong(words, message, cpgnn, local, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    done = cpgnn("datasets", *words)
    assert done.code == 2
    assert message in done.err
    assert not (local / "x").exists()

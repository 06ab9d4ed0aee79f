"""`cpgnn predict` for the fitted graph and for nodes that arrive later."""

from __future__ import annotations

import pandas as pd

FIT = ("fit", "edges.csv", "--labels", "labels.csv", "--prior", "mlp", "--epochs", "40")
WITH = ("--features", "features.csv")


def test_without_edges_repeats_the_run(cpgnn, files):
    assert cpgnn(*FIT, *WITH, "--out", "run").code == 0
    done = cpgnn("predict", "run", "--out", "again.csv")
    assert done.code == 0, done.err
    assert (files / "again.csv").read_bytes() == (files / "run/predictions.csv").read_bytes()
    assert cpgnn("predict", "run", "--out", "again.parquet").code == 0
    table = pd.read_parquet("again.parquet")
    pd.testing.assert_frame_equal(table, pd.read_parquet("run/predictions.parquet"))


def later(files):
    """Two more nodes, each joined to three sellers, with features of their own."""
    edges = pd.read_csv("edges.csv", dtype=str)
    more = pd.DataFrame(
        [(new, old) for new in ("new1", "new2") for old in ("001", "003", "005")],
        columns=["source", "target"],
    )
    pd.concat([edges, more]).to_csv("later.csv", index=False)
    features = pd.read_csv("features.csv", dtype={"id": str})
    rows = features.head(2).assign(id=["new1", "new2"])
    pd.concat([features, rows]).to_csv("later_features.csv", index=False)


def test_nodes_that_arrive_later(cpgnn, files):
    later(files)
    assert cpgnn(*FIT, *WITH, "--layers", "1", "--out", "run").code == 0
    done = cpgnn(
        "predict", "run", "later.csv", "--features", "later_features.csv", "--out", "out.csv"
    )
    assert done.code == 0, done.err
    table = pd.read_csv("out.csv", dtype={"id": str}).set_index("id")
    assert len(table) == 82
    assert set(table.loc[["new1", "new2"], "class"]) <= {"buyer", "seller"}


def test_a_featureless_model_refuses_new_nodes(cpgnn, files):
    later(files)
    assert cpgnn(*FIT, "--layers", "1", "--out", "run").code == 0
    done = cpgnn("predict", "run", "later.csv", "--out", "out.csv")
    assert done.code == 2
    assert "cannot predict nodes it has not seen" in done.err
    assert "Traceback" not in done.err
    assert not (files / "out.csv").exists()

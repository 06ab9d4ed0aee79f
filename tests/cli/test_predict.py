"""`cpgnn predict` for the fitted graph and for nodes that arrive later."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

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


def fitted(cpgnn, *more):
    done = cpgnn(*FIT, *WITH, "--layers", "1", "--out", "run", *more)
    assert done.code == 0, done.err


def predict(cpgnn, features="later_features.csv"):
    return cpgnn("predict", "run", "later.csv", "--features", features, "--out", "out.csv")


def test_known_nodes_keep_their_label_and_split(cpgnn, files):
    later(files)
    fitted(cpgnn)
    assert predict(cpgnn).code == 0
    keep = ["label", "split"]
    one, two = (
        pd.read_csv(name, dtype=str, keep_default_na=False).set_index("id")[keep]
        for name in ("run/predictions.csv", "out.csv")
    )
    pd.testing.assert_frame_equal(two.loc[one.index], one)
    assert (two.loc[["new1", "new2"]] == "").all(axis=None)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_features_are_matched_by_name(cpgnn, files, kind):
    """Columns in another order, and one more, change nothing."""
    later(files)
    fitted(cpgnn)
    assert predict(cpgnn).code == 0
    expected = (files / "out.csv").read_bytes()
    table = pd.read_csv("later_features.csv", dtype={"id": str})
    table = table[["id", "x3", "x0", "x4", "x2", "x1"]].assign(shoe=1.0)
    if kind == "csv":
        table.to_csv("other.csv", index=False)
    elif kind == "parquet":
        table.to_parquet("other.parquet")
    else:
        names = np.array(table.columns[1:].tolist())
        X = table.iloc[:, 1:].to_numpy()
        ids = np.array(table["id"].tolist())
        np.savez("other.npz", features=X, feature_names=names, node_ids=ids)
    done = predict(cpgnn, f"other.{kind}")
    assert done.code == 0, done.err
    assert "does not know 'shoe'; not used" in done.err
    assert (files / "out.csv").read_bytes() == expected


def test_a_missing_feature_is_named(cpgnn, files):
    later(files)
    fitted(cpgnn)
    table = pd.read_csv("later_features.csv", dtype={"id": str})
    table.rename(columns={"x3": "x3_"}).to_csv("other.csv", index=False)
    done = predict(cpgnn, "other.csv")
    assert done.code == 2
    assert "none called 'x3', but 'x3_'" in done.err
    assert "Is 'x3_' meant to be 'x3'?" in done.err


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_without_names_columns_count_by_position(cpgnn, files, kind):
    later(files)
    fitted(cpgnn)
    assert predict(cpgnn).code == 0
    expected = (files / "out.csv").read_bytes()
    table = pd.read_csv("later_features.csv", dtype={"id": str})
    for width, code in ((6, 0), (5, 2)):
        part = table.iloc[:, :width]
        if kind == "csv":
            part.to_csv("other.csv", index=False, header=False)
        else:
            X, ids = part.iloc[:, 1:].to_numpy(), np.array(part["id"].tolist())
            np.savez("other.npz", features=X, node_ids=ids)
        done = predict(cpgnn, f"other.{kind}")
        assert done.code == code, done.err
    assert "the 5 columns that the model was fitted with. Got 4" in done.err
    assert (files / "out.csv").read_bytes() == expected


def test_categories_and_medians_are_those_of_the_fit(cpgnn, files):
    """The later file alone would give other categories, other medians, and text for a number."""
    table = pd.read_csv("features.csv", dtype={"id": str})
    table["size"] = np.where(np.arange(80) % 2, "1", "large")
    table["x1"] = table["x1"].where(np.arange(80) > 5)
    table.to_csv("features.csv", index=False)
    later(files)
    fitted(cpgnn, "--one-hot", "--impute", "median")
    rows = pd.read_csv("later_features.csv", dtype=str)
    median = pd.read_csv("features.csv")["x1"].astype(np.float32).median()
    rows["size"] = "1"
    rows.loc[:40, "x1"] = ""
    rows.to_csv("gaps.csv", index=False)
    done = predict(cpgnn, "gaps.csv")
    assert done.code == 0, done.err
    assert "43 missing values in 1 column ('x1') were filled" in done.err
    expected = pd.read_csv("out.csv")
    rows.loc[:40, "x1"] = repr(float(median))
    rows[["id", "size", *[f"x{i}" for i in (4, 3, 2, 1, 0)]]].to_csv("whole.csv", index=False)
    assert predict(cpgnn, "whole.csv").code == 0
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), expected)
    rows.loc[3:4, "size"] = ["tiny", "vast"]
    rows.to_csv("unseen.csv", index=False)
    done = predict(cpgnn, "unseen.csv")
    assert done.code == 0
    assert "2 cells of column 'size' hold a value that the model was not fitted with" in done.err
    assert "('tiny', 'vast')" in done.err

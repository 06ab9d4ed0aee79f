"""`cpgnn fit` from files to a folder."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

FAST = ("--prior", "mlp", "--layers", "1", "--epochs", "40")


def fit(cpgnn, *more):
    return cpgnn(
        "fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv", *FAST, *more
    )


def test_writes_everything(cpgnn, files):
    done = fit(cpgnn, "--out", "run")
    assert done.code == 0, done.err
    written = {path.name for path in (files / "run").iterdir()}
    assert written == {
        "predictions.csv",
        "predictions.parquet",
        "review.csv",
        "compatibility.csv",
        "edge_frequency.csv",
        "edge_frequency_intervals.csv",
        "metrics.json",
        "history.csv",
        "manifest.json",
        "config.json",
        "model",
        "graph.npz",
        "report.html",
    }
    table = pd.read_csv("run/predictions.csv", dtype={"id": str}, keep_default_na=False)
    assert list(table.columns) == ["id", "class", "label", "split", "p_buyer", "p_seller"]
    assert len(table) == 80
    assert "007" in set(table["id"])
    np.testing.assert_allclose(table["p_buyer"] + table["p_seller"], 1, atol=1e-9)
    likely = np.where(table["p_buyer"] > table["p_seller"], "buyer", "seller")
    assert (table["class"] == likely).all()
    assert set(table["split"]) == {"train", "val", "test", ""}
    assert (table["label"] == "").sum() == 40
    assert ((table["split"] == "") == (table["label"] == "")).all()
    pd.testing.assert_frame_equal(pd.read_parquet("run/predictions.parquet"), table)
    frequency = pd.read_csv("run/edge_frequency.csv", index_col="class").to_numpy()
    np.testing.assert_allclose(frequency.sum(axis=1), 1)
    assert np.diagonal(frequency).max() < 0.5, "every edge joins opposites"


def test_scores_are_those_of_the_test_nodes(cpgnn, files):
    assert fit(cpgnn, "--out", "run").code == 0
    table = pd.read_csv("run/predictions.csv", keep_default_na=False)
    held_out = table[table["split"] == "test"]
    scores = json.loads((files / "run/metrics.json").read_text())
    accuracy = scores["test"]["accuracy"]
    assert accuracy["n"] == len(held_out) == 8
    assert accuracy["value"] == pytest.approx((held_out["class"] == held_out["label"]).mean())
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]


def test_the_same_seed_gives_the_same_bytes(cpgnn, files):
    assert fit(cpgnn, "--out", "one", "--seed", "3").code == 0
    assert fit(cpgnn, "--out", "two", "--seed", "3").code == 0
    assert fit(cpgnn, "--out", "three", "--seed", "4").code == 0
    for name in ("predictions.csv", "predictions.parquet", "edge_frequency.csv", "history.csv"):
        one, two = (files / run / name for run in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), name
    assert (files / "one/predictions.csv").read_bytes() != (
        files / "three/predictions.csv"
    ).read_bytes()


def test_test_labels_do_not_reach_the_model(cpgnn, files):
    labels = pd.read_csv("labels.csv", dtype=str)
    labels["split"] = np.where(
        np.arange(40) < 20, "train", np.where(np.arange(40) < 30, "val", "test")
    )
    labels.to_csv("labels.csv", index=False)
    assert fit(cpgnn, "--out", "one").code == 0
    swap = {"buyer": "seller", "seller": "buyer"}
    test = labels["split"] == "test"
    labels.loc[test, "label"] = labels.loc[test, "label"].map(swap)
    labels.to_csv("labels.csv", index=False)
    assert fit(cpgnn, "--out", "two").code == 0
    one, two = (pd.read_csv(f"{run}/predictions.csv") for run in ("one", "two"))
    pd.testing.assert_frame_equal(one.drop(columns="label"), two.drop(columns="label"))


def test_refit_uses_every_label_and_keeps_the_scores(cpgnn, files):
    assert fit(cpgnn, "--out", "plain").code == 0
    done = fit(cpgnn, "--out", "again", "--refit")
    assert done.code == 0, done.err
    assert "refitted" in done.out
    plain, again = (
        json.loads((files / run / "metrics.json").read_text()) for run in ("plain", "again")
    )
    assert plain["test"] == again["test"]
    one, two = (pd.read_csv(f"{run}/predictions.csv") for run in ("plain", "again"))
    assert not np.allclose(one["p_buyer"], two["p_buyer"])


def test_positive_class_adds_a_ranked_review_list(cpgnn, files):
    done = fit(cpgnn, "--out", "run", "--positive", "buyer")
    assert done.code == 0
    assert "ROC-AUC of buyer" in done.out
    assert "precision at" in done.out
    review = pd.read_csv("run/review.csv", dtype={"id": str})
    table = pd.read_csv("run/predictions.csv", dtype={"id": str}, keep_default_na=False)
    assert set(review["id"]) == set(table.loc[table["label"] == "", "id"])
    assert review["p_buyer"].is_monotonic_decreasing
    assert review["rank"].tolist() == list(range(1, 41))


def test_the_positive_class_is_the_one_that_average_precision_chooses_by(cpgnn, files):
    by = ("--select-by", "average-precision", "--positive")
    for positive in ("buyer", "seller"):
        assert fit(cpgnn, "--out", positive, *by, positive).code == 0
        table = pd.read_csv(f"{positive}/predictions.csv", keep_default_na=False)
        val = table[table["split"] == "val"]
        expected = average_precision_score(val["label"] == positive, val[f"p_{positive}"])
        kept = json.loads((files / positive / "metrics.json").read_text())["kept_epoch"]
        assert kept["score"] == pytest.approx(expected, abs=1e-6)


def test_auto_names_its_choice_and_its_trials(cpgnn, files):
    done = cpgnn("fit", "edges.csv", "--labels", "labels.csv", "--out", "run", "--epochs", "20")
    assert done.code == 0, done.err
    trials = json.loads((files / "run/metrics.json").read_text())["trials"]
    assert {trial["candidate"] for trial in trials} == {
        "MLP-1",
        "MLP-2",
        "Cheby-1",
        "Cheby-2",
        "LINK-1",
        "Cheby-1, dropout 0.5",
        "Cheby-2, dropout 0.5",
    }
    assert trials[0] == max(trials, key=lambda trial: trial["score"] + trial["mean"])
    assert f"Model: {trials[0]['candidate']}" in done.out


def test_auto_says_how_many_predictions_it_learned_from(cpgnn, files):
    """Three classes: with two, one of them is what people look for, and nothing is predicted."""
    labels = pd.read_csv("labels.csv", dtype=str)
    labels["label"] = [("buyer", "seller", "broker")[i % 3] for i in range(len(labels))]
    labels.to_csv("labels.csv", index=False)
    words = ("fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    done = cpgnn(*words, "--epochs", "20", "--out", "run")
    assert done.code == 0, done.err
    count = json.loads((files / "run/metrics.json").read_text())["self_trained"]
    assert 0 < count <= 28  # half of the 40 without a label and of those held out
    assert f"trained again with {count} confident predictions as labels" in done.out
    assert "confident predictions used as labels" in (files / "run/report.html").read_text()
    done = cpgnn(*words, "--epochs", "20", "--refit", "--out", "again")
    assert done.code == 0, done.err
    assert json.loads((files / "again/metrics.json").read_text())["self_trained"] == 0
    assert "trained again" not in done.out


def test_parquet_in_is_the_same_as_csv_in(cpgnn, files):
    for name in ("edges", "labels", "features"):
        dtype = {"source": str, "target": str, "id": str}
        pd.read_csv(f"{name}.csv", dtype=dtype).to_parquet(f"{name}.parquet")
    assert fit(cpgnn, "--out", "csv").code == 0
    done = cpgnn(
        *("fit", "edges.parquet", "--labels", "labels.parquet", "--features", "features.parquet"),
        *(*FAST, "--out", "parquet"),
    )
    assert done.code == 0, done.err
    one, two = (pd.read_csv(f"{run}/predictions.csv") for run in ("csv", "parquet"))
    pd.testing.assert_frame_equal(one, two)


def test_refit_leaves_the_record_of_the_measured_model(cpgnn, files):
    assert fit(cpgnn, "--out", "plain").code == 0
    assert fit(cpgnn, "--out", "again", "--refit").code == 0
    for name in ("metrics.json", "history.csv"):
        plain, again = (files / run / name for run in ("plain", "again"))
        assert plain.read_bytes() == again.read_bytes(), name
    assert cpgnn("predict", "again", "--out", "p.csv").code == 0
    assert (files / "p.csv").read_bytes() == (files / "again/predictions.csv").read_bytes()


def test_options_keep_their_types(cpgnn, files):
    assert fit(cpgnn, "--out", "run", "--seed", "3", "--test", "0.3").code == 0
    options = json.loads((files / "run/config.json").read_text())["options"]
    assert options["seed"] == 3
    assert options["test"] == 0.3
    assert options["refit"] is False
    assert options["edges"] == "edges.csv"


def test_test_beside_a_split_column_is_said_to_be_unused(cpgnn, files):
    labels = pd.read_csv("labels.csv", dtype=str)
    labels.assign(split=["train", "val", "test", "train"] * 10).to_csv("labels.csv", index=False)
    assert "--test has no effect" in fit(cpgnn, "--out", "one", "--test", "0.3").err
    assert "--test" not in fit(cpgnn, "--out", "two").err


def test_no_better_than_the_largest_class(cpgnn, files):
    """Labels that are drawn at random, nine in ten the same."""
    rng = np.random.default_rng(0)
    labels = pd.read_csv("labels.csv", dtype=str)
    labels["label"] = np.where(rng.random(40) < 0.15, "rare", "usual")
    labels.to_csv("labels.csv", index=False)
    assert "no better than always predicting the largest class" in fit(cpgnn, "--out", "run").out


def test_a_model_that_cannot_predict_later_nodes_says_so(cpgnn, files):
    words = ("fit", "edges.csv", "--labels", "labels.csv", *FAST)
    assert "cannot be used for nodes that come later" in cpgnn(*words, "--out", "none").out
    assert "that come later" not in fit(cpgnn, "--out", "mlp").out
    assert "a model with LINK" in fit(cpgnn, "--out", "link", "--prior", "link").out


def test_a_class_with_one_label_does_not_stop_a_fit(cpgnn, files):
    with (files / "labels.csv").open("a") as labels:
        labels.write("079,rare\n078,odd\n")
    words = ("fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
    brief = ("--prior", "mlp", "--layers", "1", "--epochs", "20")
    done = cpgnn(*words, *brief, "--out", "run")
    assert done.code == 0, done.err
    assert "The classes 'odd', 'rare' have only one labelled node" in done.err
    assert "use --merge-rare 2" in done.err
    table = pd.read_csv("run/predictions.csv", dtype={"id": str}).set_index("id")
    assert set(table.loc[["078", "079"], "split"]) == {"train"}
    metrics = json.loads((files / "run/metrics.json").read_text())
    assert metrics["test"]["per_class"]["rare"]["recall"]["n"] == 0
    assert cpgnn("report", "run", "--out", "r.html").code == 0
    done = cpgnn(*words, *brief, "--merge-rare", "2", "--out", "merged")
    assert done.code == 0, done.err
    assert "2 classes with fewer than 2 labels were merged into 'other'" in done.err
    classes = pd.read_csv("merged/predictions.csv", dtype=str)["class"]
    assert set(classes) <= {"buyer", "other", "seller"}

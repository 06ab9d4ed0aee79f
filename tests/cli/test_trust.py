"""What `cpgnn fit` says about how sure it is: intervals, calibration, flags."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cpgnn.run.load import load_run

FAST = ("--prior", "mlp", "--layers", "1", "--epochs", "40")


def fit(cpgnn, *more):
    return cpgnn(
        "fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv", *FAST, *more
    )


def all_labels(folder, copies=1):
    """Every node labelled, one in eight wrongly, as many times over: 80 nodes a component."""
    edges, features = (pd.read_csv(folder / f"{x}.csv", dtype=str) for x in ("edges", "features"))
    ids = features["id"]
    parts = [(edges + f".{k}", features.assign(id=ids + f".{k}")) for k in range(copies)]
    pd.concat([part[0] for part in parts]).to_csv(folder / "edges.csv", index=False)
    pd.concat([part[1] for part in parts]).to_csv(folder / "features.csv", index=False)
    names = pd.concat([part[1]["id"] for part in parts])
    wrong = np.random.default_rng(0).random(len(names)) < 1 / 8
    kinds = np.where((names.str[:3].astype(int) % 2 == 0) ^ wrong, "buyer", "seller")
    pd.DataFrame({"id": names, "label": kinds}).to_csv(folder / "labels.csv", index=False)


def test_intervals_are_printed_and_written(cpgnn, files):
    done = fit(cpgnn, "--out", "run")
    assert done.code == 0, done.err
    assert "90 % interval" in done.out
    table = pd.read_csv("run/edge_frequency_intervals.csv")
    assert list(table["class"]) == ["buyer", "buyer", "seller", "seller"]
    wide = pd.read_csv("run/edge_frequency.csv", index_col="class")
    np.testing.assert_allclose(table["share"], wide.to_numpy().ravel())
    assert ((table["low"] <= table["share"]) & (table["share"] <= table["high"])).all()
    held = json.loads((files / "run/metrics.json").read_text())["edge_frequency"]
    assert held["method"] == "known edges and predictions"
    np.testing.assert_allclose(np.ravel(held["low"]), table["low"])
    again = load_run("run").classifier.edge_frequency_interval_
    np.testing.assert_allclose(again.high.ravel(), table["high"])
    assert again.method == held["method"]


def test_too_few_validation_nodes_leave_the_probabilities_alone(cpgnn, files):
    done = fit(cpgnn, "--out", "run")
    assert "Too few held-out nodes (" in done.out
    held = json.loads((files / "run/metrics.json").read_text())["calibration"]
    assert (held["temperature"], held["calibration_nodes"]) == (1, 0)
    assert held["before"] == held["after"]


def test_probabilities_are_calibrated_and_the_temperature_is_kept(cpgnn, files):
    all_labels(files, copies=6)
    done = fit(cpgnn, "--out", "run")
    assert done.code == 0, done.err
    assert "before they were calibrated, by" in done.out
    held = json.loads((files / "run/metrics.json").read_text())["calibration"]
    run = load_run("run")
    assert run.classifier.scaling_ == (held["temperature"], held["contrast"]) != (1, 0)
    assert len(run.classifier.calibration_) == 30
    table = pd.read_csv("run/predictions.csv", keep_default_na=False)
    R = run.classifier.logits().astype(float)
    R *= np.abs(R[:, 1:] - R[:, :1]).clip(2e-6) ** held["contrast"] / 2 ** held["contrast"]
    R /= held["temperature"]
    expected = 1 / (1 + np.exp(R[:, 1] - R[:, 0]))
    np.testing.assert_allclose(table["p_buyer"], expected, rtol=1e-6)
    assert fit(cpgnn, "--out", "raw", "--no-calibrate").code == 0
    assert load_run("raw").classifier.scaling_ == (1, 0)


def test_refitting_keeps_what_needs_held_out_labels(cpgnn, files):
    all_labels(files, copies=6)
    assert fit(cpgnn, "--out", "one").code == 0
    assert fit(cpgnn, "--out", "two", "--refit").code == 0
    one, two = (load_run(name).classifier for name in ("one", "two"))
    assert one.scaling_ == two.scaling_
    np.testing.assert_array_equal(one.edge_frequency_, two.edge_frequency_)
    assert not np.array_equal(one.logits(), two.logits())


def test_a_threshold_is_chosen_on_validation_nodes_and_kept(cpgnn, files):
    all_labels(files, copies=2)
    done = fit(cpgnn, "--out", "run", "--positive", "buyer", "--min-recall", "0.9")
    assert done.code == 0, done.err
    assert "Flagged as buyer at a probability of" in done.out
    flag = json.loads((files / "run/metrics.json").read_text())["flag"]
    table = pd.read_parquet("run/predictions.parquet")  # numbers to the bit
    assert ((table["p_buyer"] >= flag["value"]) == (table["flagged"] == "yes")).all()
    for part, scores in (("val", flag["validation"]), ("test", flag["test"])):
        mine = table[table["split"] == part]
        hit = mine["label"] == "buyer"
        recall = (mine["flagged"] == "yes")[hit].mean()
        measured = scores["recall"] if part == "val" else scores["recall"]["value"]
        assert measured == pytest.approx(recall)
    assert flag["validation"]["recall"] >= 0.9
    assert cpgnn("predict", "run", "--out", "again.csv").code == 0
    again = pd.read_csv("again.csv", keep_default_na=False)
    assert (again["flagged"] == table["flagged"]).all()
    assert cpgnn("predict", "run", "--out", "all.csv", "--threshold", "0").code == 0
    assert (pd.read_csv("all.csv")["flagged"] == "yes").all()


def test_what_a_threshold_cannot_be(cpgnn, files):
    done = fit(cpgnn, "--out", "run", "--min-precision", "80")
    assert done.code == 2
    assert "Did you mean 0.8?" in done.err
    done = fit(cpgnn, "--out", "run", "--min-precision", "0.8", "--best-f1")
    assert done.code == 2
    assert "must have one goal. Got best F1 and precision ≥ 0.8" in done.err
    assert not (files / "run").exists()

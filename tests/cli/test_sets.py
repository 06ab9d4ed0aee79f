"""`--coverage`: sets of classes in the table, on the page, in the run and in explanations."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cpgnn import load_run

FAST = ("--epochs", 40, "--prior", "mlp", "--layers", 1, "--threads", 1)


@pytest.fixture
def fitted(cpgnn, files):
    words = ("edges.csv", "--labels", "labels.csv", "--features", "features.csv", "--out", "run")
    done = cpgnn("fit", *words, *FAST, "--coverage", 0.8, "--test", 0.3)
    assert done.code == 0, done.err
    return done


def test_sets_are_written_shown_and_kept(cpgnn, files, fitted):
    table = pd.read_csv("run/predictions.csv", dtype=str, keep_default_na=False)
    names = {name.removeprefix("p_") for name in table.columns if name.startswith("p_")}
    for row in table.itertuples():
        found = [name for name in row.set.split("|") if name]
        assert set(found) <= names
        assert int(row.set_size) == len(found)
    run = load_run("run")
    np.testing.assert_array_equal(run.sets.texts(), table["set"])
    kept = json.loads((files / "run/metrics.json").read_text())["sets"]
    assert kept["coverage"] == 0.8
    test = table[table["split"] == "test"]
    inside = [row.label in row.set.split("|") for row in test.itertuples()]
    assert kept["held_out"]["value"] == pytest.approx(np.mean(inside))
    assert "For 80 % of all nodes, the node's set contains its class" in fitted.out
    assert "Which classes remain for a node?" in (files / "run/report.html").read_text()


def test_explanations_and_later_predictions_use_them(cpgnn, files, fitted):
    table = pd.read_csv("run/predictions.csv", dtype=str, keep_default_na=False)
    told = cpgnn("explain", "run", table["id"][0])
    assert "by a promise kept 80 % of the time" in told.out
    again = cpgnn("predict", "run", "--out", "again.csv")
    assert again.code == 0, again.err
    later = pd.read_csv("again.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_series_equal(later["set"], table["set"])


def test_a_damaged_promise_is_refused_by_name(cpgnn, files, fitted):
    path = files / "run/metrics.json"
    record = json.loads(path.read_text())
    record["sets"]["thresholds"] = [0.5]
    path.write_text(json.dumps(record))
    done = cpgnn("predict", "run", "--out", "again.csv")
    assert done.code == 2
    assert "sets: they should be of 2 classes" in done.err


@pytest.mark.parametrize(("value", "hint"), [(90, "Did you mean 0.9?"), (0, ""), (1, "")])
def test_coverage_must_be_a_share(cpgnn, files, value, hint):
    done = cpgnn("fit", "edges.csv", "--labels", "labels.csv", "--out", "run", "--coverage", value)
    assert done.code == 2
    assert "'--coverage' must lie in (0, 1)" in done.err
    assert hint in done.err
    assert not (files / "run").exists()


def test_a_promise_per_class_needs_a_promise(cpgnn, files):
    words = ("fit", "edges.csv", "--labels", "labels.csv", "--out", "run")
    done = cpgnn(*words, "--coverage-per", "class")
    assert done.code == 2
    assert (
        "'--coverage-per' must come with '--coverage'. Got it alone. Add --coverage 0.9."
        in done.err
    )
    assert not (files / "run").exists()


def test_other_kinds_of_nodes_do_not_count_in_the_mean_size(cpgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    uses = [(f"a{i}", f"d{10 * y[i] + rng.integers(10)}", "uses") for i in range(60)]
    pays = [(f"a{i}", f"a{rng.choice(np.flatnonzero(y != y[i]))}", "pays") for i in range(60)]
    names = ["source", "target", "type"]
    pd.DataFrame(uses + pays, columns=names).to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"id": [f"a{i}" for i in range(60)], "label": y})
    labels.to_csv("labels.csv", index=False)
    words = ("edges.csv", "--labels", "labels.csv", "--out", "run", "--coverage", 0.8, "--fast")
    done = cpgnn("fit", *words, "--threads", 1)
    assert done.code == 0, done.err
    table = pd.read_csv("run/predictions.csv")
    kept = json.loads((tmp_path / "run/metrics.json").read_text())["sets"]
    assert len(table) == 60
    assert kept["mean_size"] == pytest.approx(table["set_size"].mean())
    assert "uses (shared), γ = " in (tmp_path / "run/report.html").read_text()

"""`cpgnn predict` for the fitted graph and for nodes that arrive later."""

from __future__ import annotations

from pathlib import Path

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


def test_nodes_that_arrive_later(cpgnn, files, run):
    later(files)
    done = predict(cpgnn)
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


def predict(cpgnn, features="later_features.csv"):
    return cpgnn("predict", "run", "later.csv", "--features", features, "--out", "out.csv")


def test_known_nodes_keep_their_label_and_split(cpgnn, files, run):
    later(files)
    assert predict(cpgnn).code == 0
    keep = ["label", "split"]
    one, two = (
        pd.read_csv(name, dtype=str, keep_default_na=False).set_index("id")[keep]
        for name in ("run/predictions.csv", "out.csv")
    )
    pd.testing.assert_frame_equal(two.loc[one.index], one)
    assert (two.loc[["new1", "new2"]] == "").all(axis=None)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_features_are_matched_by_name(cpgnn, files, kind, run):
    """Columns in another order, and one more, change nothing."""
    later(files)
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
    assert "was not fitted with 'shoe'; not used" in done.err
    assert (files / "out.csv").read_bytes() == expected


def test_a_missing_feature_is_named(cpgnn, files, run):
    later(files)
    table = pd.read_csv("later_features.csv", dtype={"id": str})
    table.rename(columns={"x3": "x3_"}).to_csv("other.csv", index=False)
    done = predict(cpgnn, "other.csv")
    assert done.code == 2
    assert "none called 'x3', but 'x3_'" in done.err
    assert "Is 'x3_' meant to be 'x3'?" in done.err


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_without_names_columns_count_by_position(cpgnn, files, kind, run):
    later(files)
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


def test_categories_and_medians_are_those_of_the_fit(cpgnn, files, fit_words):
    """The later file alone would give other categories, other medians, and text for a number."""
    table = pd.read_csv("features.csv", dtype={"id": str})
    table["size"] = np.where(np.arange(80) % 2, "1", "large")
    table["x1"] = table["x1"].where(np.arange(80) > 5)
    table.to_csv("features.csv", index=False)
    later(files)
    done = cpgnn(*fit_words, "--one-hot", "--impute", "median", "--out", "run")
    assert done.code == 0, done.err
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


def lines(path, *rows):
    path.write_text("\n".join(rows) + "\n")


def test_later_edges_are_added_to_the_fitted_graph(cpgnn, files, run):
    """One later edge between known nodes: as if the fit's file had had it, and nothing else."""
    lines(files / "more.csv", "source,target", "001,new1", "003,005")
    features = (files / "features.csv").read_text().splitlines()
    lines(files / "more_features.csv", features[0], features[2].replace("001,", "new1,", 1))
    more = ("predict", "run", "more.csv", "--features", "more_features.csv", "--out")
    done = cpgnn(*more, "some.csv")
    assert done.code == 0, done.err
    assert "1 new node and 2 new edges were added to the 80 nodes" in done.err
    assert "Of 3 known nodes in the later files, 0 took the features given there and 3" in done.err
    some = pd.read_csv("some.csv", dtype={"id": str}).set_index("id")
    assert set(some.index) == {"001", "003", "005", "new1"}
    assert cpgnn(*more, "all.csv", "--all").code == 0
    every = pd.read_csv("all.csv", dtype={"id": str}).set_index("id")
    assert len(every) == 81

    edges = (files / "edges.csv").read_text().splitlines()
    lines(files / "whole.csv", *edges, "001,new1", "003,005")
    lines(files / "whole_features.csv", *features, features[2].replace("001,", "new1,", 1))
    whole = ("predict", "run", "whole.csv", "--features", "whole_features.csv", "--out", "w.csv")
    assert cpgnn(*whole, "--replace-graph").code == 0
    expected = pd.read_csv("w.csv", dtype={"id": str}).set_index("id")
    p = [name for name in expected if name.startswith("p_")]
    np.testing.assert_allclose(every[p], expected[p].loc[every.index], atol=1e-6)
    np.testing.assert_allclose(some[p], expected[p].loc[some.index], atol=1e-6)
    done = cpgnn(*whole)  # the whole graph again adds nothing
    assert "1 new node and 2 new edges were added" in done.err


def test_later_edges_between_known_nodes_need_no_features(cpgnn, files, run):
    lines(files / "more.csv", "source,target", "001,003")
    done = cpgnn("predict", "run", "more.csv", "--out", "out.csv")
    assert done.code == 0, done.err
    assert "known node" not in done.err, "no features were given"
    assert len(pd.read_csv("out.csv")) == 2
    lines(files / "more.csv", "source,target", "001,new1")
    done = cpgnn("predict", "run", "more.csv", "--out", "other.csv")
    assert done.code == 0, done.err
    assert "1 new node without features got the medians of the fit" in done.err


def test_the_whole_graph_can_be_another(cpgnn, files, run):
    """--replace-graph: only what the files say counts."""
    lines(files / "more.csv", "source,target", "001,003")
    done = cpgnn("predict", "run", "more.csv", "--replace-graph", "--out", "out.csv")
    assert done.code == 2, "no features anywhere"
    rows = (files / "features.csv").read_text().splitlines()
    lines(files / "two.csv", *(row for row in rows if row[:3] in ("id,", "001", "003")))
    with_two = ("predict", "run", "more.csv", "--features", "two.csv", "--out")
    assert cpgnn(*with_two, "alone.csv", "--replace-graph").code == 0
    assert cpgnn(*with_two, "added.csv").code == 0
    alone, added = (pd.read_csv(name).filter(like="p_") for name in ("alone.csv", "added.csv"))
    assert np.abs(alone - added).to_numpy().max() > 1e-3


def test_another_graph_is_looked_at_for_drift(cpgnn, files, run):
    again = ("predict", "run", "edges.csv", "--replace-graph", "--out")
    done = cpgnn(*again, "same.csv", "--features", "features.csv")
    assert done.code == 0, done.err
    assert "not like those of the fit" not in done.err
    features = pd.read_csv("features.csv", dtype={"id": str})
    name = features.columns[1]
    features.assign(**{name: features[name] + 50}).to_csv("moved.csv", index=False)
    done = cpgnn(*again, "other.csv", "--features", "moved.csv")
    assert done.code == 0, done.err
    assert f"The nodes of this graph are not like those of the fit: feature '{name}'" in done.err


def test_a_model_that_knows_nodes_by_position_takes_later_edges_but_no_nodes(cpgnn, files):
    assert cpgnn(*FIT, "--layers", "1", "--out", "run").code == 0
    lines(files / "more.csv", "source,target", "001,003")
    assert cpgnn("predict", "run", "more.csv", "--out", "out.csv").code == 0
    lines(files / "more.csv", "source,target", "001,new1")
    done = cpgnn("predict", "run", "more.csv", "--out", "other.csv")
    assert done.code == 2
    assert "cannot predict nodes it has not seen" in done.err


def exported(files, frame, name, **columns):
    table = pd.read_csv(frame, dtype=str).rename(columns=columns)
    table.insert(0, "row", range(1, len(table) + 1))
    table.assign(memo="-").to_csv(files / name, index=False)


def test_the_columns_of_the_fit_are_remembered(cpgnn, files):
    """The second way: the same files with the columns named as the rules know them."""
    later(files)
    ends = {"source": "giver", "target": "taker"}
    for name in ("edges", "later"):
        exported(files, f"{name}.csv", f"x_{name}.csv", **ends)
    for name in ("labels", "features", "later_features"):
        exported(files, f"{name}.csv", f"x_{name}.csv", id="account", label="kind")
    words = "fit x_edges.csv --labels x_labels.csv --features x_features.csv --out x_run"
    chosen = "--source giver --target taker --id account --label kind --ignore row,memo"
    brief = ("--prior", "mlp", "--layers", "1", "--epochs", "40")
    assert cpgnn(*words.split(), *chosen.split(), *brief).code == 0
    assert cpgnn(*FIT, *WITH, "--layers", "1", "--out", "run").code == 0
    with_features = ("--features", "later_features.csv")
    assert cpgnn("predict", "run", "later.csv", *with_features, "--out", "p.csv").code == 0
    done = cpgnn(
        "predict", "x_run", "x_later.csv", "--features", "x_later_features.csv", "--out", "x.csv"
    )
    assert done.code == 0, done.err
    assert (files / "x.csv").read_bytes() == (files / "p.csv").read_bytes()
    # files of the usual columns are read as well, and what is named now must be there
    assert cpgnn("predict", "x_run", "later.csv", *with_features, "--out", "y.csv").code == 0
    assert (files / "y.csv").read_bytes() == (files / "p.csv").read_bytes()
    done = cpgnn("predict", "x_run", "later.csv", "--source", "giver", "--out", "z.csv")
    assert done.code == 2
    assert "'--source' must name a column of later.csv: 'source', 'target'. Got 'giver'" in done.err
    pd.DataFrame({"memo": ["x"], "account": ["041"]}).to_csv("nodes.csv", index=False)
    done = cpgnn("explain", "x_run", "--nodes-file", "nodes.csv")
    assert done.code == 0, done.err
    assert "041" in done.out
    assert "'--id' must name" in cpgnn("explain", "run", "--nodes-file", "nodes.csv",
                                       "--id", "acount").err  # fmt: skip


def test_no_header_is_remembered_too(cpgnn, files):
    """Two ids that look like a header, which they are not."""
    labels = (files / "labels.csv").read_text().partition("\n")[2]
    (files / "labels.csv").write_text(labels)
    done = cpgnn(*FIT, "--layers", "1", "--no-header", "--prior", "mlp", "--out", "run")
    assert done.code == 0, done.err
    assert {"source", "target"} <= set(pd.read_csv("run/predictions.csv")["id"])
    (files / "later.csv").write_text("source,target\n001,002\n")
    assert cpgnn("predict", "run", "later.csv", "--out", "p.csv").code == 0
    assert set(pd.read_csv("p.csv", dtype=str)["id"]) == {"source", "target", "001", "002"}
    assert cpgnn("predict", "run", "later.csv", "--header", "--out", "q.csv").code == 0
    assert set(pd.read_csv("q.csv", dtype=str)["id"]) == {"001", "002"}


def test_a_header_with_unusual_names_is_known_again(cpgnn, files):
    """Above ids with digits it is told by them; above names it would be an edge."""
    edges = (files / "edges.csv").read_text().partition("\n")[2]
    (files / "edges.csv").write_text(f"person,friend\n{edges}")
    assert cpgnn(*FIT, *WITH, "--layers", "1", "--out", "run").code == 0
    (files / "later.csv").write_text("person,friend\nann,001\nbob,ann\n")
    done = cpgnn("predict", "run", "later.csv", "--out", "p.csv")
    assert done.code == 0, done.err
    assert set(pd.read_csv("p.csv", dtype=str)["id"]) == {"ann", "bob", "001"}


def test_new_nodes_of_which_half_have_no_features(cpgnn, files, run):
    later(files)
    more = pd.read_csv("later.csv", dtype=str)
    more[more["source"].str.startswith("new")].to_csv("later.csv", index=False)
    features = pd.read_csv("later_features.csv", dtype={"id": str})
    features[features["id"] == "new1"].to_csv("later_features.csv", index=False)
    done = cpgnn(
        "predict", "run", "later.csv", "--features", "later_features.csv", "--out", "out.csv"
    )
    assert done.code == 0, done.err
    assert "1 new node without features got the medians of the fit" in done.err
    assert "without a row" not in done.err
    assert {"new1", "new2"} <= set(pd.read_csv("out.csv", dtype={"id": str})["id"])


def test_columns_found_by_what_they_hold_are_found_again(cpgnn, files, fit_words):
    """Also where a later file is too short to tell."""
    edges = pd.read_csv("edges.csv", dtype=str)
    edges.iloc[::2] = edges.iloc[::2, ::-1].to_numpy()
    edges = edges.rename(columns={"source": "Wer", "target": "Wen"}).assign(a="x", b="y")
    edges[["a", "Wer", "b", "Wen"]].to_csv("edges.csv", index=False)
    fit = cpgnn(*fit_words, "--out", "run")
    assert fit.code == 0, fit.err
    (files / "later.csv").write_text("a,Wer,b,Wen\nx,new1,y,001\n")
    done = cpgnn("predict", "run", "later.csv", "--out", "out.csv")
    assert done.code == 0, done.err
    assert set(pd.read_csv("out.csv", dtype={"id": str})["id"]) == {"new1", "001"}


def test_later_accounts_need_no_columns_of_devices(cpgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n, m, rng = 60, 12, np.random.default_rng(0)
    good = rng.random(n) < 0.6
    devices = np.where(good, rng.integers(0, 6, n), rng.integers(6, m, n))
    Path("edges.csv").write_text(
        "source,target,type\n"
        + "".join(f"a{i},d{device},uses\n" for i, device in enumerate(devices))
        + "".join(f"a{i},a{(7 * i + 1) % n},pays\n" for i in range(n))
    )
    age = rng.normal(np.where(good, 40, 30), 5).round()
    Path("accounts.csv").write_text(
        "id,kind,age\n" + "".join(f"a{i},account,{years}\n" for i, years in enumerate(age))
    )
    Path("devices.csv").write_text(
        "id,kind,memory\n" + "".join(f"d{i},device,{1 + i % 5}\n" for i in range(m))
    )
    Path("labels.csv").write_text(
        "id,label\n" + "".join(f"a{i},{'good' if good[i] else 'thief'}\n" for i in range(n))
    )
    told = ["--features", "accounts.csv", "--features", "devices.csv"]
    fitted = cpgnn("fit", "edges.csv", "--labels", "labels.csv", *told, "--out", "run")
    assert fitted.code == 0, fitted.err
    Path("later.csv").write_text("source,target,type\nnew,d3,uses\nnew,a5,pays\n")
    Path("new.csv").write_text("id,kind,age\nnew,account,31\n")
    more = ["--features", "devices.csv"]
    for out, others in (("alone.csv", []), ("both.csv", more)):
        words = ["predict", "run", "later.csv", "--features", "new.csv", *others, "--out", out]
        done = cpgnn(*words)
        assert done.code == 0, done.err
    alone, both = (pd.read_csv(name).set_index("id") for name in ("alone.csv", "both.csv"))
    wanted = both.loc[alone.index]
    assert "new" in alone.index
    np.testing.assert_allclose(alone.filter(like="p_"), wanted.filter(like="p_"), atol=1e-6)


def test_the_kinds_of_another_whole_graph_are_those_of_the_fit(cpgnn, tmp_path, monkeypatch):
    """Accounts and devices told by their files, which are called otherwise later; no labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    accounts = [f"a{i}" for i in range(60)]
    y = np.arange(60) % 2
    uses = [(a, f"d{2 * rng.integers(6) + y[i]}") for i, a in enumerate(accounts)]
    pays = [(a, accounts[int(rng.integers(60))]) for a in accounts]
    edges = pd.DataFrame([*uses, *pays], columns=["source", "target"])
    edges.assign(type=["uses"] * 60 + ["pays"] * 60).to_csv("edges.csv", index=False)
    pd.DataFrame({"id": accounts, "label": y})[:40].to_csv("labels.csv", index=False)
    ages = pd.DataFrame({"id": accounts, "age": rng.normal(size=60)})
    locks = pd.DataFrame({"id": [f"d{i}" for i in range(12)], "lock": np.arange(12) % 2 + 0.5})
    for table, *names in ((ages, "accounts.csv", "x.csv"), (locks, "devices.csv", "y.csv")):
        for name in names:
            table.to_csv(name, index=False)
    both = ("--features", "accounts.csv", "--features", "devices.csv")
    fit = ("fit", "edges.csv", "--labels", "labels.csv", *both, "--prior", "trees", "--fast")
    assert cpgnn(*fit, "--out", "run").code == 0
    alone = ("predict", "run", "edges.csv", "--features", "x.csv", "--features", "y.csv")
    done = cpgnn(*alone, "--replace-graph", "--out", "out.csv")
    assert done.code == 0, done.err
    one, two = (
        pd.read_csv(name).set_index("id").filter(like="p_")
        for name in ("run/predictions.csv", "out.csv")
    )
    pd.testing.assert_frame_equal(two.loc[one.index], one)
    assert len(one) == len(two) == 60


@pytest.mark.parametrize(
    "words",
    [
        "predict run later.csv --out later.csv",
        "predict run later.csv --out link.csv",
        "predict run later.csv --features features.csv --out features.csv",
        "predict run --out run/predictions.csv",
        "suggest run --out run/review.csv",
        "review-labels run --out run/predictions.parquet",
        "diff run run --out run/history.csv",
        "report run --out run/graph.npz",
        "explain run 001 --out run/metrics.json",
        "explain run --nodes-file later.csv --out later.csv",
    ],
)
def test_no_file_of_the_run_and_none_that_is_read_is_overwritten(cpgnn, files, run, words):
    later(files)
    (files / "link.csv").symlink_to(files / "later.csv")
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    done = cpgnn(*words.split())
    assert done.code == 2
    assert "'--out' must not replace a file" in done.err
    assert "Try another name" in done.err
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


def test_a_new_file_in_the_run_folder_and_its_report_are_written(cpgnn, files, run):
    assert cpgnn("predict", "run", "--out", "run/more.csv").code == 0
    assert cpgnn("report", "run", "--out", "run/report.html").code == 0

"""`cpgnn explain`: the same answer as text, JSON, table and picture; and what can go wrong."""

from __future__ import annotations

import io
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from cpgnn import __version__, explain, load_run
from cpgnn.cli import reasons
from cpgnn.cli.reasons import in_italics
from cpgnn.explanation.terms import others


def test_text_says_what_the_library_says(cpgnn, run):
    done = cpgnn("explain", "run", "041", "003", "--top", "2")
    assert done.code == 0, done.err
    made = explain(load_run(run).classifier, nodes=["041", "003"])
    printed = " ".join(done.out.split())
    for i in range(2):
        assert " ".join(made.words(i).replace("*", "").split()) in printed
    hidden = int(made.pointer[1]) - 2
    assert hidden > 0
    assert others(hidden) in done.out
    assert "█" in done.out
    for name in made.class_names:
        assert name in done.out


def test_names_are_in_italics_not_between_stars():
    made = in_italics("001 is *fraud* (71 %), ahead of *honest*.")
    assert made.plain == "001 is fraud (71 %), ahead of honest."
    slanted = [made.plain[s.start : s.end] for s in made.spans if s.style == "italic"]
    assert slanted == ["fraud", "honest"]


def test_of_what_is_not_known_nothing_is_drawn(cpgnn, files, fit_words):
    """A node with neither edges nor features: the sentences, and no bar of full length for 0."""
    table = pd.read_csv("features.csv", dtype={"id": str})
    table.loc[table["id"] == "079", table.columns[1:]] = 0.0
    table.to_csv("features.csv", index=False)
    edges = pd.read_csv("edges.csv", dtype=str)
    edges[(edges["source"] != "079") & (edges["target"] != "079")].to_csv("edges.csv", index=False)
    # Scaling by rows keeps a row of zeros, as the network sees it.
    words = [*fit_words, "--preset", "paper", "--out", "alone"]
    assert cpgnn(*words).code == 0
    done = cpgnn("explain", "alone", "079")
    assert "nothing is known about it" in " ".join(done.out.split())
    assert "█" not in done.out
    assert "*" not in done.out
    assert cpgnn("explain", "alone", "079", "--picture", "why.png").code == 0


def test_a_term_that_is_printed_as_zero_has_no_bar():
    assert not reasons._drawn(1e-9, 1e-9).plain.strip()
    assert "█" in reasons._drawn(1.0, 1.0).plain


def test_json_csv_and_parquet_agree_with_predictions(cpgnn, run, files):
    done = cpgnn("explain", "run", "041", "--format", "json")
    node = json.loads(done.out)["nodes"][0]
    row = pd.read_csv("run/predictions.csv", dtype={"id": str}).set_index("id").loc["041"]
    assert node["class"] == row["class"]
    given = json.loads(done.out)["classes"]
    np.testing.assert_allclose(node["probabilities"], [row[f"p_{name}"] for name in given])
    printed = cpgnn("explain", "run", "041", "--format", "csv").out
    frame = pd.read_csv(io.StringIO(printed), dtype={"node": str}, float_precision="round_trip")
    total = frame.groupby("class")["contribution"].sum()
    np.testing.assert_allclose(total[given], node["logits"], rtol=1e-4, atol=1e-4)
    for name in ("why.csv", "why.parquet", "why.json"):
        assert cpgnn("explain", "run", "041", "--out", name).code == 0
    assert json.loads((files / "why.json").read_text())["nodes"][0] == node
    again = pd.read_parquet("why.parquet")
    np.testing.assert_array_equal(again["contribution"], frame["contribution"])
    text = io.StringIO((files / "why.csv").read_text())
    pd.testing.assert_frame_equal(
        pd.read_csv(text, dtype={"node": str}, float_precision="round_trip"), frame
    )


def test_columns_are_told_for_one_node_or_where_asked_for(cpgnn, run):
    done = cpgnn("explain", "run", "041")
    assert done.code == 0, done.err
    made = explain(load_run(run).classifier, nodes=["041"], features=5)
    told = made.words(0).replace("*", "")
    assert " ".join(told.split()) in " ".join(done.out.split())
    assert "own: x" in done.out
    assert "add up to its own part with an error of" in done.out
    assert "own: x" not in cpgnn("explain", "run", "041", "--features", "0").out
    assert "own: x" not in cpgnn("explain", "run", "041", "003").out
    assert cpgnn("explain", "run", "041", "--picture", "why.svg").code == 0
    assert "own: x" in (run.parent / "why.svg").read_text()
    node = json.loads(cpgnn("explain", "run", "041", "--format", "json", "--features", "2").out)
    [node] = node["nodes"]
    total = np.sum([row["contribution"] for row in node["features"]], axis=0)
    np.testing.assert_allclose(total, node["prior"], atol=node["features_error"] + 1e-9)
    printed = cpgnn("explain", "run", "041", "--format", "csv", "--features", "2").out
    frame = pd.read_csv(io.StringIO(printed))
    given = json.loads(cpgnn("explain", "run", "041", "--format", "json").out)["classes"]
    total = frame.groupby("class")["contribution"].sum()
    np.testing.assert_allclose(total[given], node["logits"], rtol=1e-4, atol=1e-4)
    assert {"source", "column", "value", "typical", "error"} <= set(frame.columns)


def test_many_nodes_from_a_file_and_a_picture(cpgnn, run, files):
    done = cpgnn("explain", "run", "--nodes-file", "run/review.csv", "--out", "why.csv")
    assert done.code == 0, done.err
    assert "40 nodes written to why.csv" in done.out
    named = pd.read_csv("why.csv", dtype=str)["node"].nunique()
    assert named == 40
    assert cpgnn("explain", "run", "041", "--picture", "why.png").code == 0
    assert cpgnn("explain", "run", "041", "042", "--neighbourhood", "near.svg").code == 0
    assert "041: " in (files / "near.svg").read_text()
    assert (files / "why.png").read_bytes().startswith(b"\x89PNG")


def test_integer_ids_are_typed_as_text(cpgnn, files):
    """A graph without names of its own has 0 … n-1."""
    from cpgnn.demo import example_graph
    from cpgnn.io import write_graph

    write_graph(files / "graph.npz", example_graph())
    fit = "fit graph.npz --prior mlp --layers 1 --epochs 5 --out run"
    assert cpgnn(*fit.split()).code == 0
    assert cpgnn("explain", "run", "17").code == 0


def without_graph(run):
    (run / "graph.npz").unlink()


def newer_format(run):
    path = run / "model" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    other_version(run)


def other_version(run):
    path = run / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cpgnn_version": "9.9.9"}))


def other_version_and_layout(run):
    other_version(run)
    config = json.loads((run / "config.json").read_text())
    del config["refit"]
    (run / "config.json").write_text(json.dumps(config))


def other_graph(run):
    from cpgnn.io import write_graph
    from toys import toy

    write_graph(run / "graph.npz", toy().graph)


def not_a_run(run):
    shutil.rmtree(run / "model")
    (run / "config.json").unlink()


def nothing(run):
    pass


VERSIONS = rf"The run is from cpgnn 9\.9\.9, and this is {__version__}"
WRONG = {
    "unknown node": (nothing, "run 0041", r"Got '0041'\. Did you mean 041"),
    "a typing error": (nothing, "run 04l", r"Got '04l'\. Did you mean"),
    "no node": (nothing, "run", r"Name at least one NODE"),
    "no folder": (nothing, "nowhere 041", r"nowhere must be a folder that 'cpgnn fit' wrote"),
    "no run": (not_a_run, "run 041", r"Got one without config\.json"),
    "graph is gone": (
        without_graph,
        "run 041",
        r"have the graph.*Put its graph\.npz back.*can only predict",
    ),
    "another graph": (other_graph, "run 041", r"The graph must be the one that run/model was"),
    "newer format": (newer_format, "run 041", rf"format 99.*Upgrade cpgnn.*{VERSIONS}"),
    "newer layout": (other_version_and_layout, "run 041", rf"config\.json is damaged.*{VERSIONS}"),
    "format": (nothing, "run 041 --format xml", r"'--format'.*'text', 'json', 'csv'"),
    "ending": (nothing, "run 041 --out why.doc", r"be '\.json', '\.csv' or '\.parquet'"),
    "neighbourhood": (nothing, "run 041 --neighbourhood a.gif", r"be '\.png' or '\.svg'"),
    "picture": (nothing, "run 041 --picture why.doc", r"be '\.png' or '\.svg'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors(case, cpgnn, run, files):
    damage, words, message = WRONG[case]
    damage(run)
    before = {path.name for path in files.iterdir()}
    done = cpgnn("explain", *words.split())
    assert done.code == 2
    assert "Traceback" not in done.err
    assert re.search(message, done.err), done.err
    assert {path.name for path in files.iterdir()} == before


def test_a_run_of_another_version_that_can_be_read_is_read(cpgnn, run):
    other_version(run)
    (run / "manifest.json").unlink()
    assert cpgnn("explain", "run", "041").code == 0

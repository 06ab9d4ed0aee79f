"""`cpgnn export` from a run to files for other programs."""

from __future__ import annotations

import networkx as nx
import pandas as pd


def test_writes_what_fit_predicted(cpgnn, run):
    for to, out in (("gexf", "g.gexf"), ("graphml", "g.graphml"), ("parquet", "tables")):
        done = cpgnn("export", "run", "--to", to, "--out", out)
        assert (done.code, done.out) == (0, f"80 nodes and 160 edges written to {out}\n"), done.err
    wanted = pd.read_parquet(run / "predictions.parquet").set_index("id")
    nodes = pd.read_parquet("tables/nodes.parquet").set_index("id")
    pd.testing.assert_frame_equal(nodes.drop(columns="probability"), wanted)
    for read in (nx.read_gexf("g.gexf", version="1.3"), nx.read_graphml("g.graphml")):
        assert nx.get_node_attributes(read, "class") == wanted["class"].to_dict()
        assert nx.get_node_attributes(read, "p_buyer") == wanted["p_buyer"].to_dict()


def test_predictions_are_not_fitted_to(cpgnn, run):
    """The exported graph has the labels of the first fit, not its classes for all nodes."""
    assert cpgnn("export", "run", "--to", "graphml", "--out", "g.graphml").code == 0
    done = cpgnn("stats", "g.graphml")
    assert "predictions of an earlier run were left out" in done.err
    assert " 40 " in next(line for line in done.out.splitlines() if "labelled nodes" in line) + " "


def test_every_edge_of_the_file_is_counted(cpgnn, files):
    """With a direction, an edge may be there both ways."""
    edges = pd.read_csv("edges.csv", dtype=str)
    back = edges[:7].rename(columns={"source": "target", "target": "source"})
    pd.concat([edges, back]).to_csv("edges.csv", index=False)
    fit = "fit edges.csv --labels labels.csv --directed --prior mlp --layers 1 --epochs 5 --out run"
    assert cpgnn(*fit.split()).code == 0
    done = cpgnn("export", "run", "--to", "graphml", "--out", "g.graphml")
    assert done.out == "80 nodes and 167 edges written to g.graphml\n", done.err
    assert nx.read_graphml("g.graphml").number_of_edges() == 167


def test_errors_say_what_to_do(cpgnn, run):
    for words, said in (
        ("nowhere --to gexf --out g.gexf", "cpgnn fit"),
        ("run --to gexf --out g.graphml", "must be '.gexf'"),
        ("run --to parquet --out run", "must be new or empty"),
        ("run --to dot --out g.dot", "'dot' is not one of"),
        ("run --out g.gexf", "--to"),
    ):
        done = cpgnn("export", *words.split())
        assert done.code == 2
        assert said in done.err
        assert "Traceback" not in done.err
        assert not [path for path in run.parent.iterdir() if path.name.startswith(("g.", ".g"))]


def test_a_control_character_does_not_get_as_far_as_a_run(cpgnn, files, fit_words):
    for name in ("edges", "labels", "features"):
        table = pd.read_csv(f"{name}.csv", dtype=dict.fromkeys(("source", "target", "id"), str))
        table.replace({"000": "00\x01"}).to_parquet(f"{name}.parquet")
    words = (word.replace(".csv", ".parquet") for word in fit_words)
    done = cpgnn(*words, "--out", "run")
    assert done.code == 2
    assert "A node id must have no control characters. Got '00\\x01'" in done.err
    assert not (files / "run").exists()

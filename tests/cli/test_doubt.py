"""`review-labels`, `suggest` and `diff`, from one run to the next."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


def test_doubtful_labels_are_listed_and_written(cpgnn, files, run):
    done = cpgnn("review-labels", run)
    assert done.code == 0, done.err
    assert " contradicted." in done.out
    written = cpgnn("review-labels", run, "--out", "doubt.csv")
    assert written.code == 0, written.err
    table = pd.read_csv("doubt.csv", dtype=str)
    assert list(table.columns)[:4] == ["rank", "id", "label", "suggested"]


def test_suggestions_are_filled_in_and_fed_back(cpgnn, files, run, fit_words):
    shown = cpgnn("suggest", run, "--budget", 4)
    assert shown.code == 0, shown.err
    assert "  1. " in shown.out
    done = cpgnn("suggest", run, "--budget", 4, "--out", "ask.csv", "--with-known")
    assert done.code == 0, done.err
    table = pd.read_csv("ask.csv", dtype=str, keep_default_na=False)
    known = pd.read_csv("labels.csv", dtype=str).dropna()
    assert list(table.columns) == ["id", "label"]  # one kind of nodes, and the split was drawn
    asked = table[table["label"] == ""]
    assert 1 <= len(asked) <= 4
    assert not set(asked["id"]) & set(known["id"])
    table.loc[asked.index, "label"] = known["label"].iloc[0]
    table.to_csv("more.csv", index=False)
    again = cpgnn(*fit_words, "--labels", "more.csv", "--out", "next")
    assert again.code == 0, again.err
    compared = cpgnn("diff", run, "next", "--out", "changed.csv")
    assert compared.code == 0, compared.err
    assert "in both runs" in compared.out
    assert "→" in compared.out or "0 nodes changed" in compared.out
    assert list(pd.read_csv("changed.csv").columns)[:3] == ["id", "before", "after"]


def kinds_and_split(seed: int = 0) -> pd.DataFrame:
    """Writes edges between users and shops in all combinations; who is what, only labels tell.

    A third of the labels is marked test."""
    rng, n = np.random.default_rng(seed), 150
    y, names = rng.integers(0, 2, n), np.array([f"n{i}" for i in range(n)])
    u, v = rng.integers(0, n, (2, 3000))
    keep = (u != v) & (rng.random(3000) < np.where(y[u] == y[v], 0.4, 0.1))
    pd.DataFrame({"source": names[u[keep]], "target": names[v[keep]]}).to_csv("e.csv", index=False)
    table = pd.DataFrame({"id": names, "label": np.array(["bad", "good"])[y], "split": ""})
    table["kind"] = np.where(np.arange(n) < 110, "user", "shop")
    table.loc[60:, "label"] = ""
    table.loc[:39, "split"], table.loc[40:59, "split"] = "train", "test"
    table.to_csv("l.csv", index=False)
    return table


def test_what_is_fed_back_keeps_kinds_and_held_out_nodes(cpgnn, files):
    given = kinds_and_split()
    assert cpgnn("fit", "e.csv", "--labels", "l.csv", "--out", "one", "--fast").code == 0
    assert cpgnn("suggest", "one", "--budget", 9, "--out", "ask.csv", "--with-known").code == 0
    table = pd.read_csv("ask.csv", dtype=str, keep_default_na=False)
    whole = table.set_index("id").loc[given["id"]]
    assert (whole["kind"].to_numpy() == given["kind"]).all()
    assert (whole["split"].to_numpy()[:60] == given["split"][:60]).all()
    assert (table["split"][:9] == "train").all()
    table.loc[:8, "label"] = "good"
    table.to_csv("more.csv", index=False)
    assert cpgnn("fit", "e.csv", "--labels", "more.csv", "--out", "two", "--fast").code == 0
    used = [
        pd.read_csv(f"{run}/predictions.csv").set_index("id")["split"] for run in ("one", "two")
    ]
    assert (
        set(used[0].index) == set(used[1].index) == set(given["id"][:110])
    )  # no shop is predicted
    held_out = [set(part.index[part == "test"]) for part in used]
    assert held_out[0] == held_out[1] == set(given["id"][40:60])
    assert (used[1].loc[table["id"][:9]] == "train").all()


@pytest.mark.parametrize("words", [("review-labels",), ("suggest",), ("diff", "run")])
def test_no_run_is_an_error_of_the_user(cpgnn, files, words):
    done = cpgnn(*words, "nowhere")
    assert done.code == 2
    assert "must be a folder that 'cpgnn fit' wrote" in done.err


def test_one_suggested_node_is_one_node(cpgnn, files, run):
    done = cpgnn("suggest", run, "--budget", 1, "--out", "one.csv")
    assert "1 node to label written to one.csv" in done.out

"""`review-labels`, `suggest` and `diff`, from one run to the next."""

from __future__ import annotations

import pandas as pd
import pytest


def test_doubtful_labels_are_listed_and_written(cpgnn, files, run):
    done = cpgnn("review-labels", run)
    assert done.code == 0, done.err
    assert "are contradicted." in done.out
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


@pytest.mark.parametrize("words", [("review-labels",), ("suggest",), ("diff", "run")])
def test_no_run_is_an_error_of_the_user(cpgnn, files, words):
    done = cpgnn(*words, "nowhere")
    assert done.code == 2
    assert "must be a folder that 'cpgnn fit' wrote" in done.err

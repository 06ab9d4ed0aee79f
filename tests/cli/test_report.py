"""`cpgnn report` from a run to a page."""

from __future__ import annotations

import json

import pytest

FIT = "fit edges.csv --labels labels.csv --features features.csv --prior mlp --layers 1 --epochs 40"


@pytest.fixture
def run(cpgnn, files):
    done = cpgnn(*FIT.split(), "--out", "run")
    assert done.code == 0, done.err
    return files / "run"


def test_fit_writes_it_and_report_writes_the_same_again(cpgnn, run):
    page = (run / "report.html").read_bytes()
    assert page.startswith(b"<!doctype html>")
    (run / "report.html").unlink()
    assert cpgnn("report", "run").code == 0
    assert (run / "report.html").read_bytes() == page
    assert cpgnn("report", "run", "--out", "page.html").code == 0
    assert (run.parent / "page.html").read_bytes() == page


def test_names_the_scores_of_the_run(run):
    page = (run / "report.html").read_text(encoding="utf-8")
    metrics = json.loads((run / "metrics.json").read_text())
    for score in (metrics["test"]["accuracy"], metrics["without_graph"]["accuracy"]):
        assert f"{100 * score['value']:.1f} %" in page
    assert "http" not in page.replace("http-equiv", "")


def test_errors_say_what_to_do(cpgnn, run):
    done = cpgnn("report", "nowhere")
    assert (done.code, "cpgnn fit" in done.err) == (2, True)
    (run / "metrics.json").write_text("{}")
    done = cpgnn("report", "run", "--out", "other.html")
    assert done.code == 2
    assert "metrics.json" in done.err
    assert "Fit again" in done.err
    assert not (run.parent / "other.html").exists()

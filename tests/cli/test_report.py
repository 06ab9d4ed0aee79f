"""`cpgnn report` from a run to a page."""

from __future__ import annotations

import json
from html import unescape

from cpgnn import load_run
from cpgnn.engine.formatting import between, percent


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


def test_terminal_and_page_say_the_same(cpgnn, files, fit_words):
    """One judgement, one rounding: every score of the terminal stands on the page."""
    printed = cpgnn(*fit_words, "--out", "run").out
    page = unescape((files / "run" / "report.html").read_text(encoding="utf-8"))
    made = load_run("run")
    for sentence in (made.verdict.headline, *made.verdict.reasons):
        assert sentence in page
        assert sentence in " ".join(printed.split())
    test, F = made.evaluation, made.classifier.edge_frequency_interval_
    for scored in (test.accuracy, test.majority, *test.precision.values(), *test.recall.values()):
        for text in (percent(scored.value), between(scored.low, scored.high)):
            assert text in page
            assert text in printed
    for share in F.share.ravel():
        assert percent(share, 0) in printed
        assert f">{percent(share, 0).removesuffix(' %')}<" in page


def test_errors_say_what_to_do(cpgnn, run):
    done = cpgnn("report", "nowhere")
    assert (done.code, "cpgnn fit" in done.err) == (2, True)
    (run / "metrics.json").write_text("{}")
    done = cpgnn("report", "run", "--out", "other.html")
    assert done.code == 2
    assert "metrics.json" in done.err
    assert "Fit again" in done.err
    assert not (run.parent / "other.html").exists()

"""`cpgnn verify` says what became of a run."""

from __future__ import annotations


def test_verify(cpgnn, files):
    fit = ("fit", "edges.csv", "--labels", "labels.csv", "--prior", "mlp", "--epochs", "10")
    assert cpgnn(*fit, "--layers", "1", "--out", "run").code == 0
    done = cpgnn("verify", "run")
    assert (done.code, done.err) == (0, "")
    assert "files intact" in done.out
    (files / "run/history.csv").write_text("changed")
    (files / "run/predictions.csv").unlink()
    done = cpgnn("verify", "run")
    assert done.code == 2
    assert "changed: history.csv\nmissing: predictions.csv\n" in done.out
    assert "1 file changed, 1 missing" in done.err
    done = cpgnn("verify", "nowhere")
    assert (done.code, "no folder" in done.err) == (2, True)
    (files / "run/manifest.json").unlink()
    assert "Got none. Early runs" in cpgnn("verify", "run").err

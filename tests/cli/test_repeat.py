"""`cpgnn fit --config`: the same run again, to the byte; what is given on the command line wins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cpgnn import load_run

WORDS = ["--labels", "labels.csv", "--features", "features.csv", "--prior", "mlp", "--layers", 1]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def first(cpgnn, files) -> Path:
    words = [*WORDS, "--epochs", 40, "--seed", 3, "--test", 0.3, "--no-calibrate"]
    done = cpgnn("fit", "edges.csv", *words, "--positive", "seller", "--out", "a/run")
    assert done.code == 0, done.err
    return files / "a/run"


@pytest.mark.parametrize("config", ["a/run/config.json", "a/run"])
def test_a_repeated_run_is_the_same_to_the_byte(cpgnn, first, config):
    done = cpgnn("fit", "--config", config, "--out", "b/run")
    assert done.code == 0, done.err
    one, two = contents(first), contents(first.parent.parent / "b/run")
    assert len(one) > 10
    assert one == two


def test_a_repeated_blend_differs_by_its_clock_alone(cpgnn, files):
    words = ["--labels", "labels.csv", "--features", "features.csv", "--fast"]
    assert cpgnn("fit", "edges.csv", *words, "--out", "a/run").code == 0
    assert cpgnn("fit", "--config", "a/run", "--out", "b/run").code == 0
    one, two = contents(files / "a/run"), contents(files / "b/run")
    assert {"seconds.json", "metrics.json", "manifest.json"} <= one.keys()
    differ = {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)}
    assert differ <= {"seconds.json", "report.html"}
    trials = load_run(files / "a/run").trials
    assert json.loads(one["seconds.json"])["trials"] == trials["cpu_seconds"].tolist()
    (files / "a/run/seconds.json").write_text('{"trials": [1.0]}')
    done = cpgnn("report", "a/run")
    assert done.code == 2
    assert "seconds.json" in done.err
    (files / "a/run/seconds.json").unlink()
    assert cpgnn("report", "a/run").code == 0


def test_options_given_win(cpgnn, first):
    done = cpgnn("fit", "--config", "a/run", "--out", "b/run", "--seed", 4, "--calibrate")
    assert done.code == 0, done.err
    options = json.loads(Path("b/run/config.json").read_text())["options"]
    before = json.loads((first / "config.json").read_text())["options"]
    assert (options["seed"], options["calibrate"]) == (4, True)
    assert before == {**options, "seed": 3, "calibrate": False}
    predictions = "predictions.csv"
    assert Path("b/run", predictions).read_bytes() != (first / predictions).read_bytes()


def test_other_edges_with_the_same_options(cpgnn, first):
    lines = Path("edges.csv").read_text().splitlines(keepends=True)
    Path("fewer.csv").write_text("".join(lines[:-20]))
    done = cpgnn("fit", "fewer.csv", "--config", "a/run", "--out", "b/run")
    assert done.code == 0, done.err
    options = json.loads(Path("b/run/config.json").read_text())["options"]
    assert (options["edges"], options["epochs"]) == ("fewer.csv", 40)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "nowhere.json is damaged, or cpgnn did not write it: there is no such file"),
        ("{", "is damaged"),
        ('{"options": {"edges": "e", "master": "local"}}', "hold options of 'cpgnn fit'. Got 'ma"),
        ('{"options": {}}', "Got no edges"),
        ('{"options": {"edges": "edges.csv", "prior": "magic"}}', "Invalid value for '--prior'"),
    ],
)
def test_files_that_are_no_config(cpgnn, files, text, message):
    if text is not None:
        Path("nowhere.json").write_text(text)
    done = cpgnn("fit", "--config", "nowhere.json", "--out", "run")
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert not Path("run").exists()


def test_without_a_config_the_edges_must_be_named(cpgnn, files):
    done = cpgnn("fit", "--out", "run")
    assert done.code == 2
    assert "Missing argument" in done.err


def test_budgets(cpgnn, files):
    words = ["fit", "edges.csv", *WORDS]
    for budget, epochs in (("--fast", 400), ("--thorough", 3200)):
        done = cpgnn(*words, budget, "--out", budget[2:], "--seed", 1)
        assert done.code == 0, done.err
        settings = json.loads(Path(budget[2:], "config.json").read_text())["settings"]
        assert settings["epochs"] == epochs
    both = cpgnn(*words, "--fast", "--thorough", "--out", "both")
    assert both.code == 2
    assert "Choose --fast or --thorough, not both." in both.err


def test_completion_is_offered():
    script = "import sys; sys.argv = ['cpgnn']; from cpgnn.cli import main; main()"
    asked = {"_CPGNN_COMPLETE": "complete_bash", "COMP_WORDS": "cpgnn fi", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **asked}, capture_output=True, text=True
    )
    assert done.stdout.split() == ["fit"]

"""Every write of `fit`, `predict`, `report` and `reproduce` fails, or is the last thing the process
does: nothing is torn, nothing lost, and the next run cleans up.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from cpgnn.errors import InputError
from cpgnn.experiments.store import ResultStore
from cpgnn.io import write_table
from cpgnn.run.folder import report_run, write_run
from cpgnn.run.load import load_run
from cpgnn.run.manifest import verify_run
from cpgnn.run.predictions import run_predictions
from faults import fail_at, killed_at, stepping

SAVED = Path(__file__).parent.parent / "fixtures" / "v0.1" / "runs"
COUNTS = os.environ.get("CPGNN_EVERY_STEP")
"""A file for the counts; with it, all steps of `fit` are tried and not a part of them."""


def count(command, what, number):
    if COUNTS:
        with open(COUNTS, "a") as file:
            file.write(json.dumps({"command": command, what: number, "lost": 0}) + "\n")


@pytest.fixture(scope="module", params=["mlp2", "flagged-mixed"] if COUNTS else ["mlp2"])
def run(request):
    made = load_run(SAVED / request.param)
    run_predictions(made)
    return made


def whole_run(folder):
    found = verify_run(folder)
    assert found.changed == found.missing == found.unknown == ()
    load_run(folder)


def whole_table(path):
    assert len(pd.read_csv(path)) == 120


def whole_page(path):
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def whole_results(path):
    results = ResultStore(path, numbers=("test",)).read()
    assert "old" in results
    assert set(results) <= {"old", "new", "next"}


def works(run):
    """What each command does with the disk, what it writes, and how to see that it is whole."""
    table = run_predictions(run)
    new = {"key": "new", "test": 71.0}

    def append(path):
        store = ResultStore(path, numbers=("test",))
        if not path.exists():
            store.append({"key": "old", "test": 70.0})
        return lambda: store.append(new)

    return {
        "fit": ("run", lambda path: lambda: write_run(run, path), whole_run),
        "predict": ("out.csv", lambda path: lambda: write_table(path, table), whole_table),
        "report": ("r.html", lambda path: lambda: report_run(run, path, "run"), whole_page),
        "reproduce": ("results/x.jsonl", append, whole_results),
    }


@contextmanager
def suppress_full_disk():
    try:
        yield
    except (InputError, OSError) as error:
        if "no space left" not in str(error).lower():
            raise


def leftovers(folder):
    return [name for name in os.listdir(folder) if ".partial-" in name]


@pytest.mark.parametrize("command", ["fit", "predict", "report", "reproduce"])
def test_every_write_fails_in_turn(command, run, tmp_path, monkeypatch):
    name, prepare, check = works(run)[command]
    with stepping(lambda number: None, monkeypatch) as steps:
        prepare(tmp_path / "count" / name if command == "fit" else tmp_path / name)()
    total = len(steps)
    assert total >= {"fit": 20, "predict": 2, "report": 2, "reproduce": 1}[command]
    every = range(1, total + 1) if COUNTS or total < 25 else range(1, total + 1, total // 6)
    for step in every:
        folder = tmp_path / str(step)
        folder.mkdir()
        path, before = folder / name, None
        work = prepare(path)
        if command in ("predict", "report"):
            work()
            before = path.read_bytes()
        with suppress_full_disk(), stepping(fail_at(step), monkeypatch):
            work()
        assert not leftovers(folder)
        if path.exists():
            check(path)
            assert before is None or len(path.read_bytes()) == len(before)
        if command != "fit" or not path.exists():
            work()
        check(path)
        shutil.rmtree(folder)
    count(command, "failing_writes", len(every))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("command", ["fit", "predict", "report", "reproduce"])
def test_killed_at_every_step(command, run, tmp_path, monkeypatch):
    name, prepare, check = works(run)[command]
    step, width, kills = 1, 1 if COUNTS or command != "fit" else 29, 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / name
        work = prepare(path)
        if not killed_at(step, work, monkeypatch):
            break
        kills += 1
        there = path.exists()
        if there:
            check(path)
        assert len(leftovers(folder)) <= 1
        if command != "fit" or not there:
            work()  # the next run sweeps
        check(path)
        assert not leftovers(folder)
        shutil.rmtree(folder)
        step += width
    assert kills >= 1
    count(command, "kills", kills)


def test_a_line_of_results_is_cut_short_by_a_full_disk(tmp_path, monkeypatch):
    store = ResultStore(tmp_path / "x.jsonl", numbers=("test",))
    store.append({"key": "old", "test": 70.0})
    write = os.write

    def half(handle, data):
        write(handle, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", half)
        with pytest.raises(OSError, match="No space"):
            store.append({"key": "new", "test": 71.0})
    store.append({"key": "next", "test": 72.0})
    assert set(store.read()) == {"old", "next"}

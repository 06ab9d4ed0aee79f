"""What happens while somebody else's files are read, predicted, explained and shown: Python tells.

No pickle, no code, no process, no network, no library, and no file outside the output. Planetoid's
data sets are the exception: their pickles are scanned first (`datasets/upstream.py`), and only what
arrays are made of can be built from them; `tests/datasets/test_upstream.py` has that.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import cpgnn.report.page
from cpgnn.errors import CPGNNError
from cpgnn.explanation.contributions import explain
from cpgnn.io import read_graph, write_table
from cpgnn.run.folder import write_report
from cpgnn.run.load import load_run
from cpgnn.run.manifest import verify_run
from cpgnn.run.predictions import run_predictions
from faults import FORBIDDEN, watched, writes_to

ROOT = Path(__file__).parents[2]
PAGE = str(Path(cpgnn.report.page.__file__).with_name("page.html"))
SAVED = ROOT / "tests/fixtures/v0.1/runs"
sys.path.insert(0, str(ROOT / "benchmarks" / "fuzz"))

from readers import EXPORTED, put, readers  # noqa: E402


def everything(folder, out):
    run = load_run(folder)
    write_table(out / "p.csv", run_predictions(run))
    write_table(out / "p.parquet", run_predictions(run))
    write_report(folder, out / "r.html")
    explain(run.classifier, run.graph, run.graph.node_ids[:3]).write(out / "e.json")


def record(work, allowed):
    """The forbidden events of some work, and the files that it changed elsewhere than `allowed`."""
    found = []

    def watch(event, given):
        path = writes_to(event, given)
        outside = path is not None and not Path(path).resolve().is_relative_to(allowed)
        ours = event == "exec" and given[0].co_filename == PAGE  # the template of the report
        if (event in FORBIDDEN and not ours) or (outside and path != "/dev/null"):
            found.append((event, str(given)[:200]))

    with watched(watch):
        work()
    return found


@pytest.mark.parametrize("name", ["flagged-mixed", "weighted-refit", "cheby-paper"])
def test_a_run_is_only_read(name, tmp_path):
    folder = shutil.copytree(SAVED / name, tmp_path / "run")
    (tmp_path / "first").mkdir()
    everything(folder, tmp_path / "first")  # what is imported or compiled once is ours
    (tmp_path / "out").mkdir()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert record(lambda: everything(folder, tmp_path / "out"), tmp_path / "out") == []
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_watch_sees(tmp_path):
    def work():
        (tmp_path / "elsewhere").write_text("x")
        exec("pass")

    (tmp_path / "out").mkdir()
    assert {event for event, _ in record(work, tmp_path / "out")} == {"open", "exec"}


@pytest.mark.parametrize("name", [name for name in readers() if name != "duckdb"])
def test_almost_right_files_do_nothing_else(name, tmp_path):
    """Fifteen of the files that `benchmarks/fuzz` makes, for every reader."""
    reader, rng = readers()[name], random.Random(name)
    put(tmp_path / "in", reader.seeds[0])
    reader.read(tmp_path / "in")

    def read():
        with suppress(CPGNNError):
            reader.read(tmp_path / "in")

    for _ in range(15):
        put(tmp_path / "in", reader.mutated(rng, rng.choice(reader.seeds)))
        found = record(read, tmp_path / EXPORTED)
        if name == "sqlite":
            found = [x for x in found if x[0] != "sqlite3.connect" or "?mode=ro" not in x[1]]
        assert found == []


def test_a_planted_pickle_is_not_opened(tmp_path):
    """Where an array is asked for, an object array is refused before anything is unpickled."""
    import numpy as np

    bomb = np.array([{1}], dtype=object)
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), labels=bomb, allow_pickle=True)

    def work():
        with pytest.raises(CPGNNError, match="never loaded"):
            read_graph(tmp_path / "g.npz")

    assert record(work, tmp_path / "out") == []


def test_verifying_reads_nothing_but_the_folder(tmp_path):
    """A manifest that names files elsewhere finds them missing."""
    folder = shutil.copytree(SAVED / "mlp2", tmp_path / "run")
    files = {"../secret": "0" * 64, "/etc/passwd": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps({"cpgnn_version": "0.1.0", "files": files}))
    opened = []
    with watched(lambda event, given: opened.append(str(given[0])) if event == "open" else None):
        found = verify_run(folder)
    assert set(found.missing) == set(files)
    assert not any("passwd" in path or "secret" in path for path in opened)

"""A run knows when one of its files was changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from cpgnn import CPGNNClassifier, load_run
from cpgnn.errors import InputError
from cpgnn.run.folder import fit_run, write_report
from cpgnn.run.manifest import verify_run
from hostile import hostile_graph

SAVED = Path(__file__).parent.parent / "fixtures" / "v0.1" / "runs"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manifest") / "run"
    classifier = CPGNNClassifier("mlp", 1, pretrain_epochs=5, epochs=5, hidden=4)
    fit_run(hostile_graph(), classifier, folder)
    return folder


@pytest.fixture
def run(written, tmp_path):
    return shutil.copytree(written, tmp_path / "run")


def test_every_file_is_listed_with_its_hash(run):
    files = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["files"]
    here = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert set(files) == here - {"manifest.json", "report.html"}
    for name, digest in files.items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest
    found = verify_run(run)
    assert found.intact == tuple(sorted(files))
    assert not found.changed + found.missing + found.unknown


def test_says_what_is_changed_missing_and_unknown(run):
    (run / "history.csv").write_text("phase\n")
    (run / "predictions.csv").unlink()
    (run / "notes.txt").write_text("mine")
    found = verify_run(run)
    assert found.changed == ("history.csv",)
    assert found.missing == ("predictions.csv",)
    assert found.unknown == ("notes.txt",)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("metrics.json", '"n": ', '"n": 1'),
        ("config.json", '"refit": false', '"refit":  false'),
        ("model/model.json", '"cpgnn_version": "', '"cpgnn_version": "9'),
    ],
)
def test_a_changed_file_is_refused_by_name(run, name, old, new):
    path = run / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"{name} was changed after it was written"):
        load_run(run)
    (run / "manifest.json").unlink()
    load_run(run)


def test_a_report_may_be_written_again(run):
    write_report(run)
    assert not verify_run(run).changed
    load_run(run)


def test_runs_of_before_have_no_manifest():
    load_run(SAVED / "mlp2")
    with pytest.raises(InputError, match=r"be a run with a manifest\.json"):
        verify_run(SAVED / "mlp2")


def test_a_foreign_manifest_is_refused(run):
    (run / "manifest.json").write_text('{"files": {"a": "b"}}')
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        load_run(run)


def test_a_path_out_of_the_folder_is_never_read(run, tmp_path):
    (tmp_path / "secret").write_text("x")
    text = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    text["files"]["../secret"] = "0" * 64
    (run / "manifest.json").write_text(json.dumps(text))
    assert verify_run(run).missing == ("../secret",)

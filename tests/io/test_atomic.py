"""Whole or not at all: after an error, after SIGKILL, and beside what others left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cpgnn.errors import InputError
from cpgnn.io import atomic_folder, atomic_write, check_free
from cpgnn.io.atomic import _partial


def fail_while_writing(path: Path) -> None:
    with atomic_write(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def fail_while_filling(path: Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "x").write_text("1")
        raise KeyboardInterrupt


def be_late(path: Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "x").write_text("mine")
        path.mkdir()
        (path / "x").write_text("theirs")


def test_a_file_takes_its_place_at_the_end(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_files_where_none_can_be(tmp_path):
    (tmp_path / "file").write_text("")
    for path, words in (
        (tmp_path / "no" / "out.csv", "Cannot write here: no such file"),
        (tmp_path / "file" / "out.csv", "Cannot write here: not a directory"),
        (tmp_path, "must be a file. Got a folder"),
    ):
        with pytest.raises(InputError, match=words), atomic_write(path):
            raise AssertionError("the block must not run")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    for path in (tmp_path / "pipe", tmp_path / "link", Path(os.devnull)):
        with pytest.raises(InputError, match=r"must be a file\. Got a device"), atomic_write(path):
            raise AssertionError("the block must not run")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path, there):
    (tmp_path / "far").mkdir()
    if there:
        (tmp_path / "far/out.csv").write_text("old")
    (tmp_path / "out.csv").symlink_to(tmp_path / "far/out.csv")
    with atomic_write(tmp_path / "out.csv") as file:
        file.write(b"new")
    assert (tmp_path / "out.csv").is_symlink()
    assert (tmp_path / "far/out.csv").read_text() == "new"
    assert len(list((tmp_path / "far").iterdir())) == 1


def test_a_link_to_itself_leads_nowhere(tmp_path):
    (tmp_path / "out.csv").symlink_to(tmp_path / "out.csv")
    with atomic_write(tmp_path / "out.csv") as file:
        file.write(b"new")
    assert (tmp_path / "out.csv").read_text() == "new"


def test_a_folder_appears_whole(tmp_path):
    path = tmp_path / "a" / "b" / "run"
    with atomic_folder(path) as folder:
        (folder / "model").mkdir()
        (folder / "model" / "x").write_text("1")
        assert not path.exists()
        assert folder.name.startswith(f".run.partial-{os.getpid()}-")
    assert (path / "model" / "x").read_text() == "1"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_leaves_no_folder_and_no_parents(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fail_while_filling(tmp_path / "a" / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_there_a_filled_one_not(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    with atomic_folder(path) as folder:
        (folder / "x").write_text("1")
    with (
        pytest.raises(InputError, match=r"run: .* must be new or empty\. Got one with 'x'"),
        atomic_folder(path),
    ):
        raise AssertionError("the block must not run")
    assert (path / "x").read_text() == "1"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"must be new or empty\. Got a file"):
        check_free(tmp_path / "file")
    with pytest.raises(InputError, match=r"must lie inside a folder\. Got the file"):
        check_free(tmp_path / "file" / "run")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_folders_without_leave(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="Cannot write here"):
            check_free(tmp_path / "run")
    finally:
        tmp_path.chmod(0o700)


def test_a_target_that_somebody_filled_meanwhile_is_kept(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(InputError, match="must be new or empty"):
        be_late(path)
    assert (path / "x").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_leftovers_of_the_dead_are_swept_those_of_the_living_kept(tmp_path):
    path = tmp_path / "run"
    mine = _partial(path)
    theirs = Path(str(mine).replace(f"-{os.getpid()}-", f"-{dead_process()}-"))
    elsewhere = tmp_path / f".run.partial-{dead_process()}-00000000abcd"  # another machine's
    similar = tmp_path / ".run2.partial-1-x"
    for folder in (mine, theirs, elsewhere, similar):
        folder.mkdir()
        (folder / "x").write_text("")
    with atomic_folder(path):
        pass
    assert set(tmp_path.iterdir()) == {path, mine, elsewhere, similar}


SCRIPT = """
import sys
from cpgnn.io import atomic_folder
with atomic_folder(sys.argv[1]) as folder:
    print("begun", flush=True)
    for i in range(200):
        (folder / f"{i}.txt").write_text("x" * 1000)
print("done", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("delay", [0, 0.001, 0.005, 0.02, 0.05, None])
def test_sigkill_leaves_no_folder_or_a_whole_one(tmp_path, delay):
    path = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        try:
            child.wait(timeout=30 if delay is None else delay)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
    if path.exists():
        assert len(list(path.iterdir())) == 200
        assert all(file.stat().st_size == 1000 for file in path.iterdir())
        return
    assert delay is not None
    with atomic_folder(path):  # the next one sweeps
        pass
    assert list(tmp_path.iterdir()) == [path]

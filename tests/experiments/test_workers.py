"""Workers that are killed, that outlive their parent, or that are left in the middle."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from cpgnn.errors import CPGNNError
from cpgnn.experiments.workers import worker_processes
from jobs import double, fail, kill_itself, write_id_and_sleep

linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="signals, and looks in /proc")


def worker_id(folder: Path) -> int:
    """Of the worker that wrote its id there."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if found := [path for path in folder.iterdir() if path.name.isdigit()]:
            return int(found[0].name)
        time.sleep(0.05)
    raise AssertionError("no worker began")


def ended(process: int) -> bool:
    """Whether it is gone within a minute, long before its sleep is over."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":  # ended, and nobody has asked how
            return True
        time.sleep(0.05)
    return False


def test_every_job_in_each_of_two_rounds():
    with worker_processes(2) as outcomes:
        assert sorted(outcomes(double, range(5))) == [0, 2, 4, 6, 8]
        assert list(outcomes(double, [])) == []
        assert list(outcomes(double, [21])) == [42]


def test_an_error_of_a_job_comes_through():
    with pytest.raises(ZeroDivisionError), worker_processes(1) as outcomes:
        list(outcomes(fail, [1]))


@linux
def test_a_killed_worker_is_an_error_and_not_a_wait_without_end():
    with pytest.raises(CPGNNError, match="memory ran out"), worker_processes(1) as outcomes:
        list(outcomes(kill_itself, [1, 2]))


@linux
def test_leaving_in_the_middle_does_not_wait_for_the_work(tmp_path):
    worker = None
    try:
        with worker_processes(1) as outcomes:
            next(outcomes(write_id_and_sleep, ["", str(tmp_path)]))
            worker = worker_id(tmp_path)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert worker is not None
    assert ended(worker)


@linux
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from cpgnn.experiments.workers import worker_processes\n"
        "from jobs import write_id_and_sleep\n"
        "if __name__ == '__main__':\n"
        "    with worker_processes(1) as outcomes:\n"
        "        list(outcomes(write_id_and_sleep, [sys.argv[1]]))\n"
    )
    command = [sys.executable, str(script), str(tmp_path), str(Path(__file__).parents[1])]
    parent = subprocess.Popen(command)
    try:
        worker = worker_id(tmp_path)
    finally:
        parent.kill()
        parent.wait()
    assert ended(worker)

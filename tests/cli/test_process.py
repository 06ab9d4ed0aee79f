"""The command as a process: Ctrl-C, readers that go away, help on 80 columns."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time

CPGNN = [sys.executable, "-m", "cpgnn"]
FILES = ("fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv")
FIT = (*FILES, "--prior", "mlp", "--layers", "1")


def test_interrupted(files):
    """The preset 'paper' has no early end, and 10⁷ epochs do not end before the signal."""
    words = [*CPGNN, *FIT, "--preset", "paper", "--epochs", "10000000", "--out", "run"]
    before = set(files.iterdir())
    # a shell starts background jobs with the signal ignored; this one is in the foreground
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
        started = time.monotonic()
        while _cpu_seconds(child.pid) < 4 and time.monotonic() - started < 60:
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        error = child.communicate(timeout=60)[1]
    assert child.returncode == 130
    assert error == "Error: Interrupted; nothing was written.\n"
    assert set(files.iterdir()) == before


def _cpu_seconds(process: int) -> float:
    """Until training runs (imports take less): user time from /proc."""
    with open(f"/proc/{process}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


def test_the_reader_of_a_pipe_goes_away():
    """Like `cpgnn --help | true`, and with a table that does not fit into the pipe's buffer."""
    for words in (["--help"], ["table", "real"]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [*CPGNN, *words], stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(write)
        assert done.returncode == 141, words
        assert done.stderr == "", words


def test_summaries_show_whole(cpgnn, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    commands = cpgnn("--help").out.partition("Commands:")[2]
    assert "fit" in commands
    assert "..." not in commands


def test_weights_have_the_mode_of_other_files(cpgnn, files):
    assert cpgnn(*FIT, "--epochs", "10", "--out", "run").code == 0
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (files / "run/model").iterdir()}
    (files / "plain").write_text("")
    assert modes == {stat.S_IMODE((files / "plain").stat().st_mode)}


def test_a_missing_file_is_refused_before_anything_slow_is_imported(files):
    """A new process each, which prints what it has imported when it ends."""
    spy = (
        "import atexit, sys; atexit.register(lambda: print(sorted({'torch', 'pandas', 'pyarrow', "
        "'numpy'} & set(sys.modules)))); from cpgnn.cli import main; main()"
    )
    for words in (
        ("fit", "no.csv", "--labels", "nor.csv", "--out", "run"),
        ("predict", "nowhere", "--out", "p.csv"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", spy, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert done.stdout == "[]\n"
        assert done.stderr.startswith("Error: ")
    done = subprocess.run(
        [sys.executable, "-c", spy, "check", "no.csv", "--labels", "nor.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == (
        "Error: There are 2 problems.\n"
        "- no.csv: No such file. Check the name.\n"
        "- nor.csv: No such file. Check the name.\n"
    )

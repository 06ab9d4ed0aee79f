"""Standard output that is closed, full or ASCII, and signals: what was done decides the exit code.

The command is a small one of our own, in a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from cpgnn.cli import main

FOLDER = """
import sys, time
from cpgnn.cli import app as cli
from cpgnn.io import atomic_folder, check_free
def command():
    with atomic_folder("run") as folder:
        (folder / "x").write_text("1")
        {inside}
    print({text!a})
    {behind}
cli.app = command
cli.main()
"""
TEXT, WAIT = "accuracy 70–76 % …, ≥ 3 “é”", "print('ready', flush=True); time.sleep(600)"
WRITES = FOLDER.format(text=TEXT, inside="", behind="")
WAITS = FOLDER.format(text=TEXT, inside=WAIT, behind="")
WAITS_BEHIND = FOLDER.format(text=TEXT, inside="", behind=WAIT)
PRINTS = "from cpgnn.cli import app as cli; cli.app = lambda: print('x' * 9); cli.main()"


def run(code, stdout, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_output_does_not_undo_what_was_written(tmp_path):
    with open("/dev/full", "wb") as full:
        done = run(WRITES, full)
        assert done.returncode == 0
        assert (
            b"run was written, but not everything was printed: no space left on device"
            in done.stderr
        )
        assert (tmp_path / "run/x").read_text() == "1"
        done = run(PRINTS, full)
    assert done.returncode == 1
    assert done.stderr == b"Error: Cannot print: no space left on device.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("gone", ["2>/dev/full", "2>&-", ">/dev/full 2>&1", "<&- >&- 2>&-"])
def test_messages_that_cannot_be_shown_undo_nothing(tmp_path, gone):
    """As into a log on a full disk: messages come before the work is done."""
    script = tmp_path / "command.py"
    said = "print('note', file=sys.stderr, flush=True)"
    script.write_text(FOLDER.format(text=TEXT, inside=said, behind=said), encoding="utf-8")
    words = ["sh", "-c", f'exec "$0" "$1" {gone}', sys.executable, str(script)]
    assert subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert (tmp_path / "run/x").read_text() == "1"


def test_a_closed_output(tmp_path):
    script = tmp_path / "command.py"
    for code, expected in ((WRITES, 0), (PRINTS, 1)):
        script.write_text(code, encoding="utf-8")
        words = ["sh", "-c", 'exec "$0" "$1" >&-', sys.executable, str(script)]
        done = subprocess.run(words, stderr=subprocess.PIPE, check=False)
        assert done.returncode == expected
        assert b"bad file descriptor" in done.stderr
    assert (tmp_path / "run/x").read_text() == "1"  # and nothing was printed into it


def test_a_reader_that_went_away(tmp_path):
    read, write = os.pipe()
    os.close(read)
    for code, expected in ((WRITES, 0), (PRINTS, 141)):
        done = run(code, write)
        assert (done.returncode, done.stderr) == (expected, b"")
    os.close(write)


@pytest.mark.parametrize("settings", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}])
def test_ascii(settings):
    done = run(WRITES, subprocess.PIPE, **settings, PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b'accuracy 70-76 % ..., >= 3 "?"\n'


def test_no_name_rewrites_a_line():
    names = ["\x1b[2J", "a\rb", "\u202egnp", "\u2066x", "\ufeff", "\U000e0041", "\u2028", "\x9b1m"]
    plain = "é 日本 \U0001f468\u200d\U0001f469 tab\t"
    code = "import json; from cpgnn.cli import app as cli; "
    code += f"cli.app = lambda: print(json.dumps({[*names, plain]!a}, ensure_ascii=False)); "
    done = run(code + "cli.main()", subprocess.PIPE, PYTHONUTF8="1")
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()
    assert json.loads(shown) == [*names, plain]
    unseen = {character for name in names for character in name if not character.isprintable()}
    assert len(unseen) == 8
    assert not unseen & set(shown)
    assert "é 日本 \U0001f468\u200d\U0001f469" in shown


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("behind", [False, True])
def test_signals_leave_nothing_half_done(tmp_path, name, behind):
    number = getattr(signal, name)
    words = [sys.executable, "-c", WAITS_BEHIND if behind else WAITS]
    heeded = lambda: signal.signal(number, signal.SIG_DFL)  # noqa: E731  (tests under nohup)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": heeded}
    with subprocess.Popen(words, **pipes) as child:
        assert child.stdout is not None
        while b"ready" not in child.stdout.readline():
            assert child.poll() is None
        child.send_signal(number)
        error = child.communicate(timeout=60)[1].decode()
    assert child.returncode == 128 + number
    assert ("run was written" if behind else "nothing was written") in error
    assert os.listdir(tmp_path) == (["run"] if behind else [])


def test_an_ignored_signal_stays_ignored(tmp_path):
    """As after `nohup`."""
    code = "import os, signal; from cpgnn.cli import app as cli\n"
    code += "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "cli.app = lambda: (os.kill(os.getpid(), signal.SIGHUP), print('still here'))\n"
    done = run(code + "cli.main()", subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, b"still here\n")


@pytest.mark.skipif(os.name == "nt", reason="no such limit")
@pytest.mark.parametrize("limit", [300_000_000, 900_000_000])
def test_too_small_an_address_space_is_named(limit):
    """For the libraries already, some of which would end the process."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({limit},) * 2)\n"
    done = run(code + PRINTS, subprocess.PIPE)
    assert done.returncode == 2
    assert f"limited to {limit / 1e9:.1f} GB, which is not enough" in done.stderr.decode()


@pytest.mark.parametrize(
    "error",
    [
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        SystemError("error return without exception set"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
)
def test_what_libraries_say_when_memory_runs_out(error, monkeypatch, capsys):
    def fails():
        raise error

    monkeypatch.setattr("cpgnn.cli.app.address_space", lambda: 2 * 10**9)
    monkeypatch.setattr("cpgnn.cli.app.app", fails)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "limited to 2.0 GB" in capsys.readouterr().err
    monkeypatch.setattr("cpgnn.cli.app.address_space", lambda: None)
    if isinstance(error, SystemError):  # then it is a defect, which must be seen
        with pytest.raises(SystemError):
            main()

"""Every step in which a process touches the disk: counted, failed or fatal.

A step is what Python announces to audit hooks before it happens (opening for writing, renaming,
making and removing) and every write to an atomic file. Hooks cannot be taken away again, so one
hook serves all tests and is idle outside `watched`.
"""

from __future__ import annotations

import errno
import os
import pathlib
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STEPS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"}
FORBIDDEN = {
    *("pickle.find_class", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"),
    *("os.spawn", "os.startfile", "subprocess.Popen", "pty.spawn", "exec", "marshal.loads"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname"),
    *("urllib.Request", "ftplib.connect", "smtplib.connect", "ctypes.dlopen", "code.__new__"),
    *("webbrowser.open", "sqlite3.connect"),
}
_watchers: list[Callable[[str, tuple[Any, ...]], None]] = []
_installed = False


def _hook(event: str, given: tuple[Any, ...]) -> None:
    for watch in _watchers:
        watch(event, given)


@contextmanager
def watched(watch: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    """`watch(event, arguments)` is called for every audit event inside."""
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    _watchers.append(watch)
    try:
        yield
    finally:
        _watchers.remove(watch)


def writes_to(event: str, given: tuple[Any, ...]) -> str | None:
    """The path that an event changes, if it changes one."""
    if event == "open":
        path, mode, flags = given
        writing = (isinstance(mode, str) and any(c in mode for c in "wxa+")) or (
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        return os.fsdecode(path) if writing and not isinstance(path, int) else None
    return os.fsdecode(given[0]) if event in STEPS and given else None


@contextmanager
def stepping(reach: Callable[[int], None], monkeypatch: Any) -> Iterator[list[str]]:
    """Calls `reach(n)` before the n-th step, from 1; hands out the list of steps so far."""
    steps: list[str] = []

    def watch(event: str, given: tuple[Any, ...]) -> None:
        path = writes_to(event, given)
        if path is not None and os.devnull not in path:
            steps.append(event)
            reach(len(steps))

    opened = pathlib.Path.open

    def open_stepping(path: pathlib.Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        file = opened(path, mode, *rest, **more)
        return (
            _Stepping(file, lambda: (steps.append("write"), reach(len(steps))))
            if (mode == "xb")
            else file
        )

    with monkeypatch.context() as patch, watched(watch):
        patch.setattr(pathlib.Path, "open", open_stepping)
        yield steps


class _Stepping:
    """A binary file whose writes are steps."""

    def __init__(self, file: Any, step: Callable[[], Any]) -> None:
        self._file, self._step = file, step

    def write(self, data: Any) -> int:
        self._step()
        return self._file.write(data)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()


def fail_at(step: int) -> Callable[[int], None]:
    """No space left on the device, once."""

    def reach(number: int) -> None:
        if number == step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return reach


def killed_at(step: int, work: Callable[[], object], monkeypatch: Any) -> bool:
    """Does the work in a child that is killed before that step; whether it came so far."""

    def reach(number: int) -> None:
        if number == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which nobody needs
        child = os.fork()
    if child == 0:
        code = 1
        try:
            with stepping(reach, monkeypatch):
                work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False

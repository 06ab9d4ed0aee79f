"""A terminal that is closed, full or knows ASCII only, and signals that end a command.

What a command did decides its exit code; what it prints degrades.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

PLAIN = {"–": "-", "−": "-", "…": "...", "≥": ">=", "≤": "<=", "“": '"', "”": '"', "×": "x"}
"""What stands for a character where the terminal lacks it; "?" for all others."""
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""What moves the cursor, turns the direction of a line or is not there to see."""
SIGNALS = {"SIGINT": "Interrupted", "SIGTERM": "Terminated", "SIGHUP": "The terminal was closed"}


class Output(io.RawIOBase):
    """Standard output or error; what cannot be written is dropped, and `error` says why."""

    def __init__(self, handle: int, error: OSError | None = None) -> None:
        self.handle, self.error = handle, error

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.handle

    def isatty(self) -> bool:
        return os.isatty(self.handle)

    def write(self, data: Any) -> int:
        if self.error is None:
            try:
                return os.write(self.handle, data)
            except OSError as error:
                self.error = error
        return len(data)


class Printed(io.TextIOWrapper):
    """Text in which no name can rewrite a line; escaped as in JSON, which stays valid."""

    def write(self, text: str) -> int:
        super().write(UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text))
        return len(text)


@contextmanager
def safe_output() -> Iterator[Output | None]:
    """Inside, printing never fails; None where somebody else has taken standard output."""
    codecs.register_error("cpgnn", _degraded)
    with _safe("stderr", io.TextIOWrapper), _safe("stdout", Printed) as output:
        yield output


@contextmanager
def _safe(name: str, kind: type[io.TextIOWrapper]) -> Iterator[Output | None]:
    before = getattr(sys, name)
    if before is not getattr(sys, f"__{name}__"):
        yield None
        return
    if before is None:  # closed; another file must not get its number and be printed into
        gone = OSError(errno.EBADF, os.strerror(errno.EBADF))
        raw = Output(os.open(os.devnull, os.O_WRONLY), gone)
    else:
        raw = Output(before.fileno())
    made = kind(
        io.BufferedWriter(raw),
        encoding="utf-8" if before is None else before.encoding,
        errors="cpgnn",
        line_buffering=name == "stderr" or raw.isatty(),
    )
    setattr(sys, name, made)
    try:
        yield raw
    finally:
        made.flush()
        setattr(sys, name, before)


def _degraded(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in lacking), error.end


class Stopped(BaseException):
    """Ctrl-C or another signal. Not a KeyboardInterrupt: typer would end without a word."""

    def __init__(self, number: int) -> None:
        self.number, self.word = number, SIGNALS[signal.Signals(number).name]


@contextmanager
def stopping() -> Iterator[None]:
    """Signals inside raise `Stopped` once, so that everything is cleaned up on the way out.

    One that is ignored stays so, as after nohup; but for Ctrl-C, which shells let background jobs
    ignore.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name)):
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _: Any) -> NoReturn:
    for name in SIGNALS:  # a second one must not interrupt the cleaning up
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    raise Stopped(number)

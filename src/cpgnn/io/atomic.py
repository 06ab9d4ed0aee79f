"""Files and folders that appear whole or not at all, whenever the process ends.

Everything is built under `.<name>.partial-<process>-<random>` in the same parent folder, flushed
to the disk and renamed into place. What a killed process left behind is removed by the next one
that writes to the same name.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from cpgnn.io.files import StrPath, failed, wrong

_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"  # process numbers count per machine
placed: list[Path] = []
"""What this process has written, so that a command that is stopped can name it."""


@contextmanager
def atomic_write(path: StrPath) -> Iterator[IO[bytes]]:
    """A binary file to write to; it takes the place of `path` when the block ends well.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "out.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write(b"whole")
    >>> path.read_bytes()
    b'whole'
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        got = "a folder" if path.is_dir() else "a device or a pipe"
        raise wrong(path, "The output", "be a file", got)
    given, path = path, Path(os.path.realpath(path))  # a link stays; what it leads to is written
    partial = _partial(path)
    try:
        with _system_errors(given):
            _sweep(path)
            file = partial.open("xb")
        with file:
            yield file
            with _system_errors(given):
                file.flush()
                os.fsync(file.fileno())
        with _system_errors(given):
            os.replace(partial, path)
            placed.append(given)
            _sync(path.parent)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def atomic_folder(path: StrPath) -> Iterator[Path]:
    """A new, empty folder to fill; it becomes `path` when the block ends well.

    `path` must not exist, or be an empty folder; missing parents are made.
    """
    path = Path(os.path.abspath(path))
    check_free(path)
    made = [parent for parent in path.parents if not parent.exists()]
    partial = _partial(path)
    try:
        with _system_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path)
            partial.mkdir()
        yield partial
        with _system_errors(path):
            for folder, _, files in os.walk(partial):
                for name in files:
                    _sync(Path(folder, name))
                _sync(Path(folder))
        check_free(path)  # somebody else may have been faster
        with _system_errors(path):
            os.rename(partial, path)
            placed.append(path)
            _sync(path.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


def check_free(path: StrPath) -> None:
    """Refuse an output folder that is a file, has content or cannot be made."""
    path = Path(path)
    with _system_errors(path):
        got, hint = "", "Choose another name."
        if path.is_dir():
            if content := sorted(entry.name for entry in os.scandir(path)):
                got, hint = f"one with {content[0]!r}", "Choose another name, or remove it first."
        elif os.path.lexists(path):
            got = "a file"
        if got:
            raise wrong(path, "The output folder", "be new or empty", got, hint)
        near = next(parent for parent in path.absolute().parents if parent.exists())
        if not near.is_dir():
            raise wrong(path, "The output folder", "lie inside a folder", f"the file {near}")
        if not os.access(near, os.W_OK | os.X_OK):
            problem = f"Cannot write here: permission denied in {near}"
            raise failed(path, problem, "Choose another place.")


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "Check the folder, its permissions and the free disk space."
        raise failed(path, f"Cannot write here: {reason}", hint) from None


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial-{os.getpid()}-{_HOST}{secrets.token_hex(4)}")


def _sweep(path: Path) -> None:
    """Remove what dead processes of this machine left behind for the same name."""
    start = f".{path.name}.partial-"
    for entry in os.scandir(path.parent):
        if not entry.name.startswith(start):
            continue
        process, _, token = entry.name.removeprefix(start).partition("-")
        if not process.isdigit() or not token.startswith(_HOST) or _is_alive(int(process)):
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(entry.path)


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # there a signal of 0 is not a question
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _sync(path: Path) -> None:
    """Flush a file or folder to the disk, where the system can."""
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

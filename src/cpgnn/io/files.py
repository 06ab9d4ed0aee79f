"""A user's files: opened safely, and named with the line in every error about them."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from cpgnn.engine.memory import memory_limit
from cpgnn.engine.text import first_line
from cpgnn.errors import InputError, Message, advise, must_be, tidy
from cpgnn.io.address import StrPath as StrPath
from cpgnn.io.presence import no_such_file

GZIP_MAGIC = b"\x1f\x8b"
HEAD = 64
"""Bytes that tell UTF-16."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
PART = 1 << 24
SMALL, RATIO = 1 << 26, 200
"""What unpacks to more must not be so many times as large as the file: tables pack to a tenth."""


class Transcoded(io.BytesIO):
    """The bytes of a file in another encoding, as UTF-8."""

    def __init__(self, content: bytes, encoding: str):
        super().__init__(content)
        self.encoding = encoding


class NotUTF8Error(InputError):
    """A text file in another encoding."""


def wrong(
    path: StrPath,
    what: str,
    must: str,
    got: object,
    hint: str = "",
    *,
    line: int | None = None,
    row: int | None = None,
    kind: type[InputError] = InputError,
) -> InputError:
    """ "FILE, line N: WHAT must MUST. Got GOT. HINT" (rows in Parquet); both count from 1."""
    place = f", line {line}" if line is not None else f", row {row}" if row is not None else ""
    error = kind(Message(f"{tidy(str(path))}{place}: ", must_be(what, must, got, hint).args[0]))
    error.file, error.line = str(path), line
    error.affected = 1 if place else None
    return error


def text_path(path: Path) -> str:
    """The path, for a library that accepts only UTF-8."""
    try:
        return os.fsencode(path).decode()
    except UnicodeDecodeError:
        hint = "Rename the file, or the folder it is in."
        raise wrong(path, "The path", "be UTF-8", "other bytes", hint) from None


def failed(path: StrPath, problem: str, hint: str = "") -> InputError:
    """ "FILE: PROBLEM. HINT", where nothing was expected of the content."""
    error = InputError(f"{tidy(str(path))}: {tidy(problem)}.{' ' * bool(hint)}{hint}")
    error.file = str(path)
    return error


@contextmanager
def about(path: StrPath) -> Iterator[None]:
    """Puts the file in front of the message of an `InputError` raised inside."""
    try:
        yield
    except InputError as error:
        named = InputError(Message(f"{tidy(str(path))}: ", *error.args))
        named.file = str(path)
        raise named from None


@contextmanager
def opened(path: Path, encoding: str | None = None) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if it is gzip; what the system refuses is an `InputError`.

    UTF-16 becomes UTF-8, and so does text in the `encoding`, if one is named. Errors while reading
    count too: a truncated or damaged `.gz` is found only on the way. Pipes and devices are refused:
    they may never begin or end, and can be read only once.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise failed(path, "This is a pipe or a device, not a file", "Save its content in a file.")
    try:
        with path.open("rb") as raw:
            magic = raw.read(2)
            raw.seek(0)
            if magic == GZIP_MAGIC:
                with gzip.GzipFile(fileobj=raw) as stream:
                    yield _as_utf8(path, cast(IO[bytes], stream), encoding)
            elif path.suffix.lower() == ".gz":
                got = "other content" if magic else "an empty file"
                hint = "Copy it again, or rename it if it is not packed."
                raise wrong(path, "A '.gz' file", "be gzip", got, hint)
            else:
                yield _as_utf8(path, raw, encoding)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except IsADirectoryError:
        raise failed(path, "This is a folder, not a file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"The '.gz' file is damaged or cut short ({first_line(error)})"
        raise failed(path, problem, "Copy or download it again.") from None
    except OSError as error:
        reason = error.strerror or first_line(error)
        raise failed(path, f"Cannot read the file: {reason.lower()}") from None


def _as_utf8(path: Path, stream: IO[bytes], encoding: str | None) -> IO[bytes]:
    """The stream at its start: as it is, or from UTF-16 or the named encoding."""
    head = stream.read(HEAD)
    stream.seek(0)
    encoding = _utf16(head) or encoding
    if encoding is None:
        return stream
    try:
        text = all_bytes(path, stream).decode(encoding)
    except UnicodeError as error:
        hint = "" if _utf16(head) else advise("Name another with {}.", encoding="…")
        must = "be whole"
        raise wrong(path, f"A {named(encoding)} file", must, first_line(error), hint) from None
    return Transcoded(text.encode(), encoding)


def _utf16(head: bytes) -> str | None:
    """UTF-16, by its mark, or by the zero bytes in every second place."""
    if head.startswith(UTF16_MARKS):
        return "utf-16"
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
        others = head[0::2] if encoding == "utf-16-le" else head[1::2]
        if len(head) >= 8 and zeros.count(0) > 0.9 * len(zeros) and not others.count(0):
            return encoding
    return None


def named(encoding: str) -> str:
    return {"cp1252": "Windows-1252"}.get(encoding, "UTF-16" if "utf-16" in encoding else encoding)


def is_encoding(name: str) -> bool:
    """Whether Python can read text in an encoding of that name."""
    try:
        b"a".decode(name)
    except (LookupError, ValueError):
        return False
    return True


def western(path: Path) -> str | None:
    """The encoding of a text file that is not UTF-8, where it can be Windows-1252 (or Latin-1).

    Not so if other letters of it are UTF-8, which is then damaged.
    """
    with opened(path) as stream:
        content = all_bytes(path, stream)
    text = content.decode("utf-8", "surrogateescape")
    is_utf8 = any(char > "\x7f" and not "\ud800" <= char <= "\udfff" for char in set(text))
    try:
        content.decode("cp1252")
    except UnicodeError:
        return None
    return None if is_utf8 else "cp1252"


def arrow_source(path: Path, stream: Any, skip: int = 0) -> Any:
    """The bytes of an opened file from `skip` on, as something pyarrow reads without Python.

    Never hand it a Python stream: its reading threads may still be inside when the interpreter
    ends, and the process aborts.
    """
    if isinstance(stream, gzip.GzipFile | Transcoded):
        return pa.BufferReader(all_bytes(path, stream, skip))
    file = pa.OSFile(os.fsencode(path))
    file.seek(skip)
    return file


def all_bytes(path: Path, stream: Any, skip: int = 0) -> bytes:
    """All bytes of a stream from `skip` on, refused beyond what memory could hold."""
    return b"".join(parts_of(path, stream, skip))


def parts_of(path: Path, stream: Any, skip: int = 0) -> Iterator[bytes]:
    """The same in parts: read at once, it would fill the memory before it is counted."""
    stream.seek(skip)
    limit, size = memory_limit(), 0
    if isinstance(stream, gzip.GzipFile):
        limit = min(limit, max(SMALL, RATIO * path.stat().st_size))
    while part := stream.read(PART):
        size += len(part)
        if size > limit:
            raise wrong(path, "The file", f"unpack to at most {limit:,} bytes", "more")
        yield part

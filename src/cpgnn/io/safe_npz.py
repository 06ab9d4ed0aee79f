"""Arrays from an `.npz` that may be broken or hostile: no pickle, nothing allocated on trust."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cpgnn.errors import InputError
from cpgnn.io.places import StrPath, first_line, memory_limit, opened, wrong

MAX_MEMBERS = 1000
_CHUNK = 16 << 20
_DEFLATE_RATIO = 1100  # deflate cannot shrink more than 1032-fold
_KINDS = "biufUS"
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


def read_npz_arrays(path: StrPath, *, limit: int | None = None) -> dict[str, np.ndarray]:
    """All arrays of an `.npz` by name.

    Every member's header is checked against its size in the zip, and the sum of all against
    `limit` (bytes; half of the memory by default), before the first array is allocated.
    """
    path = Path(path)
    most = memory_limit() if limit is None else limit
    with opened(path) as stream, _refusing(path), zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if total > most:
            hint = "Use a machine with more memory, or check the file."
            raise wrong(path, "The arrays", f"fit into {most:,} bytes", f"{total:,}", hint)
        names = [member.filename for member in members]
        if len(names) > MAX_MEMBERS or len(set(names)) < len(names):
            must = f"have up to {MAX_MEMBERS:,} members, each once"
            raise wrong(path, "An '.npz' file", must, f"{len(names):,} members")
        size = path.stat().st_size
        headers = {m.filename: _header(path, archive, m, size) for m in members}
        return {
            name.removesuffix(".npy"): _array(path, archive, name, *header)
            for name, header in headers.items()
        }


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What zip, deflate and numpy say about a broken file, as an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except _BROKEN as error:
        hint, must = "Write or download it again.", "be a whole zip archive"
        raise wrong(path, "An '.npz' file", must, first_line(error), hint) from None


Header = tuple[tuple[int, ...], bool, np.dtype]


def _header(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, size: int) -> Header:
    name = member.filename
    if not name.endswith(".npy"):
        raise wrong(path, "An '.npz' file", "hold arrays only", f"a member {name!r}")
    stored = member.compress_type == zipfile.ZIP_STORED
    ratio = 1 if stored else _DEFLATE_RATIO
    if member.compress_size > size or member.file_size > ratio * member.compress_size + 1024:
        got = f"{member.file_size:,} bytes packed in {member.compress_size:,}"
        raise wrong(path, f"Array {name!r}", "have a possible size", got)
    with archive.open(member) as stream:
        try:
            version = np.lib.format.read_magic(stream)
            if version != (1, 0):
                raise ValueError(f"format {version}")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        except ValueError as error:
            must = "begin as a NumPy array"
            raise wrong(path, f"Array {name!r}", must, first_line(error)) from None
        begin = stream.tell()
    if dtype.kind not in _KINDS or dtype.hasobject:
        hint = "Python objects are never loaded." if dtype.hasobject else ""
        raise wrong(path, f"Array {name!r}", "hold numbers or text", f"dtype {dtype}", hint)
    declared = begin + math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or declared != member.file_size:
        got = f"shape {shape} of {dtype} in {member.file_size:,} bytes"
        raise wrong(path, f"Array {name!r}", "be as large as its header says", got)
    return shape, fortran, dtype


def _array(
    path: Path,
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    fortran: bool,
    dtype: np.dtype,
) -> np.ndarray:
    flat = np.empty(math.prod(shape), dtype=dtype)
    with archive.open(name) as stream:
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        if flat.nbytes:
            buffer, done = flat.view(np.uint8), 0
            while done < len(buffer):
                part = stream.read(min(_CHUNK, len(buffer) - done))
                if not part:
                    raise wrong(path, f"Array {name!r}", "be whole", f"{done:,} bytes of it")
                buffer[done : done + len(part)] = np.frombuffer(part, dtype=np.uint8)
                done += len(part)
        stream.read(1)  # at the end the checksum is compared
    return flat.reshape(shape, order="F" if fortran else "C")

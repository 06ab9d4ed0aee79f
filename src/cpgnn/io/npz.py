"""Arrays from an `.npz` that may be broken or hostile: no pickle, nothing allocated on trust."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np

from cpgnn.engine.memory import memory_limit
from cpgnn.engine.text import first_line
from cpgnn.errors import InputError
from cpgnn.io.files import StrPath, opened, wrong

Arrays = dict[str, np.ndarray]

MAX_MEMBERS = 1000
_DEFLATE_RATIO = 1100  # deflate cannot shrink more than 1032-fold


def read_npz_arrays(path: StrPath, *, limit: int | None = None) -> Arrays:
    """All arrays of an `.npz` by name.

    NumPy allocates what an array's header claims. So every header is compared with the size of
    its member in the zip, and the sum with `limit` (bytes; half of the memory by default), before
    NumPy reads the first one.
    """
    path = Path(path)
    most = memory_limit() if limit is None else limit
    try:
        with opened(path) as stream, zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > most:
                hint = "Use a machine with more memory, or check the file."
                raise wrong(path, "The arrays", f"fit into {most:,} bytes", f"{total:,}", hint)
            names = [member.filename for member in members]
            if len(names) > MAX_MEMBERS or len(set(names)) < len(names):
                must = f"have up to {MAX_MEMBERS:,} members, each once"
                raise wrong(path, "An '.npz' file", must, f"{len(names):,} members")
            for member in members:
                _check_member(path, archive, member)
            arrays = {}
            for name in names:
                with archive.open(name) as data:
                    array = np.lib.format.read_array(data, allow_pickle=False)
                _check_text(path, name, array)
                arrays[name.removesuffix(".npy")] = array
            return arrays
    except (InputError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds on broken bytes
        must, hint = "be a whole zip archive", "Write or download it again."
        raise wrong(path, "An '.npz' file", must, first_line(error), hint) from None


def _check_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    name, size = member.filename, member.file_size
    if not name.endswith(".npy"):
        raise wrong(path, "An '.npz' file", "hold arrays only", f"a member {name!r}")
    ratio = 1 if member.compress_type == zipfile.ZIP_STORED else _DEFLATE_RATIO
    if member.compress_size > path.stat().st_size or size > ratio * member.compress_size + 1024:
        got = f"{size:,} bytes packed in {member.compress_size:,}"
        raise wrong(path, f"Array {name!r}", "have a possible size", got)
    with archive.open(member) as stream:
        try:
            version = np.lib.format.read_magic(stream)
            if version != (1, 0):
                raise ValueError(f"format {version}")
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        except Exception as error:  # the header is Python's syntax, with all its errors
            must = "start like a NumPy array"
            raise wrong(path, f"Array {name!r}", must, first_line(error)) from None
        begin = stream.tell()
    if dtype.kind not in "biufUS":
        hint = "Python objects are never loaded." if dtype.hasobject else ""
        raise wrong(path, f"Array {name!r}", "hold numbers or text", f"dtype {dtype}", hint)
    if min(shape, default=0) < 0 or begin + math.prod(shape) * dtype.itemsize != size:
        got = f"shape {shape} of {dtype} in {size:,} bytes"
        raise wrong(path, f"Array {name!r}", "be as large as its header says", got)


def _check_text(path: Path, name: str, array: np.ndarray) -> None:
    """NumPy keeps any number as a character; Python ends in errors on those beyond Unicode."""
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    points = np.ascontiguousarray(array).view(array.dtype.str[0] + "u4")
    if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise wrong(path, f"Array {name!r}", "hold Unicode text", "other code points")

"""Files that are almost right: each mutator changes a good one in a way that its format allows.

Random bytes seldom get past the first check of a reader. So archives are packed again with the
right checksums, JSON is changed entry by entry, and arrays and columns get other types and values.
"""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
import tree_texts

NUMBERS = (
    *("0", "-0", "-1", "1", "2", "0.5", "1e999", "-1e999", "1e-99999999999", "1e400", "NaN"),
    *("inf", "-Infinity", "9" * 30, "9" * 400, "2147483648", "4294967296", "9223372036854775808"),
    *("0x10", "1_000", "1,5", "1.234,50", "١٢", "007", "+7", "1e5", "3e38", "1e39", "100000"),
)
TEXTS = (
    *("", " ", "\t", "a", "b", "class", "id", "label", "source", "p_a", "train", "null", "None"),
    *("=1+1", "@x", "-x", "+x", "\x1b[31m", "\x00", "\x7f", "\u202e", "\u2028", "é", "e\u0301"),
    *("\ufeff", "\U0010ffff", "<b>", "&amp;", "]]>", '"', '""', "'", ",", ";", "\n", "\r", "\r\n"),
    *("a\nb", " a", "a ", "x" * 3000, "[" * 2000, "{" * 200, "#", "%", "\\", "../x", "é" * 300),
)
TOKENS = (
    *(text.encode() for text in (*NUMBERS, *TEXTS)),
    *(b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"),
    *(b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"\x93NUMPY", b"\x00" * 8, b"\xff" * 8),
    *(b"<node id='a'/>", b"<edge source='a' target='b'/>", b"<data key='w'>", b"</data>", b"<!--"),
    *(b"<![CDATA[", b"<!DOCTYPE x>", b"&#0;", b"&#xD800;", b"&#10;", b"<graph>", b"<port/>"),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        0.5,
        1e308,
        float("nan"),
        float("inf"),
        2**31,
        2**63,
        10**400,
    ),
    *("", "a", "b", "1", "x" * 3000, "\x1b", "\ud800", [], {}, [[]], [None], {"a": 1}, [1, 2, 3]),
    *([[1.0, 0.0], [0.0, 1.0]], "none", "sym", "mlp", "standard", -(2**70), 1e-320),
)
LARGEST = 1 << 20
"""Bytes that a repetition may add."""
Mutator = Callable[[random.Random, bytes], bytes]


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """One to four changes of bytes, spans, tokens or numbers."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(made) + 1)
        span = rng.choice((1, 1, 2, 4, 16, 256))
        match rng.randrange(8):
            case 0 if made:
                made[at % len(made)] ^= 1 << rng.randrange(8)
            case 1 if made:
                made[at % len(made)] = rng.choice((0, 9, 10, 13, 34, 44, 127, 128, 255))
            case 2:
                del made[at : at + span]
            case 3:
                made[at:at] = rng.choice(TOKENS)
            case 4:
                made[at : at + span] = rng.choice(TOKENS)
            case 5:
                made[at:at] = _repeated(rng, bytes(made[at : at + span]), (1, 2, 30, 3000))
            case 6:
                del made[at:]
            case 7:
                made = _other_number(rng, made)
    return bytes(made)


def _repeated(rng: random.Random, piece: bytes, times: tuple[int, ...]) -> bytes:
    return piece * min(rng.choice(times), LARGEST // max(1, len(piece)))


def _other_number(rng: random.Random, made: bytearray) -> bytearray:
    digits = [i for i, byte in enumerate(made) if 48 <= byte <= 57]
    if digits:
        at = end = rng.choice(digits)
        while end < len(made) and made[end] in b"0123456789.eE+-":
            end += 1
        made[at:end] = rng.choice(NUMBERS).encode()
    return made


def mutate_lines(rng: random.Random, data: bytes) -> bytes:
    """Lines of a table moved, repeated or dropped; cells changed; now and then other bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(rng, data)
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(lines))
        cells = lines[at].split(b",")
        match rng.randrange(7):
            case 0:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                cells[rng.randrange(len(cells))] = rng.choice(TOKENS)
                lines[at] = b",".join(cells)
            case 3:
                lines[at] += _repeated(rng, b"," + lines[at], (1, 2, 500))
            case 4:
                lines[at] = b",".join(cells[: rng.randrange(len(cells) + 1)])
            case 5:
                lines[at] += _repeated(rng, b"\n" + lines[at], (1, 5000))
            case 6:
                lines = [
                    line.replace(b",", rng.choice((b";", b"\t", b" ", b", "))) for line in lines
                ]
    return b"\n".join(lines)


def mutate_json(rng: random.Random, data: bytes) -> bytes:
    """One to three entries changed, removed, added or buried; now and then other bytes."""
    if rng.random() < 0.15:
        return mutate_bytes(rng, data)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(rng, data)
    for _ in range(rng.choice((1, 1, 1, 3))):
        places = list(_places(tree))
        if not places:
            break
        inside, key = rng.choice(places)
        match rng.randrange(6):
            case 0 | 1 | 2:
                inside[key] = rng.choice(VALUES)
            case 3:
                del inside[key]
            case 4 if isinstance(inside, dict):
                inside[rng.choice(("surprise", "", "a", "x" * 300))] = inside[key]
            case 5:
                deep: Any = inside[key]
                for _ in range(rng.choice((1, 2, 400))):
                    deep = [deep]
                inside[key] = deep
            case _:
                inside[key] = [inside[key]] * 3
    try:
        return json.dumps(tree).encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):  # too deep, or inside itself
        return b"[" * 5000


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting and len(found) < 5000:
        here = waiting.pop()
        keys = (
            here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        )
        for key in keys:
            found.append((here, key))
            waiting.append(here[key])
    return found


def mutate_npz(rng: random.Random, data: bytes) -> bytes:
    """Arrays with other values, types, shapes or names; broken members in a sound archive."""
    if rng.random() < 0.15:
        return mutate_bytes(rng, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members))
    except Exception:  # an earlier mutation broke the archive
        return mutate_bytes(rng, data)
    match rng.randrange(6):
        case 0:
            members[name] = mutate_bytes(rng, members[name])
        case 1:
            members[name] = mutate_bytes(rng, members[name][:100]) + members[name][100:]
        case 2:
            del members[name]
        case 3:
            members[rng.choice(list(members))] = members[name]
        case _:
            try:
                members[name] = _npy(rng, members[name])
            except Exception:  # NumPy itself ends on text that an earlier mutation broke
                members[name] = mutate_bytes(rng, members[name])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((0, 8))) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return made.getvalue()


def _npy(rng: random.Random, member: bytes) -> bytes:
    try:
        array = np.load(io.BytesIO(member))
    except Exception:  # an earlier mutation broke it
        return mutate_bytes(rng, member)
    flat = array.ravel().copy()
    at = rng.randrange(len(flat)) if len(flat) else 0
    match rng.randrange(8):
        case 0 | 1 if len(flat) and flat.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                value = rng.choice((0, -1, 1, 2, 2**31, 2**62, 10**9, 30_000_000, 255, 1e308))
                flat[at] = np.array(value).astype(flat.dtype)
            array = flat.reshape(array.shape)
        case 2:
            array = array[: rng.randrange(len(array) + 1)] if array.ndim else array
        case 3:
            kinds = (
                "<f8",
                "<f2",
                "<i8",
                "|u1",
                "|b1",
                ">i4",
                "<U3",
                "|S2",
                "<u8",
                "<c16",
                "<M8[s]",
            )
            with np.errstate(all="ignore"):
                try:
                    array = array.astype(rng.choice(kinds))
                except (ValueError, TypeError):
                    array = flat
        case 4:
            array = rng.choice((flat, array.T, array[None], np.array(7)))
        case 5:
            array = np.concatenate([flat, flat])
        case 6:
            array = np.array(
                [rng.choice(TEXTS) for _ in range(max(1, len(array) if array.ndim else 1))]
            )
        case _:
            array = np.array([], dtype=array.dtype)
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    changed = bytearray(made.getvalue())
    if array.dtype.kind == "U" and rng.random() < 0.5:  # beyond Unicode, and halves of pairs
        changed[-4:] = struct.pack("<I", rng.choice((0xD800, 0x110000, 0xFFFFFFFF, 0x1B, 0)))
    return bytes(changed)


def mutate_parquet(rng: random.Random, data: bytes) -> bytes:
    """Columns of other types, values and names; or other bytes."""
    if rng.random() < 0.5:
        return mutate_bytes(rng, data)
    try:
        table = pq.read_table(io.BytesIO(data))
    except Exception:  # an earlier mutation broke it
        return mutate_bytes(rng, data)
    rows = table.num_rows
    at = rng.randrange(max(1, table.num_columns))
    match rng.randrange(6):
        case 0 | 1 | 2 if table.num_columns:
            table = table.set_column(at, table.column_names[at], _column(rng, rows))
        case 3:
            table = table.append_column(rng.choice(TEXTS[:20]), _column(rng, rows))
        case 4 if table.num_columns:
            table = table.remove_column(at)
        case _:
            table = pa.concat_tables([table] * rng.choice((2, 300))) if rows else table
    made = io.BytesIO()
    try:
        pq.write_table(table, made, compression=rng.choice(("none", "zstd", "snappy")))
    except (pa.ArrowException, OSError, ValueError):
        return mutate_bytes(rng, data)
    return made.getvalue()


def _column(rng: random.Random, rows: int) -> pa.Array:
    kind = rng.randrange(9)
    texts: list[str] = [rng.choice(TEXTS) for _ in range(rows)]
    if kind == 0:
        return pa.array(texts)
    if kind == 1:
        return pa.array([rng.choice((None, 0, -1, 7, 2**62)) for _ in range(rows)], pa.int64())
    if kind == 2:
        return pa.array([rng.choice((None, 0.5, float("nan"), 1e308, 3.0)) for _ in range(rows)])
    if kind == 3:
        return pa.array([rng.choice((None, True)) for _ in range(rows)])
    if kind == 4:
        return pa.array([text.encode() + b"\xff" for text in texts], pa.binary())
    if kind == 5:
        return pa.array([[1, 2]] * rows)
    if kind == 6:
        return pa.array([{"a": 1}] * rows)
    if kind == 7:
        return pa.array(texts).dictionary_encode()
    return pa.array([0] * rows, rng.choice((pa.timestamp("s"), pa.date32(), pa.uint8())))


def mutate_safetensors(rng: random.Random, data: bytes) -> bytes:
    """Another header of the right length, other bytes, or sound tensors that do not fit."""
    if rng.random() < 0.2 or len(data) < 8:
        return mutate_bytes(rng, data)
    if rng.random() < 0.6:
        try:
            return _tensors(rng, data)
        except Exception:  # an earlier mutation broke it
            return mutate_bytes(rng, data)
    size = int.from_bytes(data[:8], "little")
    head = mutate_json(rng, data[8 : 8 + size])
    return len(head).to_bytes(8, "little") + head + data[8 + size :]


def _tensors(rng: random.Random, data: bytes) -> bytes:
    """One tensor with another type, shape, number or text; one tensor less, or one more."""
    tensors = safetensors.numpy.load(data)
    name = rng.choice(sorted(tensors))  # they are loaded in any order
    array = np.array(tensors[name])
    flat = array.ravel().copy()
    with np.errstate(all="ignore"):
        match rng.randrange(9):
            case 0:
                del tensors[name]
                return bytes(safetensors.numpy.save(tensors))
            case 1:
                kinds = ("float32", "float64", "int64", "uint8", "int32", "float16", "bool")
                array = array.astype(rng.choice(kinds))
            case 2:
                array = rng.choice((flat[: rng.randrange(flat.size + 1)], array.T, array[::-1]))
            case 3 | 4 if flat.size:
                value = rng.choice((0, -1, 1, 2, 1e30, -1e38, np.nan, np.inf, 2**31, 2**62, 255))
                flat[rng.randrange(flat.size)] = np.array(value).astype(flat.dtype)
                array = flat.reshape(array.shape)
            case 5:
                array = (array * np.array(rng.choice((1e30, 1e38, -1, 0)))).astype(array.dtype)
            case 6:
                tensors[rng.choice(sorted(tensors))] = array
            case 7:
                name = rng.choice(("surprise", "blend.9.w", "honest.nodes", "scaler.mean"))
            case _ if array.dtype == np.uint8:
                text = flat.tobytes().decode("latin-1")
                if text.startswith("tree"):
                    text = tree_texts.mutated(rng, text)
                else:
                    text = mutate_json(rng, text.encode()).decode("latin-1")
                array = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    tensors[name] = np.ascontiguousarray(array)
    return bytes(safetensors.numpy.save(tensors))


MUTATORS: dict[str, Mutator] = {
    ".csv": mutate_lines,
    ".json": mutate_json,
    ".npz": mutate_npz,
    ".parquet": mutate_parquet,
    ".graphml": mutate_bytes,
    ".gz": mutate_bytes,
    ".safetensors": mutate_safetensors,
}

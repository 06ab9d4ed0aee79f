"""Data inside a page: JSON that cannot end its script, numbers as compressed typed arrays."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

ARRAYS = {
    "|u1": "Uint8Array",
    "<u2": "Uint16Array",
    "<i2": "Int16Array",
    "<u4": "Uint32Array",
    "<f4": "Float32Array",
}
"""Types of NumPy and what JavaScript calls them."""

ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def script_json(value: Any) -> Markup:
    """JSON for `<script type="application/json">`: no text in it can close the element.

    >>> script_json({"id": "</script>"})
    Markup('{"id":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(ESCAPES).encode("utf-8", "replace").decode("utf-8"))


def packed(array: np.ndarray) -> dict[str, str]:
    """An array, flat, as the page unpacks it: little-endian, deflated, base64."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    kind = ARRAYS[array.dtype.str]
    return {"type": kind, "data": _deflated(array.tobytes())}


def packed_texts(texts: Sequence[str]) -> dict[str, str]:
    """A list of texts, as a JSON list, deflated."""
    text = json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))
    return {"type": "json", "data": _deflated(text.encode("utf-8", "replace"))}


def _deflated(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def smallest_index(array: np.ndarray) -> np.ndarray:
    """Indices in the narrowest unsigned type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def quantised(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows [n, …] as int16 and one float32 scale per row: values ≈ numbers · scale.

    The error is at most 1/65,534 of the largest value of the row.
    """
    flat = values.reshape(len(values), -1)
    top = np.abs(flat).max(axis=1, initial=0.0)
    scale = np.where(top > 0, top / 32767, 1.0).astype(np.float32)
    shape = (-1,) + (1,) * (values.ndim - 1)
    numbers = np.rint(values / scale.reshape(shape).astype(np.float64))
    return numbers.clip(-32767, 32767).astype(np.int16), scale

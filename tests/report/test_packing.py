"""Data in a page: it cannot break out, and it comes back as it went in."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.report.packing import packed, packed_texts, quantised, script_json, smallest_index


def unpacked(data: dict[str, str]) -> bytes:
    return zlib.decompress(base64.b64decode(data["data"]))


@given(st.lists(st.text(max_size=20), max_size=5))
def test_json_is_the_same_and_holds_no_markup(value):
    written = str(script_json({"names": value}))
    assert json.loads(written) == {"names": value}
    assert not set(written) & set("<>&\u2028\u2029")


def test_json_refuses_what_browsers_cannot_read():
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int16, np.uint32, np.float32])
def test_arrays_come_back(kind):
    array = np.array([[0, 1, 2], [3, 100, 127]]).astype(kind)
    data = packed(array.T)
    assert data["type"].lower() == f"{np.dtype(kind).name}array"
    back = np.frombuffer(unpacked(data), dtype=np.dtype(kind).newbyteorder("<"))
    np.testing.assert_array_equal(back, array.T.ravel())


def test_texts_come_back():
    texts = ["ä", "</script>", "a\nb", '"', "\u2028"]
    assert json.loads(unpacked(packed_texts(texts))) == texts


def test_indices_take_the_room_they_need():
    for top, kind in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        assert smallest_index(np.array([0, top])).dtype == kind
    assert smallest_index(np.array([], dtype=np.int64)).dtype == np.uint8


def test_numbers_keep_four_digits_of_the_largest():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((50, 3, 2)) * 10.0 ** rng.integers(-6, 6, (50, 1, 1))
    values[7] = 0
    numbers, scale = quantised(values)
    error = np.abs(numbers * scale[:, None, None].astype(float) - values).max(axis=(1, 2))
    assert (error <= np.abs(values).max(axis=(1, 2)) / 60_000).all()
    assert (numbers[7] == 0).all()

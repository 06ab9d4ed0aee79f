"""Node ids as JSON, so that a loaded blend matches those of a later graph as before."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from cpgnn.errors import must_be

KEPT = (str, int, float, bool)
"""What JSON gives back as it was; a tuple of these is a list there."""


def ids_as_json(ids: pd.Index) -> str:
    """A list of the ids; an id that would not come back as it was is an error."""
    if ids.dtype.kind == "f":  # of float32 too: by what they are written as
        ids = ids.astype(str).astype(np.float64)
    return json.dumps([_kept(id_) for id_ in ids.tolist()])


def ids_from_json(text: str, n: int) -> pd.Index:
    """What `ids_as_json` wrote; raises ValueError where these are not n different ids."""
    names = json.loads(text)
    found = [_back(name) for name in names] if isinstance(names, list) else []
    if not len(set(found)) == len(found) == n:
        raise ValueError(f"node_ids should name each of {n:,} nodes once")
    numbers = {type(name) for name in found} in ({int}, {float}, {bool})
    return pd.Index(found, dtype=None if numbers else object, tupleize_cols=False)


def _kept(id_: Any) -> Any:
    plain = id_.item() if isinstance(id_, np.generic) else id_
    kinds = {type(part) for part in plain} if type(plain) is tuple else {type(plain)}
    if kinds <= set(KEPT):
        return plain
    hint = "Give the nodes text or whole numbers as ids: node_ids."
    must = "be text, a number or a tuple of these to be saved"
    raise must_be("A node id", must, f"{id_!r} ({type(id_).__name__})", hint)


def _back(name: Any) -> Any:
    plain = tuple(name) if isinstance(name, list) else name
    if not all(type(part) in KEPT for part in (plain if isinstance(plain, tuple) else [plain])):
        raise ValueError("node_ids should be text, numbers or lists of these")
    return plain

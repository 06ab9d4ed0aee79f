"""Names that look alike to a person, and names that stand for "unknown"."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

# fmt: off
PLACEHOLDERS = frozenset((
    "?", "??", "-", "--", ".", "n/a", "na", "#n/a", "nan", "none", "null", "nil", "undefined",
    "unknown", "unk", "not known", "missing", "empty", "tbd", "unlabelled", "unlabeled",
    "unclassified", "unassigned",
))
# fmt: on


def alike(names: Iterable[object]) -> np.ndarray:
    """A group number for each name; names that differ only by case or surrounding spaces share it.

    int64 [n]; -1 for a name that is like no other.
    """
    text = pa.array(pd.Series(names, dtype=object).astype(str), pa.large_string())
    folded = pc.dictionary_encode(pc.utf8_lower(pc.utf8_trim_whitespace(text)))
    codes = folded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    shared = np.bincount(codes, minlength=1) > 1
    return np.where(shared[codes], codes, -1)


def stands_for_unknown(name: str, names: list[str]) -> bool:
    plain = name.strip().lower()
    if plain == "-1":  # a class of its own only beside other negative numbers
        return not any(other.strip().startswith("-") for other in names if other is not name)
    return plain.replace("_", " ") in PLACEHOLDERS

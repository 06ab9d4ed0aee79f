"""A scikit-learn classifier as bytes that can be somebody else's: skops, without any code in it.

Skops builds only types that cannot run code; but compiled ones among them believe their arrays,
and would read beyond them. Those are refused, too, and what is left must answer for one node.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from cpgnn.engine.text import first_line
from cpgnn.errors import must_be
from cpgnn.priors.members import estimated

COMPILED = ("sklearn.tree", "sklearn.svm", "sklearn.neighbors", "sklearn.ensemble._hist")


def dump_estimator(estimator: Any) -> bytes:
    try:
        from skops.io import dumps
    except ImportError:
        raise must_be(
            "A scikit-learn prior",
            "be saved with skops, which is not installed",
            type(estimator).__name__,
            "Try pip install 'cpgnn[skops]'.",
        ) from None
    data: bytes = dumps(estimator)
    foreign = _foreign(data)
    if foreign:
        raise must_be(
            "A scikit-learn prior",
            "be made of parts that can be loaded without trusting the file",
            foreign[0],
            "Fit again where it is needed, or try prior='trees', which can be saved.",
        )
    return data


def load_estimator(data: bytes, width: int, c: int) -> Any:
    """What `dump_estimator` wrote, for `width` columns and c classes; else a ValueError."""
    from skops.io import loads

    try:
        foreign = _foreign(data)
        if foreign:
            raise ValueError(f"it asks for {foreign[0]}, which could run code")
        estimator = loads(data, trusted=[])
        classes = np.asarray(estimator.classes_)
        if classes.dtype.kind not in "iu" or not set(classes.tolist()) <= set(range(c)):
            raise ValueError(f"its classes are not among {c}")
        if not np.isfinite(estimated(estimator, np.zeros((1, width), dtype=np.float32), c)).all():
            raise ValueError("it answers with numbers that are not finite")
    except Exception as error:  # of any kind: its parts are somebody else's
        raise ValueError(f"the estimator cannot be used: {first_line(error)}") from None
    return estimator


def _foreign(data: bytes) -> list[str]:
    """Types that could run code, or read beyond their arrays."""
    from skops.io import get_untrusted_types

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise ValueError("it is compressed, which skops never does here")
        schema = json.loads(archive.read("schema.json"))
    compiled = {module for module in _modules(schema) if module.startswith(COMPILED)}
    return [*get_untrusted_types(data=data), *sorted(compiled)]


def _modules(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield str(node.get("__module__"))
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from _modules(part)

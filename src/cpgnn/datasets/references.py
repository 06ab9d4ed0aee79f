"""The features of a generated graph, by the word that names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cpgnn.errors import must_be
from cpgnn.io import read_npz_arrays
from cpgnn.io.npz import features_in, names_in
from cpgnn.io.places import StrPath, wrong
from cpgnn.reference import Reference, gaussian_reference


def as_reference(features: StrPath, class_sizes: Sequence[int], seed: int = 0) -> Reference | None:
    """Features for classes of these sizes, or None for none.

    "gaussian" draws them, "none" is none, and anything else is the path of an `.npz` with features
    and labels: a graph file, a data set, or `features` [n, F] and `labels` [n] alone.
    """
    if str(features) == "none":
        return None
    if str(features) == "gaussian":
        return gaussian_reference(class_sizes, max(100, len(class_sizes)), seed=seed)
    path = Path(features)
    if path.suffix.lower() != ".npz":
        must = "be gaussian, none or the path of an .npz file"
        raise must_be("The features", must, repr(str(features)))
    arrays = read_npz_arrays(path)
    X, labels = features_in(path, arrays), arrays.get("labels")
    if X is None or labels is None or labels.dtype.kind not in "iu":
        must = "have 'features' and whole numbers as 'labels'"
        raise wrong(path, "A reference", must, ", ".join(sorted(arrays)[:8]) or "no arrays")
    names = names_in(path, arrays, "class_names")
    count = int(labels.max(initial=-1)) + 1
    classes = range(count) if names is None else names.tolist()
    return Reference(X.astype(np.float32), labels.astype(np.int64), tuple(classes))

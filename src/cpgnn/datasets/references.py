"""The features of a generated graph, by the word that names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cpgnn.datasets.load import cache_folder
from cpgnn.errors import must_be
from cpgnn.io import read_npz_arrays
from cpgnn.io.files import StrPath, wrong
from cpgnn.io.graph_npz import features_in, listed_arrays, names_in
from cpgnn.reference import Reference, gaussian_reference, ogbn_products_reference


def as_reference(features: StrPath, class_sizes: Sequence[int], seed: int = 0) -> Reference | None:
    """Features for classes of these sizes, or None for none.

    "gaussian" draws them, "none" is none, "ogbn-products" takes the paper's, and anything else is
    the path of an `.npz` with features and labels: a graph file, a data set, or `features` [n, F]
    and `labels` [n] alone.
    """
    if str(features) == "none":
        return None
    if str(features) == "gaussian":
        return gaussian_reference(class_sizes, max(100, len(class_sizes)), seed=seed)
    if str(features) == "ogbn-products":
        return ogbn_products_reference(cache_folder() / "ogb")
    path = Path(features)
    if path.suffix.lower() != ".npz":
        must = "be gaussian, none, ogbn-products or the path of an .npz file"
        raise must_be("The features", must, repr(str(features)))
    arrays = read_npz_arrays(path)
    X, labels = features_in(path, arrays), arrays.get("labels")
    if X is None or labels is None or labels.dtype.kind not in "iu":
        must = "have 'features' and whole numbers as 'labels'"
        raise wrong(path, "A reference", must, listed_arrays(arrays))
    names = names_in(path, arrays, "class_names")
    most = (len(labels) if names is None else len(names)) - 1
    low, high = (int(bound) for bound in (labels.min(), labels.max())) if labels.size else (0, -1)
    if low < -1 or high > most:
        got = low if low < -1 else high
        raise wrong(path, "A label", f"lie in 0 … {most}, or be -1 for none", got)
    classes = range(high + 1) if names is None else names.tolist()
    return Reference(X.astype(np.float32), labels.astype(np.int64), tuple(classes))

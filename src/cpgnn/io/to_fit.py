"""What a fit was given, as one graph and one split: ours, of NetworkX or PyG, scipy, or tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cpgnn.engine.arrays import labels_of
from cpgnn.engine.frames import label_series
from cpgnn.engine.inputs import to_graph
from cpgnn.engine.interchange import library
from cpgnn.engine.pyg_data import masks
from cpgnn.errors import must_be, notify, wrong_value
from cpgnn.graph import Graph
from cpgnn.io.column_choice import ColumnOptions as ColumnOptions
from cpgnn.io.read import read_graph
from cpgnn.splits import NOBODY, PARTS, Split, stratified_split


def to_fit(
    given: Any,
    y: Any = None,
    features: Any = None,
    split: Any = None,
    drawn: tuple[float, int] = (0.2, 0),
    columns: ColumnOptions | None = None,
) -> tuple[Graph, Split | None]:
    """The graph that a fit was given, with labels `y` and `features` where these are given too.

    A table of edges goes with tables of labels and features by node id, read like files
    (`read_graph`): a column `split` of the labels is the split, and so are the masks of a PyG
    `Data`, unless there is one; without a training mask, nodes in no other mask train. Without
    validation nodes, some of the training nodes, a share and the seed of which are `drawn`, become
    that. `columns` of tables are named as in `read_graph`.
    """
    if not isinstance(split, Split | None):
        hint = "Try Split(train, val, test) with positions, or Split.from_masks."
        raise wrong_value("split", "be a cpgnn.Split", type(split).__name__, hint)
    y = pd.Series(y) if isinstance(y, Mapping) else y
    parts: dict[str, np.ndarray] = {}
    if isinstance(given, pd.DataFrame):
        loaded = read_graph(given, y, features, **(columns or {}))
        graph = loaded.graph
        for notice in graph.notices:
            notify(notice)
        if loaded.split is not None:
            parts = {part: np.flatnonzero(loaded.split == part) for part in PARTS}
    elif columns:
        raise wrong_value(next(iter(columns)), "go with tables", type(given).__name__)
    else:
        graph = to_graph(given, labels=y is None)
        if features is not None:
            graph = graph.with_features(features)
        if y is not None:
            graph = graph.with_labels(label_series(y) if isinstance(y, pd.DataFrame) else y)
        parts = masks(given) if library(given) == "pyg" else {}
    _check_labels(graph)
    if split is not None or not parts:
        return graph, split
    if "train" not in parts:  # who is in no other part
        others = np.concatenate(list(parts.values()))
        parts["train"] = np.setdiff1d(np.arange(graph.num_nodes), others)
    train, val, test = (_labelled(graph, parts.get(part)) for part in PARTS)
    if len(val) == 0:
        share, seed = drawn
        dealt = stratified_split(labels_of(graph.labels, train), validation=share, seed=seed)
        train, val = dealt.train, dealt.val
    return graph, Split(train, val, test)


def _check_labels(graph: Graph) -> None:
    """Refuses a graph without labels, or with measurements in their place."""
    known = graph.labels[graph.labels >= 0]
    if not len(known):
        hint = "Give the classes of some nodes as y."
        raise must_be("A graph to fit", "have labels", "none", hint)
    measured = [c for c in graph.class_names if isinstance(c, float) and not c.is_integer()]
    if measured and 2 * graph.num_classes > len(known):
        hint = "Divide them into classes first: pandas.cut, pandas.qcut."
        got = f"{graph.num_classes:,} different numbers such as {measured[0]:g}"
        raise must_be("Labels", "be classes", got, hint)


def _labelled(graph: Graph, nodes: np.ndarray | None) -> np.ndarray:
    """Those of the nodes that have a label."""
    return NOBODY if nodes is None else nodes[graph.labels[nodes] >= 0]

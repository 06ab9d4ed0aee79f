"""What models may be called with and fitted to: a graph, a view of one, or what becomes one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.engine.arrays import labels_of
from cpgnn.engine.frames import rows_by_node
from cpgnn.engine.interchange import library, masks
from cpgnn.engine.views import View
from cpgnn.errors import advise, must_be, wrong_value
from cpgnn.graph import Graph
from cpgnn.splits import PARTS, Split, stratified_split


def logits_on(model: nn.Module, view: View) -> Tensor:
    """The model's logits on a view. One that has no `reach` is given the graph, for all nodes."""
    if getattr(model, "reach", None) is not None:
        return model(view)
    return view.pick(model(view.graph))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients; the model stays as it was."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def logits_of(model: nn.Module, graph: Graph) -> np.ndarray:
    """What the model says about all nodes, [n, c]."""
    with evaluating(model):
        return np.asarray(model(graph).cpu().numpy())


def check_device(device: str | torch.device) -> None:
    """Raises unless torch can make a tensor on this device here."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        hint = advise("Try {}.", device="cpu")
        must = "be one that torch can use here"
        raise wrong_value("device", must, repr(device), hint) from None


def as_view(graph: Graph | View, like: Tensor) -> View:
    """`graph` as a view on the device and in the dtype of `like`."""
    return graph if isinstance(graph, View) else as_graph(graph).view(like.device, like.dtype)


def as_graph(given: Any) -> Graph:
    """What was given, if it is a graph; else an error that says how to make one of it."""
    if isinstance(given, Graph):
        return given
    ways = {"pyg": "from_pyg", "networkx": "from_networkx"}
    way = ways.get(library(given) or "")
    if isinstance(given, pd.DataFrame) or sp.issparse(given):
        way = "from_pandas" if isinstance(given, pd.DataFrame) else "from_scipy"
    hint = "Build one with Graph.from_edges, from_pandas, from_scipy, from_networkx or from_pyg."
    got = type(given).__name__
    raise must_be("The input", "be a cpgnn.Graph", got, f"Try Graph.{way}." if way else hint)


def to_graph(given: Any, *, labels: bool = True) -> Graph:
    """What was given as a graph: one of ours, of NetworkX or of PyG, or a scipy matrix.

    Of NetworkX, the node attributes `label` (unless `labels` is off) and `x`, a vector, are read.
    """
    kind = library(given)
    if kind == "pyg":
        return Graph.from_pyg(given)
    if kind == "networkx":
        x = "x" if any("x" in data for _, data in given.nodes(data=True)) else None
        return Graph.from_networkx(given, label="label" if labels else None, features=x)
    return Graph.from_scipy(given) if sp.issparse(given) else as_graph(given)


def to_fit(
    given: Any,
    y: Any = None,
    features: Any = None,
    split: Split | None = None,
    *,
    validation: float = 0.2,
    seed: int = 0,
) -> tuple[Graph, Split | None]:
    """The graph that a fit was given, with labels `y` and `features` where these are given too.

    A table of edges goes with tables of labels and features by node id. The masks of a PyG `Data`
    are the split, unless there is one; without validation nodes, some of `train_mask` become that.
    """
    y = pd.Series(y) if isinstance(y, Mapping) else y
    if isinstance(given, pd.DataFrame):
        return _from_tables(given, y, features), split
    graph = to_graph(given, labels=y is None)
    if isinstance(features, pd.DataFrame):
        X, names = rows_by_node(features, graph.node_ids)
        graph = graph.with_features(X, names)
    elif features is not None:
        graph = graph.with_features(features)
    graph = graph if y is None else graph.with_labels(y)
    found = masks(given) if split is None and library(given) == "pyg" else {}
    if "train" not in found:
        return graph, split
    train, val, test = (_labelled(graph, found.get(p)) for p in PARTS)
    if len(val) == 0:
        drawn = stratified_split(labels_of(graph.labels, train), validation=validation, seed=seed)
        train, val = drawn.train, drawn.val
    return graph, Split(train, val, test)


def _from_tables(edges: pd.DataFrame, y: Any, features: Any) -> Graph:
    for name, table in (("y", y), ("features", features)):
        if not isinstance(table, pd.DataFrame | pd.Series | None):
            must = "be a table with node ids, since the edges are one"
            raise wrong_value(name, must, type(table).__name__)
    return Graph.from_pandas(edges, y, features)


def _labelled(graph: Graph, nodes: np.ndarray | None) -> np.ndarray:
    """Those of the nodes that have a label."""
    nodes = np.empty(0, dtype=np.int64) if nodes is None else nodes
    return nodes[graph.labels[nodes] >= 0]

"""What models accept: a graph, a view of one, or something that can be made into a graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from cpgnn.engine.interchange import library
from cpgnn.engine.views import View
from cpgnn.errors import advise, must_be, wrong_value
from cpgnn.graph import Graph


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
        return np.asarray(model(graph).numpy(force=True))


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
    """What was given, if it is a graph; otherwise an error that says how to make one from it."""
    if isinstance(given, Graph):
        return given
    ways = {"pyg": "Try Graph.from_pyg.", "networkx": "Try Graph.from_networkx."}
    hint = ways.get(library(given) or "", "")
    if isinstance(given, pd.DataFrame) or sp.issparse(given):
        hint = f"Try Graph.from_{'pandas' if isinstance(given, pd.DataFrame) else 'scipy'}."
    elif isinstance(given, np.ndarray | pd.Index) and given.ndim == 1:  # as scikit-learn has rows
        hint = "To cross-validate over nodes, use NodeClassifier(graph, model)."
    elif isinstance(given, str | PathLike):
        hint = "Files are read with cpgnn.read_graph(edges, labels, features).graph."
    hint = hint or (
        "Build one with Graph.from_edges, from_pandas, from_scipy, from_networkx or from_pyg."
    )
    raise must_be("The input", "be a cpgnn.Graph", type(given).__name__, hint)


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

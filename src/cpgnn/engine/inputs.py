"""What a model may be called with: a graph, or a view of one."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from torch import Tensor, nn

from cpgnn.engine.views import View
from cpgnn.errors import must_be
from cpgnn.graph import Graph


def logits_on(model: nn.Module, view: View) -> Tensor:
    """The model's logits on a view. One that has no `reach` is given the graph, for all nodes."""
    if getattr(model, "reach", None) is not None:
        return model(view)
    return view.pick(model(view.graph))


def as_view(graph: Graph | View, like: Tensor) -> View:
    """`graph` as a view on the device and in the dtype of `like`."""
    return graph if isinstance(graph, View) else as_graph(graph).view(like.device, like.dtype)


def as_graph(given: Any) -> Graph:
    """What was given, if it is a graph; else an error that says how to make one of it."""
    if isinstance(given, Graph):
        return given
    got = type(given).__name__
    ways = {"Data": "from_pyg", "Graph": "from_networkx", "DataFrame": "from_pandas"}
    way = ways.get(got, "from_scipy" if sp.issparse(given) else None)
    hint = "Build one with Graph.from_edges, from_pandas, from_scipy, from_networkx or from_pyg."
    raise must_be("The input", "be a cpgnn.Graph", got, f"Try Graph.{way}." if way else hint)

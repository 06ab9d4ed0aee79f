"""GAT (Veličković et al., 2018), with PyG's attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from cpgnn.engine.inputs import as_view
from cpgnn.engine.sparse import dropped
from cpgnn.engine.views import View
from cpgnn.errors import check_count
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, num_inputs


class GAT(Estimator):
    """R = att(elu(att(X W_1)) W_2), att(Z)_i = b + Σ_j α_ij Z_j for every head.

    α_ij = softmax_j(leaky_relu(a·Z_i + a'·Z_j)) over the neighbours j of i and i itself. `heads`
    heads of `hidden` units side by side, then one head for the output. X [n, F] or the identity;
    W_1 [F or n, heads·hidden], W_2 [heads·hidden, c]. `dropout` acts on the input of both layers,
    on α, and on the values Z_j that α weighs.
    """

    def __init__(
        self, sizes: Sizes, *, hidden: int = 8, heads: int = 8, dropout: float = 0.6, seed: int = 0
    ) -> None:
        super().__init__(sizes, hidden, dropout)
        check_count("heads", heads, least=1)
        self.heads = heads
        glorot = Glorot(seed)
        self.W_1 = glorot(num_inputs(sizes), hidden, blocks=heads)
        self.attention_1 = attention(glorot, hidden, heads)
        self.W_2 = glorot(heads * hidden, sizes.num_classes)
        self.attention_2 = attention(glorot, sizes.num_classes, 1)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        edges = edges_and_loops(view)
        self.attention_1.dropout = self.attention_2.dropout = self.dropout
        R = elu(self.attention_1(self._project(view.whole), edges))
        return view.pick(self.attention_2(dropped(R, self.p) @ self.W_2, edges))

    def _project(self, view: View) -> Tensor:
        """X W_1 with dropout on X; where that is the identity, every head drops its own nodes.

        The public code has a dropout for every head. With features one for all of them does as
        well and costs an eighth; of a featureless node it would leave nothing at all.
        """
        if self.p == 0 or view.graph.features is not None:
            return view.dropped_features(self.p) @ self.W_1
        Z = view.features @ self.W_1
        drop = dropped(Z.new_ones(len(Z), self.heads, 1), self.p)
        return (Z.view(len(Z), self.heads, -1) * drop).view_as(Z)


def attention(glorot: Glorot, channels: int, heads: int) -> Any:
    """PyG's GATConv on values Z = X W that are already there, which it drops too in training."""
    from torch_geometric.nn import GATConv

    with torch.random.fork_rng():  # it draws first weights, which are replaced
        conv = GATConv(channels, channels, heads, add_self_loops=False)
    conv.lin = nn.Identity()
    for name in ("att_dst", "att_src"):
        setattr(conv, name, nn.Parameter(glorot(channels, 1, heads).detach().t()[None].clone()))
    conv.register_propagate_forward_pre_hook(_drop_values)
    return conv


def _drop_values(conv: Any, inputs: tuple[Any, Any, dict[str, Any]]) -> tuple[Any, ...]:
    edges, size, parts = inputs
    sent, received = parts["x"]
    values = dropped(sent, conv.dropout if conv.training else 0.0)
    return edges, size, parts | {"x": (values, received)}


def edges_and_loops(view: View) -> Tensor:
    """The entries (j, i) of A + I, [2, E], as PyG takes them."""
    graph = view.graph

    def make() -> Tensor:
        A = sp.coo_array(graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32))
        return torch.from_numpy(np.stack(A.coords).astype(np.int64)).to(view.device)

    return graph.once(("edges and loops", view.device), make)

"""GAT (Veličković et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from cpgnn.baselines.attention import Edges, attention, mix
from cpgnn.baselines.operators import whole
from cpgnn.engine.dense import dropped
from cpgnn.engine.sparse import View, as_view
from cpgnn.errors import wrong_value
from cpgnn.graph import Graph
from cpgnn.priors import Glorot, Sizes, check_sizes, num_inputs


class GAT(nn.Module):
    """R = att(elu(att(X W_1) + b_1) W_2) + b_2, att(Z)_i = Σ_j α_ij Z_j for every head.

    α_ij = softmax_j(leaky_relu(a·Z_i + b·Z_j)) over the neighbours j of i and i itself. `heads`
    heads of `hidden` units side by side, then one head for the output. X [n, F] or the identity;
    W_1 [F or n, heads·hidden], W_2 [heads·hidden, c]. `dropout` acts on the input of both layers,
    on α, and on the values Z_j that α weighs.
    """

    def __init__(
        self,
        sizes: Sizes,
        *,
        hidden: int = 8,
        heads: int = 8,
        dropout: float = 0.6,
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(sizes, hidden, dropout)
        if heads < 1:
            raise wrong_value("heads", "be at least 1", heads)
        c = sizes.num_classes
        self.heads, self.dropout, self.num_classes = heads, dropout, c
        glorot = Glorot(seed)
        self.W_1 = glorot(num_inputs(sizes), hidden, blocks=heads)
        self.receive_1, self.send_1 = glorot(hidden, 1, heads), glorot(hidden, 1, heads)
        self.b_1 = nn.Parameter(torch.zeros(heads * hidden))
        self.W_2 = glorot(heads * hidden, c)
        self.receive_2, self.send_2 = glorot(c, 1), glorot(c, 1)
        self.b_2 = nn.Parameter(torch.zeros(c))

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        everything = whole(view)
        p = self.dropout if self.training else 0.0
        Z = self._project(everything, p)
        R = elu(attend(everything, Z, self.receive_1, self.send_1, p) + self.b_1)
        Z = dropped(R, p) @ self.W_2
        R = attend(everything, Z, self.receive_2, self.send_2, p) + self.b_2
        return view.pick(R)

    def _project(self, view: View, p: float) -> Tensor:
        """X W_1 with dropout on X; where that is the identity, every head drops its own nodes.

        The public code has a dropout for every head. With features one for all of them does as
        well and costs an eighth; of a featureless node it would leave nothing at all.
        """
        if p == 0 or view.graph.features is not None:
            return view.dropped_features(p) @ self.W_1
        Z = view.features @ self.W_1
        drop = dropped(Z.new_ones(len(Z), self.heads, 1), p)
        return (Z.view(len(Z), self.heads, -1) * drop).view_as(Z)


def attend(view: View, Z: Tensor, receive: Tensor, send: Tensor, p: float) -> Tensor:
    """Attention over Z [n, H·C], each head with its column of `receive` and `send` [C, H]."""
    C, H = receive.shape
    edges = Edges.of(view, H)
    own = torch.eye(H, device=Z.device, dtype=Z.dtype).unsqueeze(1)
    # A head's column of a, and 0 beside it: one product is faster than H small ones.
    receiver, sender = (Z @ (own * a.t().unsqueeze(2)).reshape(H * C, H) for a in (receive, send))
    weight = dropped(attention(edges, receiver, sender), p)
    values = dropped(Z.view(-1, H, C).transpose(0, 1).reshape(-1, C), p)  # head after head
    return mix(edges, weight, values).view(H, -1, C).transpose(0, 1).reshape(-1, H * C)

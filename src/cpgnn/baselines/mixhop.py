"""MixHop (Abu-El-Haija et al., 2019) with its learned sum over powers as the output."""

from __future__ import annotations

import torch
from torch import Tensor, nn, relu
from torch.nn.functional import batch_norm

from cpgnn.baselines.operators import with_self_loops
from cpgnn.engine.inputs import as_view
from cpgnn.engine.sparse import SparseOperator, dropped, with_values
from cpgnn.engine.views import IdentityRows, View
from cpgnn.errors import check_share
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, num_inputs

POWERS = 3
"""Powers 0, 1 and 2 of Â."""


class MixHop(Estimator):
    """R = Σ_p softmax(q)_p Â^p Z V_p, Z = relu(norm([X W_0 | Â X W_1 | Â² X W_2])).

    Â = D̃^-½ (A + I) D̃^-½. Rows of X have length 1, after dropout too. `norm` is batch
    normalisation over all nodes, with a shift and no scale, in training and in prediction alike.
    X [n, F] or the identity; W_p [F or n, about hidden/3], V_p [hidden, c], q [3].
    """

    def __init__(
        self,
        sizes: Sizes,
        *,
        hidden: int = 64,
        input_dropout: float = 0.7,
        dropout: float = 0.9,
        seed: int = 0,
    ) -> None:
        super().__init__(sizes, hidden, dropout)
        check_share("input_dropout", input_dropout)
        self.input_dropout = input_dropout
        glorot = Glorot(seed)
        share = round(hidden / POWERS)
        self.widths = [share, share, hidden - 2 * share]
        self.W = nn.ParameterList(glorot(num_inputs(sizes), width) for width in self.widths)
        self.shift = nn.Parameter(torch.zeros(hidden))
        self.V = glorot(hidden, sizes.num_classes, blocks=POWERS)
        self.q = nn.Parameter(torch.zeros(POWERS))

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.q)
        A_hat = with_self_loops(view)
        X = view.whole.dropped_features(self.input_dropout if self.training else 0.0)
        Z_0, Z_1, Z_2 = unit_rows_times(X, torch.cat([*self.W], dim=1)).split(self.widths, dim=1)
        # One product for what is multiplied once or twice, one more for what is multiplied twice.
        once, twice = (A_hat @ torch.cat([Z_1, Z_2], dim=1)).split(self.widths[1:], dim=1)
        Z = torch.cat([Z_0, once, A_hat @ twice], dim=1)
        Z = relu(batch_norm(Z, None, None, None, self.shift, training=True, eps=1e-3))
        weight = torch.softmax(self.q, dim=0).repeat_interleave(self.num_classes)
        R_0, R_1, R_2 = (dropped(Z, self.p) @ self.V * weight).chunk(POWERS, dim=1)
        return view.pick(R_0 + A_hat @ (R_1 + A_hat @ R_2))


def unit_rows_times(X: SparseOperator | IdentityRows | Tensor, W: Tensor) -> Tensor:
    """X W with every row of X scaled to length 1; empty rows stay 0."""
    if isinstance(X, IdentityRows):
        return IdentityRows(X.nodes, None if X.scale is None else X.scale.sign()) @ W
    if isinstance(X, SparseOperator):
        squares = with_values(X.forward, X.forward.values().square())
        length = (squares @ torch.ones_like(W[:, :1])).sqrt()
    else:
        length = torch.linalg.vector_norm(X, dim=1, keepdim=True)
    return (X @ W) / torch.where(length > 0, length, 1.0)

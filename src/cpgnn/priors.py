"""Prior belief estimators: what each node looks like before its neighbours are heard.

A prior is any `nn.Module` with `forward(graph) -> logits` [n, c]. Those here also accept a
`View`, and say with `reach` how many hops around a node they look (None, or no such attribute:
the whole graph is needed). Weights are Glorot-uniform without biases, as in the authors' code.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from cpgnn.engine.dense import dropped, relu_network, relu_product
from cpgnn.engine.sparse import View, as_view
from cpgnn.errors import check_count, must_be, wrong_value
from cpgnn.graph import Graph


class Sizes(Protocol):
    """What a prior must know of a graph before it sees one; every `Graph` has it."""

    @property
    def num_nodes(self) -> int: ...
    @property
    def num_features(self) -> int | None: ...
    @property
    def num_classes(self) -> int: ...


class MLPPrior(nn.Module):
    """R = relu(X W₁) W₂, blind to the graph.

    X [n, F] or the identity for a featureless graph; W₁ [F or n, hidden], W₂ [hidden, c].
    `dropout` acts before the ReLU.
    """

    kind = "mlp"
    reach = 0

    def __init__(
        self, sizes: Sizes, *, hidden: int = 64, dropout: float = 0.0, seed: int = 0
    ) -> None:
        super().__init__()
        check_sizes(sizes, hidden, dropout)
        self.hidden, self.dropout, self.num_classes = hidden, dropout, sizes.num_classes
        glorot = Glorot(seed)
        self.W_1 = glorot(num_inputs(sizes), hidden)
        self.W_2 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        X = view.features
        p = self.dropout if self.training else 0.0
        if p == 0 and isinstance(X, Tensor) and X.shape[1] <= self.hidden:
            return relu_network(X, self.W_1, self.W_2)
        return relu_product(dropped(X @ self.W_1, p), self.W_2)


class LinkPrior(nn.Module):
    """R = relu(X W₁ + A W_A) W₂: an MLP whose input is the features and the node's row of A.

    Knows its nodes by position, so it cannot predict nodes that arrive later. For a featureless
    graph X is left out: the row of A says more about a node than its number.
    """

    kind = "link"
    reach = 0

    def __init__(
        self, sizes: Sizes, *, hidden: int = 64, dropout: float = 0.0, seed: int = 0
    ) -> None:
        super().__init__()
        check_sizes(sizes, hidden, dropout)
        self.hidden, self.dropout, self.num_classes = hidden, dropout, sizes.num_classes
        glorot = Glorot(seed)
        F = sizes.num_features
        self.W_1 = None if F is None else glorot(F, hidden)
        self.W_A = glorot(sizes.num_nodes, hidden)
        self.W_2 = glorot(hidden, sizes.num_classes)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_A)
        R = view.adjacency_rows @ self.W_A
        if self.W_1 is not None:
            R = R + view.features @ self.W_1
        p = self.dropout if self.training else 0.0
        return relu_product(dropped(R, p), self.W_2)


class ChebyPrior(nn.Module):
    """R = conv(relu(conv(X))), conv(R) = Σ_{i ≤ order} T_i(L̃) R W_i, L̃ = -D^-½ A D^-½.

    λ_max is fixed at 2 and isolated nodes have T₁ = 0. The polynomial is summed by Clenshaw's
    recurrence, `order` products with L̃ and never a power of it. W_i stand side by side:
    W₁ [F or n, (order+1)·hidden], W₂ [hidden, (order+1)·c]. `dropout` acts on the input.
    """

    kind = "cheby"

    def __init__(
        self,
        sizes: Sizes,
        *,
        hidden: int = 64,
        order: int = 2,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(sizes, hidden, dropout)
        check_count("order", order, least=0)
        self.hidden, self.dropout, self.num_classes = hidden, dropout, sizes.num_classes
        self.order, self.reach = order, 2 * order
        glorot = Glorot(seed)
        self.W_1 = glorot(num_inputs(sizes), hidden, blocks=order + 1)
        self.W_2 = glorot(hidden, sizes.num_classes, blocks=order + 1)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        middle = view.widened(self.order)
        outer = middle.widened(self.order)
        X = outer.dropped_features(self.dropout if self.training else 0.0)
        R = chebyshev(middle, X @ self.W_1, self.order)
        return chebyshev(view, relu_product(R, self.W_2), self.order)


def chebyshev(view: View, Z: Tensor, order: int, lambda_max: float = 2.0) -> Tensor:
    """Σ_i T_i(L̃) Z_i on `view`, where Z = [Z_0 | … | Z_order] lives `order` hops wider.

    L̃ = 2/λ_max (I - D^-½ A D^-½) - I. Clenshaw: b_k = Z_k + 2 L̃ b_{k+1} - b_{k+2}, result
    Z_0 + L̃ b_1 - b_2.
    """
    if order == 0:
        return Z
    scale = 2 / lambda_max
    terms = list(Z.chunk(order + 1, dim=1))
    views = [view]
    for _ in range(order):
        views.append(views[-1].wider)
    b, b_next = terms[order], None
    for k in range(order - 1, -1, -1):
        here = views[k]
        terms = [here.take(term) for term in terms[: k + 1]]
        base = terms[k]
        if b_next is not None:
            base = base - here.take(b_next)
        # L̃ = (scale - 1) I - scale S with S = D^-½AD^-½
        times, own = 1 if k == 0 else 2, here.take(b)
        if scale != 1:
            base = base + times * (scale - 1) * own
        b, b_next = here.operator("sym").add(base, b, -times * scale), own
    return b


def num_inputs(sizes: Sizes) -> int:
    """Rows of a first weight: the features, or the nodes themselves where there are none."""
    return sizes.num_nodes if sizes.num_features is None else sizes.num_features


class Glorot:
    """Makes Glorot-uniform weights, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, fan_in: int, fan_out: int, blocks: int = 1) -> nn.Parameter:
        """Uniform in ±√(6 / (fan_in + fan_out)), `blocks` such matrices side by side."""
        bound = (6 / (fan_in + fan_out)) ** 0.5
        uniform = torch.rand(fan_in, blocks * fan_out, generator=self.generator)
        return nn.Parameter(uniform.mul_(2 * bound).sub_(bound))


def check_sizes(sizes: Sizes, hidden: int, dropout: float) -> None:
    """What every estimator asks of its arguments."""
    check_count("hidden", hidden, least=1)
    if not 0 <= dropout < 1:
        raise wrong_value("dropout", "lie in [0, 1)", dropout)
    if sizes.num_classes < 2:
        raise must_be("The graph", "have at least two classes", sizes.num_classes)

"""The Chebyshev prior: two layers of graph convolution by polynomials of the Laplacian."""

from __future__ import annotations

from torch import Tensor, relu

from cpgnn.engine.inputs import as_view
from cpgnn.engine.views import View
from cpgnn.errors import check_count
from cpgnn.graph import Graph
from cpgnn.priors.contract import Estimator, Glorot, Sizes, narrow, num_inputs


class ChebyPrior(Estimator):
    """R = conv(relu(conv(X))), conv(R) = Σ_{i ≤ order} T_i(L̃) R W_i, L̃ = -D^-½ A D^-½.

    λ_max is fixed at 2 and isolated nodes have T₁ = 0. W_i stand side by side:
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
        super().__init__(sizes, hidden, dropout)
        check_count("order", order, least=0)
        glorot = Glorot(seed)
        self.order, self.reach = order, 2 * order
        self.W_1 = glorot(num_inputs(sizes), hidden, blocks=order + 1)
        self.W_2 = glorot(hidden, sizes.num_classes, blocks=order + 1)

    def forward(self, graph: Graph | View) -> Tensor:
        view = as_view(graph, self.W_1)
        middle = view.widened(self.order)
        X = middle.widened(self.order).dropped_features(self.p)
        R = relu(chebyshev(middle, X @ self.W_1, self.order))
        return chebyshev(view, narrow(R, self.W_2), self.order)


def chebyshev(view: View, Z: Tensor, order: int, lambda_max: float = 2.0) -> Tensor:
    """Σ_i T_i(L̃) Z_i on `view`, where Z = [Z_0 | … | Z_order] lives `order` hops wider.

    L̃ = 2/λ_max (I - S) - I with S = D^-½ A D^-½. Clenshaw's recurrence, `order` products with S
    and never a power of it: b_k = Z_k + 2 L̃ b_{k+1} - b_{k+2}, result Z_0 + L̃ b_1 - b_2.
    """
    if order == 0:
        return Z
    scale = 2 / lambda_max
    terms = Z.chunk(order + 1, dim=1)
    b, b_next = terms[order], None
    for k, here in reversed(list(enumerate(view.field(order - 1)))):
        terms = tuple(here.take(term) for term in terms[: k + 1])
        own, times = here.take(b), 1 if k == 0 else 2
        total = terms[k] - times * scale * (here.operator("sym") @ b)
        if scale != 1:
            total = total + times * (scale - 1) * own
        if b_next is not None:
            total = total - here.take(b_next)
        b, b_next = total, own
    return b

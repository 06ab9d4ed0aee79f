"""CPGNN: a prior belief for every node, propagated along a trainable compatibility matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from cpgnn.engine.arrays import Matrix
from cpgnn.engine.inputs import as_view, check_device, logits_on
from cpgnn.engine.views import View
from cpgnn.errors import check_choice, check_count, check_share, check_words, wrong_value
from cpgnn.graph import Graph
from cpgnn.priors import ChebyPrior, LinkPrior, MLPPrior, Sizes
from cpgnn.priors.contract import num_inputs
from cpgnn.propagation import prior_belief, propagate

PriorKind = Literal["mlp", "cheby", "link"]
PRIORS: dict[PriorKind, tuple[str, Callable[..., nn.Module]]] = {
    "mlp": ("MLP", MLPPrior),
    "cheby": ("Cheby", ChebyPrior),
    "link": ("LINK", LinkPrior),
}
"""The built-in priors: what each is called, and what makes it."""
NORMALIZATIONS = get_args(Matrix)
MOST_LAYERS = 1_000
"""More would keep the processor busy forever."""


class CPGNN(nn.Module):
    """logits = B̄^(K) + 1/c with B̄^(0) = softmax(prior(graph)) - 1/c.

    `prior` is any module with `forward(graph) -> logits` [n, c]. `H_bar` [c, c] may be given
    (centred; `initial_H_bar(H)` centres a known H) and frozen with `train_H=False`; otherwise
    training initialises it. With `num_layers=0` the model's logits are those of its prior.
    `normalization` replaces A by D^-½AD^-½ ("sym") or D^-1A ("row").
    """

    def __init__(
        self,
        prior: nn.Module,
        num_layers: int = 1,
        H_bar: np.ndarray | Tensor | None = None,
        train_H: bool = True,
        *,
        num_classes: int | None = None,
        normalization: Matrix = "none",
    ) -> None:
        super().__init__()
        if not callable(prior):
            hint = "Try Architecture('mlp', 1).build(graph), or CPGNN(MLPPrior(graph))."
            raise wrong_value("prior", "be a torch module", repr(prior), hint)
        check_count("num_layers", num_layers, least=0)
        check_choice("normalization", normalization, NORMALIZATIONS)
        c = num_classes or _classes_of(prior, H_bar)
        self.prior, self.num_layers, self.normalization = prior, num_layers, normalization
        self.given_H = H_bar is not None
        start = torch.zeros(c, c) if H_bar is None else torch.as_tensor(H_bar)
        if start.shape != (c, c):
            raise wrong_value("H_bar", f"be a {c} × {c} matrix", tuple(start.shape))
        self.H_bar = nn.Parameter(start.to(torch.get_default_dtype()), requires_grad=train_H)

    @property
    def num_classes(self) -> int:
        return self.H_bar.shape[0]

    def prior_logits(self, view: View) -> Tensor:
        """The prior's logits on a view."""
        return logits_on(self.prior, view)

    def forward(self, graph: Graph | View) -> Tensor:
        """B̄^(K) + 1/c for every node of the graph, or of the view."""
        field = self.view(graph).field(self.num_layers)
        R = self.prior_logits(field[-1])
        if self.num_layers == 0:
            return R
        c = self.num_classes
        B_0 = prior_belief(R) - 1 / c
        A = [view.operator(self.normalization) for view in reversed(field[:-1])]
        return propagate(A, B_0, self.H_bar, self.num_layers) + 1 / c

    def view(self, graph: Graph | View) -> View:
        """`graph` as tensors where this model's weights are."""
        return as_view(graph, self.H_bar)


def _classes_of(prior: nn.Module, H_bar: np.ndarray | Tensor | None) -> int:
    classes = getattr(prior, "num_classes", None)
    if not isinstance(classes, int):
        if H_bar is not None:
            return len(H_bar)
        must = "be given for a prior that does not say how many classes it has"
        hint = "Try CPGNN(prior, num_classes=graph.num_classes)."
        raise wrong_value("num_classes", must, type(prior).__name__, hint)
    return classes


@dataclass(frozen=True)
class Architecture:
    """A built-in prior and K layers of propagation, e.g. `Architecture("mlp", 2)`."""

    prior: PriorKind = "mlp"
    num_layers: int = 1
    hidden: int = 64
    dropout: float = 0.0
    order: int = 2
    """Order of the Chebyshev polynomial; other priors have none."""
    normalization: Matrix = "none"

    def __post_init__(self) -> None:
        check_words(self)
        check_count("num_layers", self.num_layers, least=0, most=MOST_LAYERS)
        check_count("hidden", self.hidden, least=1)
        check_count("order", self.order, least=0)
        check_share("dropout", self.dropout)

    def __str__(self) -> str:
        name, _ = PRIORS[self.prior]
        return f"{name}-{self.num_layers}" + (f", dropout {self.dropout}" if self.dropout else "")

    def build(self, sizes: Sizes, *, seed: int = 0, device: str | torch.device = "cpu") -> CPGNN:
        """A new model with weights from `seed`."""
        check_device(device)
        _, make = PRIORS[self.prior]
        how = {"order": self.order} if self.prior == "cheby" else {}
        prior = make(sizes, hidden=self.hidden, dropout=self.dropout, seed=seed, **how)
        return CPGNN(prior, self.num_layers, normalization=self.normalization).to(device)

    def weight_shapes(self, sizes: Sizes) -> dict[str, tuple[int, ...]]:
        """Name and shape of every weight that `build` makes, without making any."""
        c, blocks = sizes.num_classes, self.order + 1 if self.prior == "cheby" else 1
        shapes: dict[str, tuple[int, ...]] = {
            "H_bar": (c, c),
            "prior.W_1": (num_inputs(sizes), blocks * self.hidden),
            "prior.W_2": (self.hidden, blocks * c),
        }
        if self.prior == "link":
            shapes["prior.W_A"] = (sizes.num_nodes, self.hidden)
            if sizes.num_features is None:
                del shapes["prior.W_1"]
        return shapes

    def is_inductive(self, num_features: int | None) -> bool:
        """Whether its weights mean something for nodes it has not seen."""
        return self.prior != "link" and bool(num_features)

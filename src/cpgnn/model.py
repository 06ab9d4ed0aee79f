"""CPGNN: a prior belief for every node, propagated along a trainable compatibility matrix."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from cpgnn.engine.arrays import Matrix
from cpgnn.engine.dense import centered_softmax
from cpgnn.engine.sparse import View, logits_on
from cpgnn.errors import check_choice, check_count, must_be, wrong_value
from cpgnn.graph import Graph
from cpgnn.propagation import step


class CPGNN(nn.Module):
    """logits = B̄^(K) + 1/c with B̄^(0) = softmax(prior(graph)) - 1/c.

    `prior` is any module with `forward(graph) -> logits` [n, c]. `H_bar` [c, c] may be given
    (centred; `initial_H_bar(H)` centres a known H) and frozen with `train_H=False`; otherwise
    training initialises it. With `num_layers=0` the model is its prior, logits and all.
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
        check_count("num_layers", num_layers, least=0)
        check_choice("normalization", normalization, ("none", "sym", "row"))
        c = num_classes or _classes_of(prior, H_bar)
        self.prior, self.num_layers, self.normalization = prior, num_layers, normalization
        self.given_H = H_bar is not None
        start = torch.zeros(c, c) if H_bar is None else torch.as_tensor(H_bar)
        if start.shape != (c, c):
            raise must_be("'H_bar'", f"be a {c} × {c} matrix", tuple(start.shape))
        self.H_bar = nn.Parameter(start.to(torch.get_default_dtype()), requires_grad=train_H)

    @property
    def num_classes(self) -> int:
        return len(self.H_bar)

    def prior_logits(self, view: View) -> Tensor:
        """The prior's logits on a view."""
        return logits_on(self.prior, view)

    def forward(self, graph: Graph | View) -> Tensor:
        view = self.view(graph)
        if self.num_layers == 0:
            return self.prior_logits(view)
        views = [view]
        for _ in range(self.num_layers):
            views.append(views[-1].wider)
        B = B_0 = centered_softmax(self.prior_logits(views[-1]))
        for here in reversed(views[1:-1]):
            B = step(here.operator(self.normalization), B_0, B, self.H_bar, here.inside)
            B_0 = here.take(B_0)
        A, constant = view.operator(self.normalization), 1 / self.num_classes
        return step(A, B_0, B, self.H_bar, view.inside, constant)

    def view(self, graph: Graph | View) -> View:
        """`graph` as tensors where this model's weights are."""
        if isinstance(graph, View):
            return graph
        return graph.view(self.H_bar.device, self.H_bar.dtype)


def _classes_of(prior: nn.Module, H_bar: np.ndarray | Tensor | None) -> int:
    classes = getattr(prior, "num_classes", None)
    if not isinstance(classes, int):
        if H_bar is not None:
            return len(H_bar)
        raise wrong_value(
            "num_classes",
            "be given for a prior that does not say how many classes it has",
            type(prior).__name__,
            "Try CPGNN(prior, num_classes=graph.num_classes).",
        )
    return classes

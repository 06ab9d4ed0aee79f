"""What a model is made of, as data: the prior, the number of layers, and how to build both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from cpgnn.engine.arrays import Matrix
from cpgnn.errors import check_choice, check_count, wrong_value
from cpgnn.model import CPGNN
from cpgnn.priors import ChebyPrior, LinkPrior, MLPPrior, Sizes, num_inputs

PriorKind = Literal["mlp", "cheby", "link"]


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
        check_choice("prior", self.prior, ("mlp", "cheby", "link"))
        check_count("num_layers", self.num_layers, least=0)
        check_count("hidden", self.hidden, least=1)
        check_count("order", self.order, least=0)
        if not 0 <= self.dropout < 1:
            raise wrong_value("dropout", "lie in [0, 1)", self.dropout)
        check_choice("normalization", self.normalization, ("none", "sym", "row"))

    def __str__(self) -> str:
        name = {"mlp": "MLP", "cheby": "Cheby", "link": "LINK"}[self.prior]
        return f"{name}-{self.num_layers}" + (f", dropout {self.dropout}" if self.dropout else "")

    def build(self, sizes: Sizes, *, seed: int = 0, device: str | torch.device = "cpu") -> CPGNN:
        """A new model with weights from `seed`."""
        prior: nn.Module
        if self.prior == "cheby":
            prior = ChebyPrior(
                sizes, hidden=self.hidden, order=self.order, dropout=self.dropout, seed=seed
            )
        else:
            make = MLPPrior if self.prior == "mlp" else LinkPrior
            prior = make(sizes, hidden=self.hidden, dropout=self.dropout, seed=seed)
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

"""CPGNN as layer and module of PyG: `forward(x, edge_index, edge_weight=None)`, for any loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn, relu
from torch.nn.functional import dropout
from torch_geometric.nn import ChebConv, MessagePassing
from torch_geometric.utils import remove_self_loops, scatter

from cpgnn import model as ours
from cpgnn.compatibility import enhanced_belief, estimate_compatibility, initial_H_bar
from cpgnn.engine.arrays import Matrix
from cpgnn.engine.inputs import evaluating
from cpgnn.errors import check_choice, check_count, wrong_value
from cpgnn.model import NORMALIZATIONS
from cpgnn.priors import ChebyPrior, MLPPrior
from cpgnn.propagation import prior_belief


class CPGNNConv(MessagePassing):  # type: ignore[misc]
    """B̄^(k) = B̄^(0) + A B̄^(k-1) H̄: one layer of compatibility-guided propagation.

    `forward(B, edge_index, edge_weight=None, B_0=None)` with beliefs [n, c] centred around 0; B_0
    is B itself if not given, as in the first layer. Give several layers the same `H_bar` to share
    it, as CPGNN does. A message goes from edge_index[0] to edge_index[1]: list every undirected
    edge in both directions (`to_undirected`). Self-loops are left out.
    """

    def __init__(
        self,
        num_classes: int,
        H_bar: Tensor | None = None,
        *,
        normalization: Matrix = "none",
        **kwargs: Any,
    ) -> None:
        super().__init__(aggr="add", **kwargs)
        check_count("num_classes", num_classes, least=2)
        check_choice("normalization", normalization, NORMALIZATIONS)
        start = torch.zeros(num_classes, num_classes) if H_bar is None else H_bar
        if start.shape != (num_classes, num_classes):
            must = f"be a {num_classes} × {num_classes} matrix"
            raise wrong_value("H_bar", must, tuple(start.shape))
        self.H_bar = start if isinstance(start, nn.Parameter) else nn.Parameter(start.clone())
        self.normalization = normalization

    def forward(
        self,
        B: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        B_0: Tensor | None = None,
    ) -> Tensor:
        edge_index, weight = edge_weights(edge_index, edge_weight, B, self.normalization)
        heard = self.propagate(edge_index, B=B, weight=weight)
        return (B if B_0 is None else B_0) + heard @ self.H_bar

    def message(self, B_j: Tensor, weight: Tensor) -> Tensor:
        return weight.unsqueeze(-1) * B_j


class CPGNN(nn.Module):
    """logits = B̄^(K) + 1/c with B̄^(0) = softmax(prior) - 1/c, the same as `cpgnn.CPGNN`.

    The prior is R = relu(x W₁) W₂, blind to the graph, or any module that is called with
    (x, edge_index, edge_weight) and returns logits [n, c]. `H_bar` starts at 0, where the model is
    the prior alone: train that for a while, call `initialize`, go on with everything, and add
    `centering_penalty(model.H_bar)` to the loss, and you have the paper's training.
    """

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        num_layers: int = 1,
        *,
        hidden: int = 64,
        dropout: float = 0.0,
        normalization: Matrix = "none",
        prior: Callable[[Tensor, Tensor, Tensor | None], Tensor] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, least=0)
        if prior is None:
            sizes = _Sizes(in_channels, num_classes)
            prior = MLP(sizes, hidden=hidden, dropout=dropout, seed=seed)
        self.prior = prior
        self.num_layers = num_layers
        self.conv = CPGNNConv(num_classes, normalization=normalization)

    @property
    def H_bar(self) -> nn.Parameter:
        """The centred compatibility matrix that all layers share, [c, c]."""
        return self.conv.H_bar

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Logits [n, c]. In a batch they hold for nodes all of whose K hops are in it."""
        R = self.prior(x, edge_index, edge_weight)
        if self.num_layers == 0:
            return R
        c = R.shape[1]
        B_0 = prior_belief(R) - 1 / c
        B = B_0
        for _ in range(self.num_layers):
            B = self.conv(B, edge_index, edge_weight, B_0)
        return B + 1 / c

    @torch.no_grad()
    def initialize(
        self,
        x: Tensor,
        edge_index: Tensor,
        y: Tensor,
        train_mask: Tensor,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Sets H̄ to its start, ½(Ĥ + Ĥᵀ) - 1/c; returns Ĥ, estimated from the labels in
        `train_mask` and the prior's beliefs about their neighbours."""
        n = x.shape[0]
        with evaluating(self):
            R = self.prior(x, edge_index, edge_weight)
        B_p = torch.softmax(R, dim=1).double().numpy(force=True)
        (source, target), weight = edge_weights(edge_index, edge_weight, self.H_bar, "none")
        entries = (
            weight.double().numpy(force=True),
            (target.numpy(force=True), source.numpy(force=True)),
        )
        A = sp.csr_array(entries, shape=(n, n))
        train = np.flatnonzero(train_mask.numpy(force=True))
        labels = y.numpy(force=True).ravel()
        H_hat = estimate_compatibility(A[train], enhanced_belief(B_p, labels, train), labels[train])
        self.H_bar.copy_(torch.from_numpy(initial_H_bar(H_hat)))
        return torch.from_numpy(H_hat)

    @classmethod
    def of(cls, model: nn.Module) -> CPGNN:
        """The same as a `cpgnn.CPGNN`, with its weights; its prior must be an MLP or Chebyshev one.

        Feed it the features as the classifier's `scaler_` makes them.
        """
        if not isinstance(model, ours.CPGNN):
            hint = (
                "Fit CPGNNClassifier(prior='mlp', num_layers=2), for example, and give its model_."
            )
            raise wrong_value("model", "be a model of the paper", type(model).__name__, hint)
        own, c = model.prior, model.num_classes
        prior: nn.Module
        if isinstance(own, ChebyPrior):
            prior = Cheby.of(own)
        elif isinstance(own, MLPPrior):
            sizes = _Sizes(own.W_1.shape[0], c)
            prior = MLP(sizes, hidden=own.hidden, dropout=own.dropout).to(own.W_1)
            prior.load_state_dict(own.state_dict())
        else:
            hint = "A LINK prior knows its nodes by position, which a batch does not have."
            got = type(own).__name__
            raise wrong_value("prior", "be an MLPPrior or a ChebyPrior", got, hint)
        how, F = model.normalization, own.W_1.shape[0]
        made = cls(F, c, model.num_layers, normalization=how, prior=prior)
        made = made.to(device=model.H_bar.device, dtype=model.H_bar.dtype)
        with torch.no_grad():
            made.H_bar.copy_(model.H_bar)
        return made


class MLP(MLPPrior):
    """The MLP prior, given the features themselves: x [n, F]."""

    def forward(self, x: Tensor, *_: Tensor | None) -> Tensor:  # type: ignore[override]
        return self._network(x)


class _Sizes(NamedTuple):
    """What the MLP prior must know of a graph."""

    num_features: int
    num_classes: int
    num_nodes: int = 0


class Cheby(nn.Module):
    """R = conv(relu(conv(x))) with PyG's `ChebConv`, λ_max = 2; `dropout` acts on the input."""

    def __init__(
        self, in_channels: int, num_classes: int, hidden: int, order: int, dropout: float
    ) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            ChebConv(*sizes, K=order + 1, bias=False)
            for sizes in ((in_channels, hidden), (hidden, num_classes))
        )
        self.dropout = dropout

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        two = torch.tensor(2.0, dtype=x.dtype, device=x.device)
        first, second = self.convs
        R = first(dropout(x, self.dropout, self.training), edge_index, edge_weight, lambda_max=two)
        return second(relu(R), edge_index, edge_weight, lambda_max=two)

    @classmethod
    def of(cls, prior: ChebyPrior) -> Cheby:
        c, order = prior.num_classes, prior.order
        made = cls(prior.W_1.shape[0], c, prior.hidden, order, prior.dropout)
        with torch.no_grad():
            convs: list[Any] = list(made.convs)
            for conv, W in zip(convs, (prior.W_1, prior.W_2), strict=True):
                for linear, block in zip(conv.lins, W.chunk(order + 1, dim=1), strict=True):
                    linear.weight.copy_(block.t())
        return made


def edge_weights(
    edge_index: Tensor, edge_weight: Tensor | None, like: Tensor, normalization: Matrix
) -> tuple[Tensor, Tensor]:
    """The edges without self-loops, and their weights: 1 where there are none, scaled if asked."""
    if edge_weight is None:
        edge_weight = like.new_ones(edge_index.shape[1])
    edge_index, weight = remove_self_loops(edge_index, edge_weight.to(like.dtype))
    if normalization == "none":
        return edge_index, weight
    target = edge_index[1]
    power = -0.5 if normalization == "sym" else -1.0
    scale = scatter(weight, target, dim_size=len(like), reduce="sum").pow(power)
    scale = scale.masked_fill(scale.isinf(), 0.0)
    weight = weight * scale[target]
    return edge_index, weight * scale[edge_index[0]] if normalization == "sym" else weight

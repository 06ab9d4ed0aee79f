"""Our epoch and our floor, as callables to be timed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from cpgnn import Architecture, FeatureScaler, Graph, Split, per_class_split
from cpgnn.datasets import load_dataset
from cpgnn.engine.adam import Adam
from cpgnn.engine.loop import Best, descend
from cpgnn.engine.target import Target
from cpgnn.training import overall_loss


def prepared(name: str, features: bool) -> tuple[Graph, Split]:
    """A graph of the paper with its protocol's first split."""
    dataset = load_dataset(name)
    if not features:
        return dataset.graph.with_features(None), dataset.splits[0]
    graph = FeatureScaler.fit(dataset.graph, "rows")(dataset.graph)
    return graph, per_class_split(graph.labels, seed=0)


Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def floor(
    graph: Graph, prior: str, num_layers: int = 1, product: Product = torch.mm
) -> Callable[[], None]:
    """The products an epoch cannot avoid, over the whole graph: forward and backward with X, A, L.

    Chebyshev priors of order 2: 2 products with L on 64 columns and 2 on c, each way. `product` is
    torch's for CSR matrices, or ours.
    """
    view, c, n = graph.view(), graph.num_classes, graph.num_nodes
    A, L = view.operator("none").forward, view.operator("sym").forward
    blocks = 3 if prior == "cheby" else 1
    narrow, wide = torch.randn(n, c), torch.randn(n, 64)
    products = [(A, narrow)] * (2 * num_layers)
    if prior == "cheby":
        products += [(L, wide)] * 4 + [(L, narrow)] * 4
    if graph.features is not None:
        X = view.features
        products += [
            (X.forward, torch.randn(X.shape[1], 64 * blocks)),
            (X.transpose, torch.randn(n, 64 * blocks)),
        ]

    def run() -> None:
        for matrix, dense in products:
            product(matrix, dense)

    return run


def plain_epoch(graph: Graph, split: Split, prior: str, num_layers: int = 1) -> Callable[[], float]:
    """An epoch of the same model as anybody would write it: torch's loss, Adam and loop."""
    model = Architecture(prior, num_layers).build(graph, seed=0)
    with torch.no_grad():
        model.H_bar.normal_(0, 0.1, generator=torch.Generator().manual_seed(0))
    view = model.view(graph).of(np.concatenate([split.train, split.val]), trained=len(split.train))
    y, t = torch.from_numpy(graph.labels[view.nodes]), len(split.train)
    decayed = {"params": list(model.prior.parameters()), "weight_decay": 1e-3}
    optimizer = torch.optim.Adam([decayed, {"params": [model.H_bar]}], lr=0.01, fused=True)

    def epoch() -> float:
        logits = model(view)
        hits = logits.detach().argmax(dim=1) == y
        loss = cross_entropy(logits[:t], y[:t]) + model.H_bar.sum(dim=1).abs().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(hits[t:].float().mean()) + loss.item()

    return epoch


def epochs(
    graph: Graph, split: Split, prior: str, num_layers: int, count: int, *, adam: str = "ours"
):
    """A call that makes `count` epochs of phase 2, each with its validation score.

    `adam` is "ours", "torch's" with its weight decay, or "autograd": torch's, with the gradient of
    λ_p‖Θ_p‖² left to autograd.
    """
    model = Architecture(prior, num_layers).build(graph, seed=0)
    with torch.no_grad():
        model.H_bar.normal_(0, 0.1, generator=torch.Generator().manual_seed(0))
    target = Target.of(model.view(graph), split)
    Theta_p = list(model.prior.parameters())
    if adam == "ours":
        optimizer = Adam(Theta_p, [model.H_bar], lr=0.01, eps=1e-7)
        optimizer.weight_decay = 1e-3
    else:
        decayed = {"params": Theta_p, "weight_decay": 1e-3 if adam == "torch's" else 0.0}
        groups = [decayed, {"params": [model.H_bar]}]
        optimizer = torch.optim.Adam(groups, lr=0.01, eps=1e-7, fused=True)
    best, eta = Best(), 1.0 if num_layers else 0.0

    def loss(logits: torch.Tensor) -> torch.Tensor:
        if adam != "autograd":
            return overall_loss(logits, target, Theta_p, model.H_bar, 5e-4, eta)
        norm = sum(W.square().sum() for W in Theta_p)
        return overall_loss(logits, target, [], model.H_bar, 0.0, eta) + 5e-4 * norm

    return lambda: descend(model, model, loss, target, optimizer, best, phase=2, epochs=count)

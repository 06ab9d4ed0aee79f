"""What every model promises, whoever wrote it: all baselines, and CPGNN with each prior."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from cpgnn.baselines import MODELS, REAL, train_baseline
from cpgnn.engine.loop import Training
from cpgnn.graph import Graph
from cpgnn.model import Architecture
from cpgnn.settings import preset
from cpgnn.splits import Split, stratified_split
from cpgnn.training import train
from toys import planted, toy

Make = Callable[..., nn.Module]


def cpgnn(kind: str, num_layers: int) -> Make:
    def make(graph: Graph, seed: int = 0) -> nn.Module:
        model = Architecture(kind, num_layers).build(graph, seed=seed)  # type: ignore[arg-type]
        c = graph.num_classes
        with torch.no_grad():
            model.H_bar.copy_(torch.randn(c, c, generator=torch.Generator().manual_seed(seed)))
        return model

    return make


EVERY: dict[str, Make] = {
    **MODELS,
    "H2GCN without ReLU": lambda graph, seed=0: MODELS["H2GCN"](graph, relu=False, seed=seed),
    **{f"CPGNN-{kind}-{K}": cpgnn(kind, K) for kind in ("mlp", "cheby", "link") for K in (1, 2)},
}

every_model = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def fit(model: nn.Module, graph: Graph, split: Split, epochs: int, seed: int = 0) -> Training:
    """Trains a baseline by its first recipe and CPGNN by its preset, for so many epochs."""
    names = [name for name, kind in MODELS.items() if type(model) is kind]
    if names:
        recipe = REAL[names[0]][0].but(epochs=epochs)
        return train_baseline(model, graph, split, recipe, seed)
    settings = preset("default").but(pretrain_epochs=epochs // 2, epochs=epochs - epochs // 2)
    return train(model, graph, split, settings, seed=seed)  # type: ignore[arg-type]


def logits(model: nn.Module, graph: Graph) -> torch.Tensor:
    model.eval()
    with torch.no_grad():
        return model(graph)


@every_model
@pytest.mark.parametrize("features", ["none", "dense", "sparse"])
def test_one_row_of_finite_logits_for_every_node(make: Make, features: str) -> None:
    # Two nodes have no edge: a mean, a degree or a softmax over nothing must stay finite.
    num_features = None if features == "none" else 5
    graph = toy(1, 13, num_features=num_features, sparse=features == "sparse", isolated=2).graph
    model = make(graph)
    for mode in (True, False):
        output = model.train(mode)(graph)
        assert output.shape == (13, 3)
        assert output.isfinite().all()


@every_model
def test_dense_and_sparse_features_give_the_same(make: Make) -> None:
    dense = toy(2, 13).graph
    sparse = dense.with_features(sp.csr_array(dense.features))
    model = make(dense)
    torch.testing.assert_close(logits(model, sparse), logits(model, dense))


@every_model
@pytest.mark.parametrize("num_features", [None, 4])
def test_a_view_gives_the_rows_of_its_nodes(make: Make, num_features: int | None) -> None:
    graph = toy(3, 40, density=0.05, num_features=num_features).graph
    model = make(graph).eval()
    nodes = np.array([7, 2, 39, 11])
    torch.testing.assert_close(logits(model, graph.view().of(nodes)), logits(model, graph)[nodes])


@every_model
def test_the_order_of_the_nodes_does_not_matter(make: Make) -> None:
    graph = toy(4, 13).graph
    order = np.random.default_rng(0).permutation(13)
    A = graph.adjacency[order][:, order]
    shuffled = Graph.from_scipy(
        A,
        features=graph.features[order],  # type: ignore[index]
        labels=graph.labels[order],
        class_names=graph.class_names,
    )
    model = make(graph)
    moved = deepcopy(model)
    with torch.no_grad():
        for weight in moved.parameters():
            if len(weight) == 13:  # a weight for each node (LINK) moves with its node
                weight.copy_(weight[torch.from_numpy(order)])
    torch.testing.assert_close(logits(moved, shuffled), logits(model, graph)[order])


@every_model
@pytest.mark.parametrize("num_features", [None, 6])
def test_the_gradient_reaches_every_weight(make: Make, num_features: int | None) -> None:
    graph = planted(n=80, num_features=num_features)
    model = make(graph).train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model(graph).square().sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        # Weights of several rounds or orders are stacked in one: every eighth must be reached.
        for side in range(weight.ndim):
            parts = weight.grad.chunk(8, dim=side)
            assert min(float(part.abs().max()) for part in parts) > 0, (name, side)


@every_model
def test_the_same_seed_gives_the_same_model(make: Make) -> None:
    graph = planted(n=60)
    split = stratified_split(graph.labels, validation=0.3, test=0.2)
    outside = torch.random.get_rng_state()
    outputs = []
    for seed in (0, 0, 1):
        model = make(graph, seed=seed)
        fit(model, graph, split, 6, seed)
        outputs.append(logits(model, graph))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    assert torch.equal(torch.random.get_rng_state(), outside), "the library must not seed globally"


@every_model
def test_twenty_nodes_are_learned_by_heart(make: Make) -> None:
    graph = planted(5, 20, degree=2.0, num_features=16, signal=0.5)
    model = make(graph)
    for name in ("dropout", "input_dropout"):
        if hasattr(model, name):
            setattr(model, name, 0.0)
    everything = Split(np.arange(20), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    if isinstance(model, tuple(MODELS.values())):
        recipe = REAL["MLP"][0].but(epochs=200, weight_decay=0.0)
        train_baseline(model, graph, everything, recipe)
    else:
        fit(model, graph, everything, 200)
    assert (logits(model, graph).argmax(dim=1).numpy() == graph.labels).all()

"""CPGNN on a few nodes, on all of them, and written out densely."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

from cpgnn.compatibility import centering_penalty, initial_H_bar
from cpgnn.engine import views
from cpgnn.engine.target import Target
from cpgnn.errors import InputError
from cpgnn.model import CPGNN, Architecture
from cpgnn.priors import MLPPrior
from toys import Toy, array, planted, softmax, toy, toys

F64 = torch.float64
KINDS = ["none", "sym", "row"]


def built(graph, prior="mlp", K=1, kind="none", seed=0, dtype=F64) -> CPGNN:
    """A model with random weights, H̄ included."""
    model = Architecture(prior, K, hidden=5, normalization=kind).build(graph, seed=seed).to(dtype)
    generator = torch.Generator().manual_seed(seed + 100)
    with torch.no_grad():
        model.H_bar.copy_(torch.randn(model.H_bar.shape, generator=generator) / 3)
    return model


def normalised(A: np.ndarray, kind: str) -> np.ndarray:
    d = np.array([1 / x if x else 0.0 for x in A.sum(axis=1)])
    return {
        "none": A,
        "sym": np.sqrt(d)[:, None] * A * np.sqrt(d),
        "row": d[:, None] * A,
    }[kind]


# -- forward ----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(toy=toys(), K=st.integers(1, 4), seed=st.integers(0, 2**16))
def test_logits_against_dense_layers(kind, toy: Toy, K, seed):
    model = built(toy.graph, "mlp", K, kind, seed)
    A, H_bar = normalised(toy.A, kind), array(model.H_bar)
    B_0 = softmax(array(model.prior(toy.graph))) - 1 / toy.c
    B = B_0
    for _ in range(K):
        B = B_0 + A @ B @ H_bar
    np.testing.assert_allclose(array(model(toy.graph)), B + 1 / toy.c, rtol=1e-5, atol=1e-5)


def test_no_layers_means_the_prior_itself():
    small = toy(0)
    model = built(small.graph, K=0)
    assert torch.equal(model(small.graph), model.prior(small.graph))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
@pytest.mark.parametrize("features", [None, 4])
@pytest.mark.parametrize("saturated", [0.0, 0.7, 1.0])
def test_a_few_nodes_get_the_rows_of_the_whole_graph(
    saturated, features, prior, K, kind, monkeypatch
):
    """A long sparse graph, so that fields of K + 4 hops are still a part of it."""
    monkeypatch.setattr(views, "SATURATED", saturated)
    graph = toy(1, n=60, density=0.025, weighted=True, num_features=features).graph
    model = built(graph, prior, K, kind)
    nodes = np.array([40, 3, 17, 59])  # unordered; the last one is isolated
    whole = array(model(graph))
    few = array(model(graph.view(dtype=F64).of(nodes)))
    np.testing.assert_allclose(few, whole[nodes], atol=1e-10)
    if saturated == 1.0:
        field = graph.view(dtype=F64).of(nodes).widened(K)
        assert field.nodes is not None
        assert len(field.nodes) < 60


# -- loss and gradient ----------------------------------------


def loss_of(model: CPGNN, target: Target) -> torch.Tensor:
    return target.loss(model(target.view)) + centering_penalty(model.H_bar)


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
def test_float32_loss_and_gradient_on_the_field_are_those_on_the_graph(prior, K, monkeypatch):
    small = toy(2, n=40, density=0.04)
    results = []
    for saturated in (1.0, 0.0):
        monkeypatch.setattr(views, "SATURATED", saturated)
        model = built(small.graph, prior, K, dtype=torch.float32)
        target = Target.of(small.graph.view(), small.split(6, 4))
        assert (target.view.wider.nodes is None) == (saturated == 0.0)
        loss = loss_of(model, target)
        loss.backward()
        results.append((loss.item(), [array(p.grad) for p in model.parameters()]))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    for field, whole in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(field, whole, atol=1e-5 * max(1, np.abs(whole).max()))


def dense_loss(W_1, W_2, H_bar, toy: Toy, train: np.ndarray, K: int) -> float:
    """Cross-entropy of the training nodes and Φ, NumPy from end to end."""
    B_0 = softmax(np.maximum(toy.X @ W_1, 0) @ W_2) - 1 / toy.c
    B = B_0
    for _ in range(K):
        B = B_0 + toy.A @ B @ H_bar
    P = softmax(B + 1 / toy.c)
    picked = np.log(P[train, toy.y[train]])
    return -picked.mean() + np.abs(H_bar.sum(axis=1)).sum()


def finite_differences(f, at: list[np.ndarray], eps: float = 1e-6) -> list[np.ndarray]:
    gradients = []
    for i, x in enumerate(at):
        gradient = np.zeros_like(x)
        for index in np.ndindex(x.shape):
            moved = []
            for sign in (1, -1):
                shifted = [y.copy() for y in at]
                shifted[i][index] += sign * eps
                moved.append(f(*shifted))
            gradient[index] = (moved[0] - moved[1]) / (2 * eps)
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("K", [1, 2, 3])
@given(toy=toys(density=0.5), seed=st.integers(0, 2**16))
def test_loss_and_gradient_against_dense_numpy(K, toy: Toy, seed):
    """Every weight, H̄ included, by central differences of a loss that shares no code with ours."""
    model = built(toy.graph, "mlp", K, seed=seed)
    split = toy.split(3, 1)
    loss = loss_of(model, Target.of(toy.graph.view(dtype=F64), split))
    loss.backward()
    parameters = [model.prior.W_1, model.prior.W_2, model.H_bar]
    at = [array(p) for p in parameters]
    assert loss.item() == pytest.approx(dense_loss(*at, toy, split.train, K), rel=1e-9)
    expected = finite_differences(lambda *x: dense_loss(*x, toy, split.train, K), at)
    for p, gradient in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(array(p.grad), gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("K", [1, 2, 3, 4])
@given(toy=toys(density=0.5), seed=st.integers(0, 2**16))
def test_gradient_against_dense_autograd(K, toy: Toy, seed):
    model = built(toy.graph, "link", K, seed=seed)
    names = [name for name, _ in model.named_parameters()]
    target = Target.of(toy.graph.view(dtype=F64), toy.split(3, 1))
    target.loss(model(target.view)).backward()

    weights = {n: p.detach().clone().requires_grad_() for n, p in model.named_parameters()}
    A, X = torch.from_numpy(toy.A), torch.from_numpy(toy.X)
    R = A @ weights["prior.W_A"]
    if "prior.W_1" in weights:
        R = R + X @ weights["prior.W_1"]
    B_0 = torch.softmax(torch.relu(R) @ weights["prior.W_2"], dim=1) - 1 / toy.c
    B = B_0
    for _ in range(K):
        B = B_0 + A @ B @ weights["H_bar"]
    cross_entropy(B[:3] + 1 / toy.c, torch.from_numpy(toy.y[:3])).backward()
    for name in names:
        ours = array(model.get_parameter(name).grad)
        np.testing.assert_allclose(ours, array(weights[name].grad), rtol=1e-8, atol=1e-8)


# -- any prior ----------------------------------------


class Table(nn.Module):
    """One row of logits for each node, and nothing more: no `reach`, no View."""

    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.R = nn.Parameter(torch.randn(n, c, generator=torch.Generator().manual_seed(0)))

    def forward(self, graph):
        assert type(graph).__name__ == "Graph"
        return self.R


@pytest.mark.parametrize("K", [0, 1, 2])
def test_any_module_can_be_the_prior(K):
    small = toy(3)
    model = CPGNN(Table(small.n, small.c), K, num_classes=small.c)
    with torch.no_grad():
        model.H_bar.normal_(generator=torch.Generator().manual_seed(1))
    nodes = np.array([5, 2])
    np.testing.assert_allclose(
        array(model(small.graph.view().of(nodes))), array(model(small.graph))[nodes], atol=1e-5
    )


def test_a_prior_that_declares_no_reach_always_gets_the_graph():
    small = toy(3)
    prior = Table(small.n, small.c)
    prior.reach = None
    model = CPGNN(prior, 1, num_classes=small.c)
    assert model(small.graph).shape == (small.n, small.c)
    assert model(small.graph.view().of(np.array([1]))).shape == (1, small.c)


def test_a_known_matrix_can_be_given_and_frozen():
    graph = toy(0).graph
    H = np.array([[0.1, 0.6, 0.3], [0.6, 0.2, 0.2], [0.3, 0.2, 0.5]])
    model = CPGNN(MLPPrior(graph), H_bar=initial_H_bar(H), train_H=False)
    np.testing.assert_allclose(array(model.H_bar), H - 1 / 3, atol=1e-7)
    assert not model.H_bar.requires_grad
    assert CPGNN(MLPPrior(graph)).H_bar.requires_grad
    assert not CPGNN(MLPPrior(graph)).H_bar.any()


def test_the_model_runs_where_its_weights_are():
    graph = planted(n=20)
    assert CPGNN(MLPPrior(graph)).double()(graph).dtype == F64
    assert CPGNN(MLPPrior(graph))(graph).dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: CPGNN(MLPPrior(g), -1), r"'num_layers' must be at least 0\. Got -1"),
        (lambda g: CPGNN(MLPPrior(g), 1.5), r"'num_layers' must be .*\. Got 1\.5"),
        (
            lambda g: CPGNN(MLPPrior(g), normalization="both"),
            r"'normalization' must be 'none', 'sym' or 'row'\. Got 'both'",
        ),
        (
            lambda g: CPGNN(MLPPrior(g), H_bar=np.zeros((3, 2))),
            r"'H_bar' must be a 3 × 3 matrix\. Got \(3, 2\)",
        ),
        (
            lambda g: CPGNN(MLPPrior(g), H_bar=np.zeros((2, 2))),
            r"'H_bar' must be a 3 × 3 matrix\. Got \(2, 2\)",
        ),
        (
            lambda g: CPGNN(nn.Linear(2, 2)),
            r"'num_classes' must be given .*\. Got Linear\. Try CPGNN\(prior, num_classes=",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InputError, match=message):
        make(toy(0).graph)

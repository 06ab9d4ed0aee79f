"""The priors against dense matrices, PyG's ChebConv and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from torch.autograd import gradcheck
from torch.func import functional_call
from torch_geometric.nn import ChebConv

from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.priors import ChebyPrior, LinkPrior, MLPPrior, chebyshev
from toys import Toy, array, toy, toys

ORDERS = [0, 1, 2, 3, 4]
PRIORS = [MLPPrior, LinkPrior, ChebyPrior]


def relu(Z: np.ndarray) -> np.ndarray:
    return np.maximum(Z, 0)


def chebyshev_matrices(A: np.ndarray, order: int) -> list[np.ndarray]:
    """T_0 … T_order of L̃ = -D^-½AD^-½, as matrices: T_i = 2 L̃ T_{i-1} - T_{i-2}."""
    root = np.array([d**-0.5 if d else 0.0 for d in A.sum(axis=1)])
    L = -root[:, None] * A * root
    T = [np.eye(len(A)), L]
    for _ in range(order - 1):
        T.append(2 * L @ T[-1] - T[-2])
    return T[: order + 1]


def dense_conv(T: list[np.ndarray], R: np.ndarray, W: np.ndarray) -> np.ndarray:
    blocks = np.split(W, len(T), axis=1)
    return sum(T_i @ R @ W_i for T_i, W_i in zip(T, blocks, strict=True))


# -- forward ----------------------------------------


@given(toys())
def test_mlp_is_two_products(toy: Toy):
    prior = MLPPrior(toy.graph, hidden=5, seed=1).double()
    expected = relu(toy.X @ array(prior.W_1)) @ array(prior.W_2)
    np.testing.assert_allclose(array(prior(toy.graph)), expected, atol=1e-10)


@given(toys())
def test_link_is_an_mlp_on_features_and_rows_of_A(toy: Toy):
    prior = LinkPrior(toy.graph, hidden=5, seed=1).double()
    inputs, weights = toy.A, array(prior.W_A)
    if toy.graph.features is not None:
        inputs = np.hstack([toy.X, toy.A])
        weights = np.vstack([array(prior.W_1), weights])
    else:
        assert prior.W_1 is None
    expected = relu(inputs @ weights) @ array(prior.W_2)
    np.testing.assert_allclose(array(prior(toy.graph)), expected, atol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
@given(toy=toys())
def test_cheby_against_matrix_polynomials(order, toy: Toy):
    prior = ChebyPrior(toy.graph, hidden=4, order=order, seed=1).double()
    T = chebyshev_matrices(toy.A, order)
    R = relu(dense_conv(T, toy.X, array(prior.W_1)))
    expected = dense_conv(T, R, array(prior.W_2))
    np.testing.assert_allclose(array(prior(toy.graph)), expected, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
@given(toy=toys(num_features=4, sparse=False, density=0.5))
def test_cheby_against_pyg(order, toy: Toy):
    """Isolated nodes and weights included; λ_max = 2, no bias, the same weights."""
    prior = ChebyPrior(toy.graph, hidden=4, order=order, seed=2).double()
    layers = []
    for W in (prior.W_1, prior.W_2):
        blocks = W.detach().chunk(order + 1, dim=1)
        conv = ChebConv(W.shape[0], blocks[0].shape[1], order + 1, "sym", bias=False).double()
        for lin, block in zip(conv.lins, blocks, strict=True):
            lin.weight.data = block.T.contiguous()
        layers.append(conv)
    ends = torch.from_numpy(np.stack(np.nonzero(toy.A)))
    weight = torch.from_numpy(toy.A[np.nonzero(toy.A)])
    rest = {"lambda_max": torch.tensor(2.0, dtype=torch.float64)}
    R = torch.relu(layers[0](torch.from_numpy(toy.X), ends, weight, **rest))
    expected = layers[1](R, ends, weight, **rest)
    np.testing.assert_allclose(array(prior(toy.graph)), array(expected), atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_clenshaw_uses_one_product_for_each_order(order, monkeypatch):
    from cpgnn.engine.sparse import SparseOperator

    calls = []
    product = SparseOperator.__matmul__
    monkeypatch.setattr(
        SparseOperator,
        "__matmul__",
        lambda self, B: calls.append(self.shape) or product(self, B),
    )
    graph = toy(0).graph
    chebyshev(graph.view(), torch.ones(graph.num_nodes, (order + 1) * 2), order)
    assert calls == [(graph.num_nodes, graph.num_nodes)] * order


@pytest.mark.parametrize("order", [1, 2])
def test_an_isolated_node_has_T1_zero_and_T2_minus_one(order):
    toy_graph = toy(0, isolated=1)
    Z = torch.randn(toy_graph.n, order + 1, generator=torch.Generator().manual_seed(0))
    lonely = chebyshev(toy_graph.graph.view(), Z, order)[-1].item()
    expected = Z[-1, 0] if order == 1 else Z[-1, 0] - Z[-1, 2]
    assert lonely == pytest.approx(float(expected), rel=1e-6)


def test_dense_features_go_through_the_mlp_in_blocks(monkeypatch):
    small = toy(4, n=11)
    prior = MLPPrior(small.graph, hidden=5).double()
    whole = array(prior(small.graph))
    monkeypatch.setattr("cpgnn.priors.mlp.BLOCK", 3)
    np.testing.assert_allclose(array(prior(small.graph)), whole, atol=1e-12)


def test_a_featureless_graph_needs_no_identity_matrix():
    """n × n would be 40 GB here."""
    n = 100_000
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), labels=np.arange(n) % 2)
    for make in PRIORS:
        prior = make(graph, hidden=2)
        assert prior(graph).shape == (n, 2)


# -- gradients ----------------------------------------


@pytest.mark.parametrize("features", ["dense", "sparse", "none"])
@pytest.mark.parametrize("make", PRIORS)
def test_gradients_against_finite_differences(make, features):
    small = toy(
        3,
        n=6,
        weighted=True,
        num_features=None if features == "none" else 3,
        sparse=features == "sparse",
    )
    prior = make(small.graph, hidden=3, seed=4).double()
    names = [name for name, _ in prior.named_parameters()]
    weights = [p.detach().clone().requires_grad_() for p in prior.parameters()]

    def forward(*values):
        return functional_call(prior, dict(zip(names, values, strict=True)), (small.graph,))

    assert gradcheck(forward, tuple(weights), atol=1e-6)


# -- weights, dropout, refusals ----------------------------------------


@pytest.mark.parametrize("make", PRIORS)
def test_weights_are_glorot_uniform_and_come_from_the_seed(make):
    graph = toy(0, n=120, num_features=90, c=4).graph
    state = torch.get_rng_state()
    one, same, other = (make(graph, hidden=40, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    for a, b, c in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
    blocks = 3 if make is ChebyPrior else 1
    shapes = {"W_1": (90, 40), "W_A": (120, 40), "W_2": (40, 4)}
    for name, W in one.named_parameters():
        fan_in, fan_out = shapes[name]
        assert W.shape == (fan_in, blocks * fan_out)
        bound = np.sqrt(6 / (fan_in + fan_out))
        assert W.abs().max() <= bound
        assert W.abs().max() > 0.95 * bound
        assert abs(W.mean().item()) < 0.12 * bound


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("make", PRIORS)
def test_dropout_acts_in_training_only_and_is_unbiased(make, sparse):
    """The mean over many masks is the forward pass without them, wherever ReLU does not bend."""
    small = toy(1, sparse=sparse)
    prior = make(small.graph, hidden=6, dropout=0.5, seed=3).double()
    for name, parameter in prior.named_parameters():
        if name != "W_2":
            parameter.data.abs_()
    positive = small.graph.with_features(abs(small.graph.features))
    if make is ChebyPrior:  # T_0 only: nothing becomes negative
        prior.W_1.data[:, 6:] = 0
    prior.eval()
    plain = array(prior(positive))
    np.testing.assert_array_equal(plain, array(prior(positive)))
    prior.train()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        samples = np.stack([array(prior(positive)) for _ in range(1000)])
    assert (samples.std(axis=0)[:-1] > 0).any()
    error = 6 * samples.std(axis=0) / np.sqrt(len(samples)) + 1e-9
    assert (np.abs(samples.mean(axis=0) - plain) <= error).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "'hidden' must be at least 1. Got 0."),
        ({"dropout": 1.0}, r"'dropout' must lie in \[0, 1\). Got 1.0."),
        ({"dropout": -0.1}, r"'dropout' must lie in \[0, 1\). Got -0.1."),
    ],
)
@pytest.mark.parametrize("make", PRIORS)
def test_senseless_options_are_refused(make, options, message):
    with pytest.raises(InputError, match=message):
        make(toy(0).graph, **options)


def test_order_and_number_of_classes_are_checked():
    with pytest.raises(InputError, match=r"'order' must be at least 0\. Got -1"):
        ChebyPrior(toy(0).graph, order=-1)
    with pytest.raises(InputError, match="The graph must have at least two classes"):
        MLPPrior(Graph.from_edges([0], [1], labels=["x", "x"]))

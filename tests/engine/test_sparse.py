"""The sparse product and the views, against dense slices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from cpgnn.engine import sparse
from cpgnn.engine.sparse import IdentityRows, SparseOperator, as_view, csr_tensor
from cpgnn.graph import Graph
from toys import CPU, Toy, array, toy, toys

SEEDS = st.integers(0, 2**16)
F64 = torch.float64


@pytest.fixture
def exact_fields(monkeypatch):
    """Receptive fields stay what they are, however large."""
    monkeypatch.setattr(sparse, "SATURATED", 1.0)


def path(n: int) -> Graph:
    """0 - 1 - … - (n-1): every receptive field can be read off."""
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n))


# -- the product ----------------------------------------


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), SEEDS)
def test_product_sum_and_gradient_of_any_matrix(rows, cols, width, seed):
    rng = np.random.default_rng(seed)
    M = np.where(rng.random((rows, cols)) < 0.5, rng.normal(size=(rows, cols)), 0)
    B = torch.tensor(rng.normal(size=(cols, width)), requires_grad=True)
    base = torch.tensor(rng.normal(size=(rows, width)), requires_grad=True)
    G = rng.normal(size=(rows, width))
    operator = SparseOperator.from_scipy(sp.csr_array(M), CPU, F64)
    assert operator.shape == M.shape
    np.testing.assert_allclose(array(operator @ B), M @ array(B), atol=1e-12)

    total = operator.add(base, B)
    np.testing.assert_allclose(array(total), array(base) + M @ array(B), atol=1e-12)
    total.backward(torch.from_numpy(G))
    np.testing.assert_allclose(array(B.grad), M.T @ G, atol=1e-12)
    np.testing.assert_allclose(array(base.grad), G)


@pytest.mark.parametrize("width", [1, sparse.WIDE - 1, sparse.WIDE, 64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("large", [1, sparse.LARGE])
def test_narrow_and_wide_products(width, index, by_columns, large, monkeypatch):
    """Float32, where the two go different ways; rows without entries, and an empty last row."""
    monkeypatch.setattr(sparse, "LARGE", large)
    rng = np.random.default_rng(0)
    M = np.where(rng.random((30, 20)) < 0.2, rng.normal(size=(30, 20)), 0)
    M[[3, 29]] = 0
    B = rng.normal(size=(20, width))
    stored = torch.tensor(B, dtype=torch.float32)
    stored = stored.t().contiguous().t() if by_columns else stored
    rows = sp.csr_array(M)
    matrix = torch.sparse_csr_tensor(
        torch.from_numpy(rows.indptr.astype(index)),
        torch.from_numpy(rows.indices.astype(index)),
        torch.from_numpy(rows.data).float(),
        M.shape,
        check_invariants=True,
    )
    np.testing.assert_allclose(array(sparse.product(matrix, stored)), M @ B, atol=1e-5)


@pytest.mark.parametrize("trained", [1, 5, None])
@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_a_wide_sum_and_its_gradient(trained, scale):
    rng = np.random.default_rng(1)
    M = np.where(rng.random((7, 6)) < 0.5, rng.normal(size=(7, 6)), 0)
    B, base, G = (rng.normal(size=(n, 64)) for n in (6, 7, 7))
    G[trained:] = 0 if trained else G[trained:]
    tensors = [torch.tensor(v, dtype=torch.float32, requires_grad=True) for v in (B, base)]
    operator = SparseOperator.from_scipy(sp.csr_array(M), CPU, torch.float32, trained=trained)
    total = operator.add(tensors[1], tensors[0], scale)
    np.testing.assert_allclose(array(total), base + scale * M @ B, atol=1e-4)
    total.backward(torch.tensor(G, dtype=torch.float32))
    np.testing.assert_allclose(array(tensors[0].grad), scale * M.T @ G, atol=1e-4)
    np.testing.assert_allclose(array(tensors[1].grad), G, atol=1e-6)


def test_gradient_against_finite_differences():
    M = np.array([[0, 2.0, 0], [1, 0, -3]])
    operator = SparseOperator.from_scipy(sp.csr_array(M), CPU, F64)
    B = torch.randn(3, 2, dtype=F64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert gradcheck(lambda B: operator @ B, (B,))


def test_a_symmetric_matrix_is_kept_once():
    graph = toy(0).graph
    whole = graph.view()
    for kind, once in (("none", True), ("sym", True), ("row", False)):
        operator = whole.operator(kind)
        assert (operator.transpose is operator.forward) == once
        np.testing.assert_array_equal(
            array(operator.transpose.to_dense()), array(operator.forward.to_dense()).T
        )
        assert whole.operator(kind) is operator


def test_indices_are_32_bits_and_memory_is_shared():
    A = toy(0).graph.adjacency
    tensor = csr_tensor(A)
    assert tensor.col_indices().dtype == torch.int32
    assert tensor.values().data_ptr() == A.data.ctypes.data


@pytest.mark.parametrize("symmetric", [True, False])
def test_dropout_drops_the_same_entries_from_the_transpose(symmetric):
    rng = np.random.default_rng(0)
    M = np.triu(rng.random((60, 60)) + 0.5, 1)
    M = sp.csr_array(M + M.T if symmetric else M)
    operator = SparseOperator.from_scipy(M, CPU, F64, symmetric=symmetric)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = operator.dropout(0.25)
    forward = array(dropped.forward.to_dense())
    np.testing.assert_array_equal(array(dropped.transpose.to_dense()), forward.T)
    kept = forward != 0
    np.testing.assert_allclose(forward[kept], M.toarray()[kept] / 0.75)
    assert 1 - kept.sum() / M.nnz == pytest.approx(0.25, abs=0.04)
    np.testing.assert_array_equal(array(operator.forward.to_dense()), M.toarray())


# -- identity features ----------------------------------------


def test_rows_of_the_identity_pick_rows():
    W = torch.arange(12, dtype=F64).reshape(4, 3)
    np.testing.assert_array_equal(array(IdentityRows(None) @ W), np.eye(4) @ array(W))
    rows = IdentityRows(torch.tensor([2, 0]))
    np.testing.assert_array_equal(array(rows @ W), np.eye(4)[[2, 0]] @ array(W))
    scale = torch.tensor([[2.0], [0.0]], dtype=F64)
    scaled = IdentityRows(torch.tensor([2, 0]), scale) @ W
    np.testing.assert_array_equal(array(scaled), np.diag([2, 0]) @ np.eye(4)[[2, 0]] @ array(W))


@pytest.mark.parametrize("form", ["dense", "sparse", "none"])
def test_dropped_features_are_unbiased_and_scaled(form):
    X = np.ones((400, 20)) if form != "none" else np.eye(400)
    features = {"dense": X, "sparse": sp.csr_array(X), "none": None}[form]
    graph = Graph.from_edges([], [], num_nodes=400, features=features)
    view = graph.view(dtype=F64)
    assert view.dropped_features(0.0) is view.features
    with torch.random.fork_rng():
        torch.manual_seed(1)
        dropped = array(view.dropped_features(0.4) @ torch.eye(X.shape[1], dtype=F64))
    values = dropped[X == 1]
    np.testing.assert_allclose(values[values != 0], 1 / 0.6)
    assert values.mean() == pytest.approx(1, abs=0.12)
    assert not dropped[X == 0].any()


# -- views ----------------------------------------


@given(toys(), SEEDS)
def test_wider_is_the_nodes_and_their_neighbours(toy: Toy, seed):
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(toy.n)[: rng.integers(1, toy.n)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "SATURATED", 1.0)
        view = toy.graph.view(dtype=F64).of(nodes)
        reached = toy.A[nodes].any(axis=0)
        reached[nodes] = True
        np.testing.assert_array_equal(view.wider.nodes, np.flatnonzero(reached))

        # A view maps values on `wider` to values on its own nodes, in their order.
        values = rng.normal(size=(toy.n, 2))
        wide = torch.from_numpy(values[view.wider.nodes])
        np.testing.assert_array_equal(array(view.take(wide)), values[nodes])
        np.testing.assert_allclose(array(view.operator() @ wide), toy.A[nodes] @ values)
        np.testing.assert_array_equal(array(view.adjacency_rows.forward.to_dense()), toy.A[nodes])
        W = torch.from_numpy(rng.normal(size=(toy.X.shape[1], 2)))
        np.testing.assert_allclose(array(view.features @ W), toy.X[nodes] @ array(W), atol=1e-12)
        assert view.num_nodes == len(nodes)


def test_widening_walks_one_hop_at_a_time(exact_fields):
    view = path(10).view().of(np.array([5]))
    for hops, expected in enumerate([[5], [4, 5, 6], [3, 4, 5, 6, 7]]):
        np.testing.assert_array_equal(view.widened(hops).nodes, expected)


def test_a_field_of_most_nodes_becomes_all_of_them():
    graph = path(10)
    whole = graph.view()
    assert whole.wider is whole
    assert whole.take(torch.ones(10, 1)).shape == (10, 1)
    view = whole.of(np.arange(1, 6))
    assert len(view.wider.nodes) == 7  # 7 of 10 is not more than 70 %
    assert whole.of(np.arange(1, 7)).wider is whole  # 8 of 10 is
    narrow = whole.of(np.array([7, 1, 2, 3, 4, 5]))
    np.testing.assert_array_equal(
        array(narrow.take(torch.arange(10.0)[:, None])).ravel(), narrow.nodes
    )
    np.testing.assert_array_equal(
        array(narrow.operator().forward.to_dense()), graph.adjacency.toarray()[narrow.nodes]
    )


def test_as_view_follows_the_tensor():
    graph = path(3)
    view = as_view(graph, torch.zeros(1, dtype=F64))
    assert view.dtype == F64
    assert as_view(view, torch.zeros(1)) is view
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert view.operator().forward.dtype == F64

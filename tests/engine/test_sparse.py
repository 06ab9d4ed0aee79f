"""The sparse product and its gradient, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from cpgnn.engine import sparse
from cpgnn.engine.sparse import SparseOperator, csr_tensor
from toys import CPU, array, toy

SEEDS = st.integers(0, 2**16)
F64 = torch.float64


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), SEEDS)
def test_product_and_gradient_of_any_matrix(rows, cols, width, seed):
    rng = np.random.default_rng(seed)
    M = np.where(rng.random((rows, cols)) < 0.5, rng.normal(size=(rows, cols)), 0)
    B = torch.tensor(rng.normal(size=(cols, width)), requires_grad=True)
    G = rng.normal(size=(rows, width))
    operator = SparseOperator.from_scipy(sp.csr_array(M), CPU, F64)
    assert operator.shape == M.shape
    product = operator @ B
    np.testing.assert_allclose(array(product), M @ array(B), atol=1e-12)
    product.backward(torch.from_numpy(G))
    np.testing.assert_allclose(array(B.grad), M.T @ G, atol=1e-12)


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
def test_a_wide_product_and_its_gradient(trained):
    rng = np.random.default_rng(1)
    M = np.where(rng.random((7, 6)) < 0.5, rng.normal(size=(7, 6)), 0)
    B, G = (rng.normal(size=(n, 64)) for n in (6, 7))
    G[trained:] = 0 if trained else G[trained:]
    wide = torch.tensor(B, dtype=torch.float32, requires_grad=True)
    operator = SparseOperator.from_scipy(sp.csr_array(M), CPU, torch.float32, trained=trained)
    product = operator @ wide
    np.testing.assert_allclose(array(product), M @ B, atol=1e-4)
    product.backward(torch.tensor(G, dtype=torch.float32))
    np.testing.assert_allclose(array(wide.grad), M.T @ G, atol=1e-4)


def test_gradient_against_finite_differences():
    M = np.array([[0, 2.0, 0], [1, 0, -3]])
    operator = SparseOperator.from_scipy(sp.csr_array(M), CPU, F64)
    B = torch.randn(3, 2, dtype=F64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert gradcheck(lambda B: operator @ B, (B,))
    assert gradgradcheck(lambda B: (operator @ B) ** 2, (B,))


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

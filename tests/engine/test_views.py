"""Views of a graph, and featureless features, against dense slices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.engine import views
from cpgnn.engine.inputs import as_view
from cpgnn.engine.views import IdentityRows
from cpgnn.graph import Graph
from toys import Toy, array, toys

SEEDS = st.integers(0, 2**16)
F64 = torch.float64


@pytest.fixture
def exact_fields(monkeypatch):
    """Receptive fields stay what they are, however large."""
    monkeypatch.setattr(views, "SATURATED", 1.0)


def path(n: int) -> Graph:
    """0 - 1 - … - (n-1): every receptive field can be read off."""
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n))


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
        patch.setattr(views, "SATURATED", 1.0)
        view = toy.graph.view(dtype=F64).of(nodes)
        reached = toy.A[nodes].any(axis=0)
        reached[nodes] = True
        np.testing.assert_array_equal(view.wider.nodes, np.flatnonzero(reached))

        # A view maps values on `wider` to values on its own nodes, in their order.
        values = rng.normal(size=(toy.n, 2))
        wide = torch.from_numpy(values[view.wider.nodes])
        np.testing.assert_array_equal(array(view.take(wide)), values[nodes])
        np.testing.assert_array_equal(array(view.operator().own(wide)), values[nodes])
        np.testing.assert_allclose(array(view.operator() @ wide), toy.A[nodes] @ values)
        np.testing.assert_array_equal(array(view.adjacency_rows.forward.to_dense()), toy.A[nodes])
        W = torch.from_numpy(rng.normal(size=(toy.X.shape[1], 2)))
        np.testing.assert_allclose(array(view.features @ W), toy.X[nodes] @ array(W), atol=1e-12)
        assert view.num_nodes == len(nodes)


def test_widening_walks_one_hop_at_a_time(exact_fields):
    view = path(10).view().of(np.array([5]))
    for hops, expected in enumerate([[5], [4, 5, 6], [3, 4, 5, 6, 7]]):
        np.testing.assert_array_equal(view.widened(hops).nodes, expected)
    assert [v.num_nodes for v in view.field(2)] == [1, 3, 5]


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

"""Feature scaling against scikit-learn; chosen once, reused at prediction."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from toys import toy


def with_features(X) -> Graph:
    return Graph.from_edges([], [], num_nodes=X.shape[0], features=X)


def dense(graph: Graph) -> np.ndarray:
    return graph.features.toarray() if sp.issparse(graph.features) else graph.features


def matrix(seed: int, *, negative: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(12, 5)) * 10.0 ** rng.integers(-3, 4, 5)
    X[rng.random(X.shape) < 0.4] = 0
    return -X if negative else X


@pytest.mark.parametrize("sparse", [False, True])
@given(seed=st.integers(0, 2**16))
def test_rows_sum_to_one_and_zero_rows_stay(sparse, seed):
    X = matrix(seed)
    X[3] = 0
    graph = with_features(sp.csr_array(X) if sparse else X)
    scaled = FeatureScaler.fit(graph, "rows")(graph)
    assert sp.issparse(scaled.features) == sparse
    total = X.sum(axis=1)
    expected = [row / t if t else row for row, t in zip(X, total, strict=True)]
    np.testing.assert_allclose(dense(scaled), expected, rtol=1e-5)
    np.testing.assert_array_equal(dense(graph), X.astype(np.float32))  # the input is left alone


@pytest.mark.parametrize("sparse", [False, True])
@given(seed=st.integers(0, 2**16))
def test_standard_is_scikit_learns(sparse, seed):
    """Sparse columns are divided only: subtracting the mean would fill the matrix."""
    X = matrix(seed).astype(np.float32)
    X[:, 2] = 0
    graph = with_features(sp.csr_array(X) if sparse else X)
    scaled = FeatureScaler.fit(graph, "standard")(graph)
    expected = StandardScaler(with_mean=not sparse).fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(dense(scaled), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("value", [0.1, 3.3, 1e-6, 1e6, -7.7])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_constant_column_is_not_blown_up(sparse, value):
    X = matrix(0)
    X[:, 1] = value
    graph = with_features(sp.csr_array(X) if sparse else X)
    column = dense(FeatureScaler.fit(graph, "standard")(graph))[:, 1]
    np.testing.assert_allclose(column, value if sparse else 0, rtol=1e-6, atol=2e-7 * abs(value))


@pytest.mark.parametrize(
    ("features", "kind"),
    [
        (sp.csr_array(matrix(0)), "rows"),
        (sp.csr_array(matrix(0, negative=True)), "standard"),
        (matrix(0), "standard"),
        (matrix(0, negative=True), "standard"),
        (None, "none"),
    ],
)
def test_auto(features, kind):
    graph = Graph.from_edges([], [], num_nodes=12, features=features)
    scaler = FeatureScaler.fit(graph)
    assert scaler.kind == kind
    assert (scaler(graph) is graph) == (kind == "none")


def test_none_leaves_the_features_as_they_are():
    graph = with_features(matrix(0))
    assert FeatureScaler.fit(graph, "none")(graph) is graph


def test_the_fitted_mean_is_reused_on_other_nodes():
    """A later graph is scaled with the training graph's numbers, not with its own."""
    train, later = matrix(1), matrix(2)
    scaler = FeatureScaler.fit(with_features(train))
    expected = StandardScaler().fit(train.astype(np.float32)).transform(later.astype(np.float32))
    scaled = scaler(with_features(later))
    np.testing.assert_allclose(dense(scaled), expected, rtol=1e-4, atol=1e-4)
    assert not np.allclose(dense(scaled).mean(axis=0), 0, atol=1e-2)


@pytest.mark.parametrize("kind", ["rows", "standard"])
@pytest.mark.parametrize("fitted_on", [np.asarray, sp.csr_array])
def test_dense_or_sparse_at_prediction_is_all_the_same(fitted_on, kind):
    scaler = FeatureScaler.fit(with_features(fitted_on(matrix(1))), kind)
    later = matrix(2)
    np.testing.assert_allclose(
        dense(scaler(with_features(sp.csr_array(later)))),
        dense(scaler(with_features(later))),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("fitted", "given", "message"),
    [
        (4, 3, r"have the 4 features the model was fitted with\. Got 3\."),
        (4, None, r"have the 4 features the model was fitted with\. Got no features\."),
        (None, 4, r"have no features, as in the fit\. Got 4\."),
    ],
)
def test_other_features_are_refused(fitted, given, message):
    scaler = FeatureScaler.fit(toy(0, num_features=fitted).graph)
    with pytest.raises(InputError, match=message):
        scaler(toy(0, num_features=given).graph)

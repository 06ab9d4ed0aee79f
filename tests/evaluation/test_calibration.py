import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpgnn.evaluation.calibration import (
    CONTRASTS,
    PULL,
    Calibration,
    Scaling,
    calibration_nodes,
    fit_scaling,
    fit_temperature,
    negative_log_likelihood,
    reliability,
    softmax,
    spread,
)


def drawn(n, c, temperature, seed=0, contrast=0.0):
    """Logits, and labels drawn from softmax(R s^γ / T): calibrated at exactly these T and γ."""
    rng = np.random.default_rng(seed)
    R = 2 * rng.standard_normal((n, c)) * rng.gamma(2, 0.5, (n, 1))
    P = softmax(R, temperature, contrast)
    labels = (rng.random((n, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=c - 1)
    return R, labels


def test_softmax_against_its_definition_and_with_huge_logits():
    R = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0]])
    expected = np.exp(R / 2) / np.exp(R / 2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax(R, 2.0), expected, rtol=1e-12)
    np.testing.assert_array_equal(softmax(np.array([[1e30, 0.0]], dtype=np.float32)), [[1, 0]])


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_temperature_is_found_where_it_is_known(temperature):
    R, labels = drawn(40_000, 4, temperature)
    assert fit_temperature(R, labels) == pytest.approx(temperature, rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_temperature_is_the_optimum_of_a_grid(seed):
    R, labels = drawn(60, 3, 2.0, seed)
    T = fit_temperature(R, labels)
    grid = np.exp(np.linspace(np.log(0.05), np.log(50), 4000))
    one_hot = np.eye(3)[labels]
    losses = [-(one_hot * np.log(softmax(R, t))).sum() / 60 for t in grid]
    assert grid[np.argmin(losses)] == pytest.approx(T, rel=3e-3)
    assert negative_log_likelihood(R, labels, T) <= min(losses) + 1e-9


def test_temperature_changes_no_class_and_mends_logits_that_are_too_large():
    R, labels = drawn(5000, 4, 1.0)
    hot = 30 * R
    T = fit_temperature(hot, labels)
    assert pytest.approx(30, rel=0.06) == T
    np.testing.assert_array_equal(softmax(hot, T).argmax(1), hot.argmax(1))
    scored = Calibration.of(hot, labels, Scaling(T), 99)
    assert scored.after.error < 0.03 < 0.2 < scored.before.error
    assert scored.as_dict()["before"]["expected_calibration_error"] == scored.before.error


def test_temperature_follows_the_unit_of_the_logits():
    """Weights in cents make logits of 10⁹: T is as much larger, and the probabilities the same."""
    R, labels = drawn(5000, 3, 2.0)
    T = fit_temperature(R, labels)
    assert fit_temperature(1e9 * R, labels) == pytest.approx(1e9 * T, rel=1e-4)


def test_nothing_is_learned_from_nodes_without_an_error():
    R, labels = np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([0, 1])
    assert fit_temperature(R, labels) == 1.0
    assert fit_scaling(R, labels) == Scaling(1.0, 0.0)
    assert fit_scaling(np.zeros((4, 2)), np.array([0, 1, 0, 1])).contrast == 0


def test_contrast_by_hand():
    R = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    s = np.sqrt(2.0)  # of 3, 0, 0
    expected = np.exp(R[0] * s**0.5 / 2) / np.exp(R[0] * s**0.5 / 2).sum()
    np.testing.assert_allclose(softmax(R, 2.0, 0.5), [expected, [1 / 3] * 3], rtol=1e-12)
    np.testing.assert_allclose(softmax(R + 7, 2.0, -0.9), softmax(R, 2.0, -0.9), rtol=1e-9)


@pytest.mark.parametrize(("temperature", "contrast"), [(1.0, 0.8), (2.0, -0.5), (0.7, 0.0)])
def test_scaling_is_found_where_it_is_known(temperature, contrast):
    R, labels = drawn(40_000, 4, temperature, contrast=contrast)
    found = fit_scaling(R, labels)
    assert found.temperature == pytest.approx(temperature, rel=0.04)
    assert found.contrast == pytest.approx(contrast, abs=0.04)


@pytest.mark.parametrize("seed", range(3))
def test_scaling_is_the_optimum_of_a_grid(seed):
    R, labels = drawn(80, 3, 1.5, seed, contrast=0.6)
    rows = np.arange(80)

    def objective(T, contrast):
        return -np.log(softmax(R, T, contrast)[rows, labels]).sum() + PULL * contrast**2

    found = fit_scaling(R, labels)
    Ts = found.temperature * np.exp(np.linspace(-1, 1, 101))
    best = min(objective(T, g) for T in Ts for g in np.linspace(*CONTRASTS, 59))
    assert objective(*found) <= best + 1e-6
    assert objective(*found) == pytest.approx(best, abs=0.02)


def test_contrast_changes_no_class_and_no_order_of_two_classes():
    R, labels = drawn(500, 2, 1.0, contrast=-0.8)
    R += 5  # what all classes have in common says nothing
    found = fit_scaling(R, labels)
    assert found.contrast < -0.3
    P = softmax(R, *found)
    np.testing.assert_array_equal(P.argmax(axis=1), R.argmax(axis=1))
    np.testing.assert_array_equal(np.argsort(P[:, 1]), np.argsort(R[:, 1] - R[:, 0]))


def test_few_labels_hardly_bend_anything():
    """Two nodes, one of them wrong."""
    R = np.array([[2.0, 0.0], [0.0, 0.5]])
    assert abs(fit_scaling(R, np.array([0, 0])).contrast) < 0.2
    assert spread(R) == pytest.approx([1.0, 0.25])


def test_calibration_error_by_hand():
    P = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.55, 0.45]])
    made = reliability(P, np.array([0, 1, 1, 0]), bins=2)
    assert made.count.tolist() == [0, 4]
    assert made.error == pytest.approx(abs(3 / 4 - (0.9 + 0.8 + 0.7 + 0.55) / 4))
    made = reliability(P, np.array([0, 1, 1, 0]), bins=4)
    # (0.5, 0.75] holds 0.7 (right) and 0.55 (right); (0.75, 1] holds 0.9 (right) and 0.8 (wrong)
    assert made.error == pytest.approx(0.5 * abs(1 - 0.625) + 0.5 * abs(0.5 - 0.85))
    assert made.as_dict()["accuracy"] == [None, None, 1.0, 0.5]


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 20))
def test_calibration_error_against_a_loop(seed, c, bins):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(c, 0.4), size=50)
    labels = rng.integers(c, size=50)
    error = 0.0
    for b in range(bins):
        inside = [v for v in range(50) if b / bins < P[v].max() <= (b + 1) / bins]
        if inside:
            right = np.mean([P[v].argmax() == labels[v] for v in inside])
            error += len(inside) / 50 * abs(right - np.mean([P[v].max() for v in inside]))
    assert reliability(P, labels, bins).error == pytest.approx(error, abs=1e-12)


def test_a_certain_model_that_is_right_half_the_time():
    P = np.tile([1.0, 0.0], (10, 1))
    made = reliability(P, np.arange(10) % 2)
    assert made.error == 0.5
    assert made.count[-1] == 10


def test_calibration_nodes_are_a_quarter_of_every_class():
    labels = np.repeat([0, 1, 2], [400, 200, 40])
    val = np.arange(0, 640, 2)
    nodes = calibration_nodes(labels, val, seed=3)
    assert len(nodes) == 80
    assert np.isin(nodes, val).all()
    assert np.bincount(labels[nodes]).tolist() == [50, 25, 5]
    assert not np.array_equal(nodes, calibration_nodes(labels, val, seed=4))


@pytest.mark.parametrize(("count", "expected"), [(22, 0), (59, 0), (60, 30), (100, 30), (200, 50)])
def test_few_validation_nodes(count, expected):
    assert len(calibration_nodes(np.zeros(300, dtype=int), np.arange(count))) == expected

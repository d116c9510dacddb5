"""Ridge least squares, against NumPy's own and in all its degenerate cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickfit.compression import least_squares
from quickfit.compression.least_squares import LeastSquares, solve_least_squares
from quickfit.errors import ModelError, UsageError


def problem(rows=200, features=6, outputs=3, seed=0, noise=0.1):
    draw = np.random.default_rng(seed)
    inputs = draw.normal(size=(rows, features)) + 3.0
    true = draw.normal(size=(features, outputs))
    targets = inputs @ true + noise * draw.normal(size=(rows, outputs))
    return inputs, targets, true


def test_without_ridge_it_is_ordinary_least_squares():
    inputs, targets, _ = problem()
    fit = solve_least_squares(inputs, targets, ridge=0)
    np.testing.assert_allclose(fit.weights, np.linalg.lstsq(inputs, targets, rcond=None)[0])
    assert fit.bias is None


def test_a_bias_is_a_column_of_ones_that_nothing_pulls_at():
    inputs, targets, _ = problem()
    targets = targets + np.array([100.0, -50.0, 0.0])
    fit = solve_least_squares(inputs, targets, ridge=0, bias=True)
    widened = np.c_[inputs, np.ones(len(inputs))]
    best = np.linalg.lstsq(widened, targets, rcond=None)[0]
    np.testing.assert_allclose(fit.weights, best[:-1], atol=1e-9)
    np.testing.assert_allclose(fit.bias, best[-1], atol=1e-8)
    # With a strong pull the constant alone is left: the mean.
    flat = solve_least_squares(inputs, targets, ridge=1e9, bias=True)
    np.testing.assert_allclose(flat.bias, targets.mean(axis=0), atol=1e-6)


def test_the_ridge_is_measured_in_units_of_the_inputs():
    inputs, targets, _ = problem()
    small, large = solve_least_squares(inputs, targets), solve_least_squares(inputs * 1e4, targets)
    np.testing.assert_allclose(small.weights, large.weights * 1e4)


def test_a_prior_that_fits_is_returned_unchanged():
    inputs, targets, true = problem(noise=0)
    fit = solve_least_squares(inputs, targets, prior=true, ridge=0.5)
    np.testing.assert_allclose(fit.weights, true, atol=1e-12)
    assert fit.error < 1e-7


def test_what_the_samples_do_not_show_stays_at_the_prior():
    inputs, targets, true = problem()
    inputs[:, 2] = 0.0  # a dead channel
    prior = np.full_like(true, 7.0)
    for ridge in (0, 1e-6, 1e-3):
        fit = solve_least_squares(inputs, targets, prior=prior, ridge=ridge)
        np.testing.assert_allclose(fit.weights[2], 7.0)


def test_a_constant_column_is_left_to_the_bias():
    inputs, targets, true = problem()
    inputs[:, 4] = 5.0
    fit = solve_least_squares(inputs, targets, prior=np.zeros_like(true), bias=True)
    np.testing.assert_allclose(fit.weights[4], 0.0, atol=1e-9)
    made = inputs @ fit.weights + fit.bias
    np.testing.assert_allclose(made.mean(axis=0), targets.mean(axis=0))


@pytest.mark.parametrize("ridge", [0, 1e-18, 1e-3])
def test_columns_that_repeat_each_other_do_no_harm(ridge):
    inputs, targets, _ = problem()
    doubled = np.c_[inputs, inputs, np.zeros(len(inputs))]
    fit = solve_least_squares(doubled, targets, ridge=ridge)
    single = solve_least_squares(inputs, targets, ridge=ridge)
    assert np.isfinite(fit.weights).all()
    np.testing.assert_allclose(doubled @ fit.weights, inputs @ single.weights, atol=0.1)


def test_fewer_samples_than_features_stay_near_the_prior():
    inputs, targets, true = problem(rows=3, noise=0)
    fit = solve_least_squares(inputs, targets, prior=true + 0.1, ridge=1e-9)
    np.testing.assert_allclose(inputs @ fit.weights, targets, atol=1e-4)
    assert np.abs(fit.weights - true).max() < 1.0


def test_inputs_that_are_all_zero_leave_the_prior():
    _, targets, true = problem()
    fit = solve_least_squares(np.zeros((200, 6)), targets, prior=true)
    np.testing.assert_array_equal(fit.weights, true)


@pytest.mark.parametrize("bias", [False, True])
def test_a_far_away_mean_costs_no_digits(bias):
    inputs, targets, true = problem(noise=0)
    offset = 1e6 if bias else 0.0
    fit = solve_least_squares(inputs + offset, targets, ridge=1e-12, bias=bias)
    np.testing.assert_allclose(fit.weights, true, atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=4), bias=st.booleans())
def test_the_chunks_do_not_matter(cuts, bias):
    inputs, targets, _ = problem()
    whole = solve_least_squares(inputs, targets, bias=bias)
    parts = LeastSquares(bias=bias)
    for x, y in zip(np.split(inputs, sorted(cuts)), np.split(targets, sorted(cuts)), strict=True):
        parts.add(x, y)
    fit = parts.solution()
    np.testing.assert_allclose(fit.weights, whole.weights, atol=1e-9)
    assert fit.error == pytest.approx(whole.error, abs=1e-7)
    assert parts.rows == 200


def test_many_rows_are_added_up_in_chunks(monkeypatch):
    inputs, targets, _ = problem()
    whole = solve_least_squares(inputs, targets)
    monkeypatch.setattr(least_squares, "CHUNK_ROWS", 7)
    np.testing.assert_allclose(solve_least_squares(inputs, targets).weights, whole.weights)


def test_the_error_is_what_is_left_of_the_targets():
    inputs, targets, _ = problem(noise=2.0)
    fit = solve_least_squares(inputs, targets, bias=True)
    rest = targets - inputs @ fit.weights - fit.bias
    around = targets - targets.mean(axis=0)
    assert fit.error == pytest.approx(np.linalg.norm(rest) / np.linalg.norm(around))
    assert solve_least_squares(inputs, np.ones_like(targets), bias=True).error == 0


def test_half_precision_is_added_up_in_double():
    inputs, targets, true = problem(noise=0)
    fit = solve_least_squares(inputs.astype("float16"), targets.astype("float16"), ridge=1e-9)
    assert fit.weights.dtype == np.float64
    np.testing.assert_allclose(fit.weights, true, atol=0.02)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_told(bad):
    inputs, targets, _ = problem()
    inputs[3, 3] = bad
    with pytest.raises(ModelError, match=r"not finite \(NaN or infinity\).*numpy\.isfinite"):
        solve_least_squares(inputs, targets, bias=True)


def test_no_samples_are_told():
    with pytest.raises(ModelError, match="no samples to fit weights to"):
        solve_least_squares(np.zeros((0, 3)), np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: solve_least_squares(np.ones(3), np.ones((3, 1))), r"\(3,\) and \(3, 1\) came"),
        (
            lambda: solve_least_squares(np.ones((3, 2)), np.ones((4, 1))),
            r"\(3, 2\) and \(4, 1\) came",
        ),
        (
            lambda: solve_least_squares(np.ones((3, 2)), np.ones((3, 1)), ridge=-1),
            "ridge must be 0 or more",
        ),
        (
            lambda: solve_least_squares(np.ones((3, 2)), np.ones((3, 1)), prior=np.ones((1, 2))),
            r"prior has the shape \(1, 2\), and \(2, 1\) is needed",
        ),
    ],
)
def test_wrong_shapes_and_settings_are_told(action, message):
    with pytest.raises(UsageError, match=message):
        action()


def test_chunks_that_differ_are_told():
    parts = LeastSquares()
    parts.add(np.ones((2, 3)), np.ones((2, 1)))
    with pytest.raises(UsageError, match="the first had 3 features and 1 outputs, this one has 4"):
        parts.add(np.ones((2, 4)), np.ones((2, 1)))

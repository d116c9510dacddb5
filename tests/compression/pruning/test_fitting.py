"""Weights fitted to few or many rows."""

import numpy as np
import pytest

from quickfit.compression.pruning.fitting import PULLS, Rows, best_pull, fitted, solver
from quickfit.compression.squares import solve
from quickfit.errors import ModelError


def problem(count, features, noise=0.0, bias=True):
    """Return rows whose targets are a weighted sum of them, and the weights of that sum."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(count, features)).astype("float32") + 1
    weights = draw.normal(size=(features, 2))
    y = x @ weights + (3.0 if bias else 0.0) + noise * draw.normal(size=(count, 2))
    return Rows(x, y, np.arange(count), bias), weights


@pytest.mark.parametrize("bias", [True, False])
def test_many_rows_find_the_weights(bias):
    rows, weights = problem(600, 8, bias=bias)
    fit = fitted(rows, np.zeros((8, 2)), "layer")
    np.testing.assert_allclose(fit.weights, weights, atol=0.02)
    assert (fit.bias is None) is not bias
    assert fit.error < 0.01


@pytest.mark.parametrize("bias", [True, False])
def test_through_rows_the_answer_is_the_one_of_least_squares(bias):
    rows, weights = problem(12, 30, noise=0.1, bias=bias)
    prior = weights * 0.9
    expected = solve(rows.inputs, rows.targets, prior, 0.1, bias=bias)
    fit = solver(rows, prior)(0.1)
    np.testing.assert_allclose(fit.weights, expected.weights, atol=1e-6)
    assert fit.error == pytest.approx(expected.error, abs=1e-6)
    if bias:
        np.testing.assert_allclose(fit.bias, expected.bias, atol=1e-6)


def test_few_noisy_rows_leave_good_old_weights_nearly_as_they_are():
    rows, weights = problem(40, 60, noise=10.0)
    fit = fitted(rows, weights, "layer")
    careless = solver(rows, weights)(PULLS[0])
    errors = [np.abs(one.weights - weights).max() for one in (fit, careless)]
    assert errors[0] < 0.1 * errors[1]


def test_few_clean_rows_are_learned_from():
    rows, _ = problem(200, 60)
    assert best_pull(rows, np.zeros((60, 2))) == PULLS[0]


def test_one_sample_is_too_few_to_hold_any_out():
    rows, weights = problem(1, 5)
    assert best_pull(rows, weights) == PULLS[-1]


def test_rows_of_one_sample_are_held_out_together():
    rows, weights = problem(40, 30, noise=1.0)
    one_sample = Rows(rows.inputs, rows.targets, np.full(40, 3), bias=True)
    assert best_pull(one_sample, weights) == PULLS[-1]


def test_constant_rows_keep_the_old_weights():
    rows = Rows(np.zeros((3, 5), "float32"), np.zeros((3, 2)), np.arange(3), bias=True)
    prior = np.ones((5, 2))
    np.testing.assert_array_equal(fitted(rows, prior, "layer").weights, prior)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_name_the_layer(value):
    rows, weights = problem(10, 4)
    rows.inputs[0, 0] = value
    with pytest.raises(ModelError) as error:
        fitted(rows, weights, "conv_3")
    assert "'conv_3' cannot be refitted" in str(error.value)
    assert "numpy.isfinite" in str(error.value)

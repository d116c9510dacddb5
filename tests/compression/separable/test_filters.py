"""Depthwise filters made better by turns."""

import numpy as np
import pytest

from quickfit.compression.separable.filters import Sums, improved
from quickfit.compression.separable.splitting import split

TAPS, CHANNELS, OUTPUTS = 9, 5, 12


def seen(rows=600, seed=0):
    """Return what a 3×3 convolution sees: taps that say nearly the same, channels of some sizes."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(rows, 1, CHANNELS)) + 0.4 * draw.normal(size=(rows, TAPS, CHANNELS))
    return values * [1.0, 0.2, 3.0, 1.0, 1.0] + 0.5


def kernel(seed=1):
    return np.random.default_rng(seed).normal(size=(3, 3, CHANNELS, OUTPUTS))


def made_by(whole, values):
    return np.einsum("nkc,kco->no", values, whole.reshape(TAPS, CHANNELS, -1))


def product(depthwise, pointwise):
    weights = pointwise.reshape(CHANNELS, depthwise.shape[3], -1)
    return np.einsum("hwcr,cro->hwco", depthwise, weights)


def error(whole, halves, values, *, centred=False):
    wrong = made_by(whole, values) - made_by(product(*halves), values)
    return float(np.linalg.norm(wrong - wrong.mean(axis=0) if centred else wrong))


def sums_of(whole, values, *, centred=False):
    sums = Sums(centred=centred)
    for part in np.array_split(values, 3):
        sums.add(part, made_by(whole, part))
    return sums


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("centred", [False, True])
def test_the_error_on_other_samples_is_smaller(rank, centred):
    whole, start = kernel(), split(kernel(), rank)
    better = improved(sums_of(whole, seen(), centred=centred), *start, 1e-3)
    others = seen(seed=5)
    assert error(whole, better, others, centred=centred) < 0.7 * error(
        whole, start, others, centred=centred
    )


def test_the_shapes_stay_and_filters_have_norm_one():
    start = split(kernel(), 2)
    depthwise, pointwise = improved(sums_of(kernel(), seen()), *start, 1e-3)
    assert (depthwise.shape, pointwise.shape) == (start[0].shape, start[1].shape)
    np.testing.assert_allclose(np.linalg.norm(depthwise, axis=(0, 1)), 1.0)


def test_what_is_exact_stays():
    start = split(kernel(), 9)
    better = improved(sums_of(kernel(), seen()), *start, 1e-3)
    np.testing.assert_allclose(product(*better), kernel(), atol=1e-8)


def test_a_channel_that_is_silent_keeps_its_filter():
    values = seen()
    values[:, :, 1] = 0.0
    start = split(kernel(), 1)
    depthwise, pointwise = improved(sums_of(kernel(), values), *start, 1e-3)
    np.testing.assert_allclose(depthwise[:, :, 1], start[0][:, :, 1], atol=1e-12)
    assert np.isfinite(pointwise).all()


def test_inputs_of_zero_change_nothing():
    start = split(kernel(), 1)
    better = improved(sums_of(kernel(), np.zeros((20, TAPS, CHANNELS))), *start, 1e-3)
    np.testing.assert_allclose(product(*better), product(*start), atol=1e-12)


def test_no_pull_is_possible_with_fewer_samples_than_weights():
    start = split(kernel(), 1)
    values = seen(rows=3)
    better = improved(sums_of(kernel(), values), *start, 0.0)
    assert error(kernel(), better, values) < error(kernel(), start, values)


def test_values_that_are_not_finite_are_left_to_the_fit_of_the_weights():
    values = seen()
    values[4, 2, 1] = np.nan
    start = split(kernel(), 1)
    assert improved(sums_of(kernel(), values), *start, 1e-3) == start

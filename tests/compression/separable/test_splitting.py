"""A kernel as depthwise filters times pointwise weights."""

import numpy as np
import pytest

from quickfit.compression.separable.splitting import split


def product(depthwise, pointwise):
    weights = pointwise.reshape(*depthwise.shape[2:], -1)
    return np.einsum("hwcr,cro->hwco", depthwise, weights)


def kernel(*shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("shape", [(3, 3, 4, 12), (1, 5, 3, 8), (2, 4, 2, 9), (3, 3, 2, 4)])
def test_full_rank_gives_the_kernel_itself(shape):
    whole = kernel(*shape)
    rank = min(shape[0] * shape[1], shape[3])
    np.testing.assert_allclose(product(*split(whole, rank)), whole, atol=1e-12)


def test_a_separable_kernel_needs_one_filter():
    whole = product(kernel(3, 3, 4, 1), kernel(4, 6))
    np.testing.assert_allclose(product(*split(whole, 1)), whole, atol=1e-12)


def test_more_filters_come_closer():
    whole = kernel(3, 3, 4, 12)
    errors = [np.linalg.norm(product(*split(whole, rank)) - whole) for rank in (1, 2, 3, 9)]
    assert errors == sorted(errors, reverse=True)


def test_filters_have_norm_one():
    depthwise, _ = split(kernel(3, 3, 4, 12), 2)
    np.testing.assert_allclose(np.linalg.norm(depthwise, axis=(0, 1)), 1.0)


def test_a_kernel_of_zeros_stays_zero():
    assert not product(*split(np.zeros((3, 3, 2, 4)), 1)).any()

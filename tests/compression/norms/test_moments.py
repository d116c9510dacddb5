"""Exact means and variances over batches."""

import numpy as np
import pytest

from quickfit.compression.norms.moments import moments_of
from quickfit.errors import ModelError


@pytest.mark.parametrize("axis", [-1, 1, 3])
def test_batches_of_any_size_give_the_moments_of_the_whole(axis):
    values = np.random.default_rng(0).normal(1e3, 2.0, size=(23, 5, 4, 5)).astype("float32")
    found = moments_of(np.split(values, [3, 4, 20]), axis, "norm")
    others = tuple(k for k in range(4) if k != axis % 4)
    exact = values.astype("float64")
    np.testing.assert_allclose(found.mean, exact.mean(axis=others), rtol=1e-12)
    np.testing.assert_allclose(found.variance, exact.var(axis=others), rtol=1e-9)


def test_some_channels_can_be_taken():
    found = moments_of([np.arange(12.0).reshape(4, 3)], -1, "norm")
    assert found.of_channels([2, 0]).mean.tolist() == [6.5, 4.5]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_told_with_the_layer(bad):
    with pytest.raises(ModelError, match=r"statistics of 'norm' cannot be measured.*not finite"):
        moments_of([np.array([[1.0, bad], [2.0, 3.0]])], -1, "norm")

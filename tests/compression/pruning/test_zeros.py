"""Zeros counted."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.pruning.zeros import kernel_name, zeros_in

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_zeros_are_counted_by_layer_and_make_the_weights_smaller_after_gzip():
    model = models.residual()
    before = zeros_in(model)
    kernel = model.get_layer("conv_a").kernel
    kernel.assign(np.zeros(kernel.shape))
    after = zeros_in(model)
    assert (before.by_layer["conv_a"], after.by_layer["conv_a"]) == (0, 1)
    assert after.by_layer["conv_b"] == 0
    assert after.share == pytest.approx(before.share + np.prod(kernel.shape) / model.count_params())
    assert after.weight_bytes == before.weight_bytes == 4 * model.count_params()
    assert after.gzip_bytes < before.gzip_bytes


def test_the_kernel_of_a_separable_convolution_is_the_one_that_mixes():
    model = models.mobile()
    names = [kernel_name(model.get_layer(name)) for name in ("separable", "dense", "last_norm")]
    assert names == ["pointwise_kernel", "kernel", ""]

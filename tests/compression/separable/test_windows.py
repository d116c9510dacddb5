"""What a convolution sees, held against what Keras makes of it."""

import numpy as np
import pytest

from compression.separable import convnets
from quickfit.compression.separable.windows import output_sizes, windows

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

GEOMETRIES = [
    {},
    {"padding": "same"},
    {"padding": "same", "strides": 2},
    {"padding": "same", "strides": 2, "kernel_size": 2},
    {"padding": "valid", "strides": 3},
    {"padding": "same", "strides": 4, "kernel_size": 3},
    {"padding": "same", "dilation_rate": 2},
    {"padding": "valid", "dilation_rate": (1, 2), "kernel_size": (4, 2)},
    {"padding": "same", "dilation_rate": (3, 1), "kernel_size": (2, 5)},
    {"padding": "same", "kernel_size": (1, 7)},
    {"padding": "same", "kernel_size": 12},
]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_windows_times_the_kernel_are_what_the_convolution_makes(geometry):
    model = convnets.one(use_bias=False, **geometry)
    layer, values = model.get_layer("conv"), convnets.images(model, 3)
    made = np.asarray(model(values))
    places = np.arange(made[..., 0].size)[::2]
    seen = windows(layer, values, places)
    kernel = np.asarray(layer.kernel).reshape(-1, 16)
    ours = seen.reshape(len(places), -1) @ kernel
    np.testing.assert_allclose(ours, made.reshape(-1, 16)[places], atol=1e-4)
    assert output_sizes(layer, values.shape) == made.shape[1:3]

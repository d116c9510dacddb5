"""Half precision to float32."""

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.quantizing.precision import in_float32

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_a_model_in_float32_is_itself():
    model = models.residual()
    assert in_float32(model) is model


def test_a_model_in_half_precision_is_copied_with_its_weights():
    model = nets.half_precision()
    before = nets.state_of(model)
    made = in_float32(model)
    assert {layer.compute_dtype for layer in made.layers} == {"float32"}
    for ours, theirs in zip(made.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert nets.state_of(model) == before
    data = models.data_for(model)
    np.testing.assert_allclose(np.asarray(made(data)), np.asarray(model(data)), atol=0.01)

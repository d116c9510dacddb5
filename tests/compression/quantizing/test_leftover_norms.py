"""Batch normalisations as convolutions."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.quantizing.leftover_norms import norms_as_convolutions

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize("build", [models.residual, models.nested_functional, models.mobile])
def test_results_are_the_same(build):
    model = build()
    data = models.data_for(model)
    made = norms_as_convolutions(model)
    kinds = [type(layer).__name__ for layer in made.layers]
    assert kinds.count("BatchNormalization") == (1 if build is models.mobile else 0)
    for ours, theirs in zip(
        models.results(made, data), models.results(model, data, training=False), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_model_without_any_is_itself():
    model = models.flattened()
    assert norms_as_convolutions(model) is model


def test_one_that_normalises_by_its_batch_for_ever_stays():
    import keras

    inputs = keras.Input((4, 4, 2))
    norm = keras.layers.BatchNormalization(name="norm")
    model = keras.Model(inputs, norm(inputs, training=True))
    assert type(norms_as_convolutions(model).get_layer("norm")) is keras.layers.BatchNormalization

"""Copies of models are compiled like the originals, with state of their own."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import copied
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_losses_of_the_user_and_settings_are_kept():
    import keras

    def loss(y, p):
        return keras.ops.mean((y - p) ** 2, axis=-1)

    model = models.flattened()
    metric = keras.metrics.MeanAbsoluteError(name="mae")
    model.compile(keras.optimizers.SGD(0.25, momentum=0.5), loss, metrics=[metric])
    copy = copied(model)
    assert (float(copy.optimizer.learning_rate), copy.optimizer.momentum) == (0.25, 0.5)
    assert copy.loss is loss
    data, labels = models.data_for(model), np.zeros((12, 3))
    expected = model.evaluate(data, labels, verbose=0)
    assert copy.evaluate(data, labels, verbose=0) == expected
    assert copy.metrics[1] is not metric


def test_losses_by_output_name_survive_dissolved_models():
    model = models.nested_sequential()
    model.compile("sgd", loss={"head": "mse"})
    copy = copied(model)
    assert copy.evaluate(models.data_for(model), np.zeros((12, 2)), verbose=0) > 0


def test_an_optimizer_that_cannot_be_copied_is_named():
    import keras

    class Odd(keras.optimizers.SGD):
        def __init__(self, secret, **settings):
            super().__init__(**settings)

    model = models.flattened()
    model.compile(Odd(object()), "mse")
    with pytest.raises(ModelError, match=r"its Odd '.*' cannot be copied"):
        copied(model)

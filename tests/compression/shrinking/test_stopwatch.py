"""The seconds of a model while candidates are made."""

import numpy as np
import pytest

from compression import models
from compression.weighing.timings import ticking
from quickfit.compression.calibration import samples_of
from quickfit.compression.shrinking.stopwatch import Stopwatch
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize("for_training", [False, True])
def test_a_model_is_timed_by_the_clock_and_not_changed(for_training):
    model = models.residual()
    before = [weight.numpy() for weight in model.weights]
    samples = samples_of(model, models.data_for(model, 8))
    watch = Stopwatch(samples, for_training=for_training, clocks=ticking())
    assert watch(model) == watch(models.residual()) == watch(model) == 1.0
    for old, weight in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())


def test_a_step_needs_something_to_train():
    model = models.flattened()
    model.trainable = False
    samples = samples_of(model, models.data_for(model, 8))
    with pytest.raises(ModelError, match="has nothing to train"):
        Stopwatch(samples, for_training=True)(model)

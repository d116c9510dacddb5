"""A float16 training that has frozen says so."""

import warnings

import numpy as np
import pytest

from quickfit.tuning import make_train_step
from quickfit.tuning.stepping.freezing import EVERY, FreezeWatch


class Scaler:
    """Stands for an optimizer whose scale is asked for."""

    def __init__(self, scale):
        self.dynamic_scale = self
        self.scale = scale
        self.asked = 0

    def numpy(self):
        self.asked += 1
        return self.scale


def test_the_scale_is_asked_for_now_and_then_only():
    scaler = Scaler(1.0)
    watch = FreezeWatch(scaler)
    for _ in range(2 * EVERY + 1):
        watch.called()
    assert scaler.asked == 2


def test_without_scaling_there_is_nothing_to_ask():
    for _ in range(EVERY):
        FreezeWatch(None).called()


@pytest.mark.loads_tf
def test_a_loop_that_has_frozen_is_told_once_where_to_look(models, batch):
    import keras

    model = models.dense(keras.layers.Dense(8, dtype="mixed_float16"))
    step = make_train_step(model, models.sparse(), "sgd")
    x = np.full_like(batch[0], np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2 * EVERY):
            step(x, batch[1])
    [told] = [str(one.message) for one in caught if "loss scale" in str(one.message)]
    assert told.startswith("quickfit: the loss scale fell to 0.03125: update after update")
    assert "find_nan(model, (x, y))" in told

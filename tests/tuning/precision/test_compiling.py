"""Tests of a copy compiled as its model is."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.precision.applying import apply_precision
from quickfit.tuning.precision.compiling import scaled, unscaled

pytestmark = pytest.mark.loads_tf


def small(kind=None):
    import keras

    inputs = keras.Input((4,))
    outputs = keras.layers.Dense(1, name="last")(keras.layers.Dense(8)(inputs))
    return (kind or keras.Model)(inputs, outputs)


def test_the_optimizer_has_the_same_config_and_clips_inside(models):
    import keras

    model = small()
    model.compile(keras.optimizers.AdamW(3e-4, weight_decay=0.1, clipnorm=2.0), "mse")
    optimizer = apply_precision(model, "mixed_float16").optimizer
    assert isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    assert optimizer.inner_optimizer.get_config() == model.optimizer.get_config()
    assert optimizer.inner_optimizer is not model.optimizer
    assert optimizer.inner_optimizer.clipnorm == 2.0
    assert not isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def test_loss_metrics_weights_and_the_way_of_running_are_the_same(models):
    import keras

    metric = keras.metrics.MeanSquaredError(name="error")
    model = small()
    model.compile(
        "sgd",
        loss={"last": models.squared},
        loss_weights={"last": 0.5},
        metrics=["mae"],
        weighted_metrics=[metric],
        steps_per_execution=4,
        jit_compile=True,
    )
    copied = apply_precision(model, "mixed_bfloat16")
    assert copied.jit_compile is True
    assert copied.steps_per_execution == 4
    assert copied.loss == model.loss
    x, y = np.ones((4, 4), "float32"), np.ones((4, 1), "float32")
    mine, theirs = (one.evaluate(x, y, verbose=0, return_dict=True) for one in (copied, model))
    assert set(mine) == set(theirs)
    assert mine["loss"] == pytest.approx(theirs["loss"], rel=0.05)
    assert float(metric.count.numpy()) == 4  # counted by the model alone


def test_a_custom_schedule_comes_along(models):
    import keras

    class Falling(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.1 / (1.0 + step)

        def get_config(self):
            return {}

    model = small()
    model.compile(keras.optimizers.SGD(Falling()), "mse")
    copied = apply_precision(model, "mixed_float16")
    assert isinstance(copied.optimizer.inner_optimizer._learning_rate, Falling)


def test_a_model_that_is_not_compiled_gives_one_that_is_not(models):
    assert not apply_precision(small()).compiled


def test_loss_scaling_goes_when_float16_goes(models):
    import keras

    model = small()
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)), "mse")
    copied = apply_precision(model, "mixed_bfloat16")
    assert type(copied.optimizer) is keras.optimizers.SGD


def test_an_optimizer_that_scales_already_is_not_wrapped_again(models):
    import keras

    scaling = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    static = keras.optimizers.SGD(0.1, loss_scale_factor=8.0)
    assert scaled(scaling) is scaling
    assert scaled(static) is static
    assert unscaled(static) is static


def test_a_guard_makes_room_for_loss_scaling_which_guards_as_well(models):
    import keras

    from quickfit.tuning.numerics import GuardedOptimizer

    found = scaled(GuardedOptimizer(keras.optimizers.SGD(0.1)))
    assert type(found.inner_optimizer) is keras.optimizers.SGD


def test_a_compile_of_its_own_is_refused_with_the_lines_to_paste(models):
    import keras

    class Own(keras.Model):
        def compile(self, extra, **options):
            super().compile(**options)

    model = small(Own)
    model.compile("more", optimizer="sgd", loss="mse")
    with pytest.raises(ModelError, match="has its own `compile`, so how it was compiled") as caught:
        apply_precision(model)
    assert "set_dtype_policy" in str(caught.value)


def test_an_optimizer_that_cannot_be_made_again_is_named(models):
    import keras

    class Picky(keras.optimizers.SGD):
        def __init__(self, needed):
            super().__init__(0.1)

    model = small()
    model.compile(Picky(1), "mse")
    with pytest.raises(ModelError, match="compiled with Picky, which cannot be made again"):
        apply_precision(model)

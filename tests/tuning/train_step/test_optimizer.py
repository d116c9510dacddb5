"""The optimizer scales where float16 needs it, and clips where clipping counts."""

import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step
from quickfit.tuning.train_step.optimizer import (
    batch_statistics,
    build_optimizer,
    float16_layers,
    innermost_optimizer,
    optimizer_for,
    reduced_already,
    takes_training,
)

pytestmark = pytest.mark.loads_tf


def _half(models):
    import keras

    return models.dense(keras.layers.Dense(8, dtype="mixed_float16"))


def test_scales_the_loss_where_any_layer_is_float16(models):
    import keras

    chosen = optimizer_for(_half(models), "adam", clip=None)
    assert isinstance(chosen, keras.optimizers.LossScaleOptimizer)


def test_leaves_float32_and_chosen_scaling_alone(models):
    import keras

    adam = keras.optimizers.Adam()
    assert optimizer_for(models.dense(), adam, clip=None) is adam
    static = keras.optimizers.Adam(loss_scale_factor=1024)
    assert optimizer_for(_half(models), static, clip=None) is static
    dynamic = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    assert optimizer_for(_half(models), dynamic, clip=None) is dynamic


def test_clips_inside_the_wrapper(models):
    chosen = optimizer_for(_half(models), "adam", clip=0.5)
    assert innermost_optimizer(chosen).global_clipnorm == 0.5
    assert chosen.global_clipnorm is None


def test_refuses_to_clip_twice(models):
    import keras

    optimizer = keras.optimizers.Adam(clipnorm=1.0)
    with pytest.raises(UsageError, match=r"clip=0.5 was given, but Adam clips already: clipnorm=1"):
        optimizer_for(models.dense(), optimizer, clip=0.5)


def test_refuses_clipping_on_a_wrapper(models):
    import keras

    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    optimizer.clipnorm = 1.0
    with pytest.raises(UsageError, match=r"clipnorm=1.0 is set on LossScaleOptimizer.*Adam"):
        optimizer_for(models.dense(), optimizer, clip=None)


@pytest.mark.parametrize("clip", [0, -1.0, float("nan")])
def test_refuses_what_is_not_a_norm(models, clip):
    with pytest.raises(UsageError, match=rf"clip={clip} is not a norm"):
        optimizer_for(models.dense(), "adam", clip=clip)


def test_refuses_to_do_without(models):
    with pytest.raises(UsageError, match=r"no optimizer.*not compiled"):
        optimizer_for(models.dense(), None, clip=None)


def test_refuses_the_optimizer_of_another_model(models):
    import keras

    optimizer = keras.optimizers.Adam()
    make_train_step(models.dense(), models.sparse(), optimizer)
    with pytest.raises(
        UsageError, match=r"built for other weights: it does not know .*first/kernel"
    ):
        make_train_step(models.dense(), models.sparse(), optimizer)


def test_optimizer_adds_up_replicas_again_afterwards(tf):
    import keras

    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    inner = optimizer.inner_optimizer
    with reduced_already(optimizer):
        assert inner._all_reduce_sum_gradients(((1, 2),)) == [(1, 2)]
    assert "_all_reduce_sum_gradients" not in vars(inner)


def test_refuses_an_optimizer_that_keras_does_not_have(models):
    with pytest.raises(UsageError, match="'adamm' is no optimizer of Keras 3"):
        optimizer_for(models.dense(), "adamm", clip=None)


def test_refuses_an_optimizer_of_another_strategy(tf, models):
    import keras

    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        optimizer = keras.optimizers.Adam()
    with pytest.raises(UsageError, match=r"not made under the model's.*strategy.scope"):
        build_optimizer(optimizer, models.dense().trainable_variables)


def test_statistics_are_moving_averages_of_layers_that_train(models):
    import keras

    live, frozen = keras.layers.BatchNormalization(), keras.layers.BatchNormalization()
    model = models.dense(live, keras.layers.Dropout(0.5), frozen)
    frozen.trainable = False
    assert {id(one) for one in batch_statistics(model)} == {
        id(live.moving_mean),
        id(live.moving_variance),
    }


def test_float16_is_found_in_nested_models(models):
    import keras

    inner = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, dtype="mixed_float16")])
    assert float16_layers(models.dense(inner)) == [inner.layers[0].name]


def test_training_is_passed_to_models_that_take_it(models, tf):
    import keras

    class Plain(keras.Model):
        def call(self, x):
            return x

    assert takes_training(models.dense())
    assert not takes_training(Plain())

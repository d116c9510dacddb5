"""Tests of models made again layer by layer."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.precision.applying import apply_precision
from quickfit.tuning.precision.cloning import (
    global_policy,
    with_loss_scaling,
    with_policy,
    without_loss_scaling,
)


def fail_in(policy):
    with global_policy(policy):
        raise RuntimeError


@pytest.mark.loads_tf
def test_the_global_policy_is_as_before_also_after_an_error(models):
    import keras

    before = keras.config.dtype_policy()
    with global_policy("mixed_float16"):
        assert keras.config.dtype_policy().name == "mixed_float16"
    with pytest.raises(RuntimeError):
        fail_in("mixed_float16")
    assert keras.config.dtype_policy() == before


@pytest.mark.loads_tf
def test_a_model_stays_compiled_also_after_an_error(models):
    import keras

    from quickfit.errors import ModelError

    model = keras.Sequential([keras.Input((8,)), models.Unnamed(abs), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ModelError):
        apply_precision(model)
    assert model.compiled


@pytest.mark.loads_tf
def test_operations_of_the_model_know_nothing_of_the_copy(models):
    model = models.functional()[0]
    before = [len(one._inbound_nodes) for one in model.operations]
    apply_precision(model)
    assert [len(one._inbound_nodes) for one in model.operations] == before


@pytest.mark.loads_tf
def test_names_are_kept(models):
    model = models.functional()[0]
    copied = apply_precision(model)
    assert copied.name == model.name
    assert [layer.name for layer in copied.layers[1:]] == [one.name for one in model.layers[1:]]


@pytest.mark.loads_tf
def test_a_function_of_the_users_in_a_layer_of_keras_is_found(models):
    import keras

    def bent(x):
        return keras.ops.tanh(x) * 2

    layer = keras.layers.Dense(8, activation=bent, name="bent")
    model = keras.Sequential([keras.Input((8,)), layer, keras.layers.Dense(1)])
    assert apply_precision(model).get_layer("bent").activation is bent


@pytest.mark.loads_tf
def test_each_layer_keeps_its_own_lambda(models):
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(8, activation=lambda x: x * 2, name="twice"),
            layers.Dense(8, activation=lambda x: x * 3, name="thrice"),
            layers.Dense(1),
        ]
    )
    copied = apply_precision(model)
    for name in ("twice", "thrice"):
        assert copied.get_layer(name).activation is model.get_layer(name).activation


@pytest.mark.loads_tf
def test_a_class_that_only_puts_layers_together_may_become_a_plain_model(models):
    import keras

    class Net(keras.Model):
        def __init__(self, width):
            inputs = keras.Input((4,))
            x = keras.layers.Dense(width)(inputs)
            super().__init__(inputs, keras.layers.Dense(1)(x))

    copied = apply_precision(Net(8), "mixed_bfloat16")
    assert copied.count_params() == 49


def serialized(name, kind="DTypePolicy"):
    return {"module": "keras", "class_name": kind, "config": {"name": name}}


def test_a_layer_gets_the_policy():
    config = {"name": "dense", "units": 4, "dtype": serialized("float32")}
    changed = with_policy(config, "mixed_float16")
    assert changed["dtype"]["config"] == {"name": "mixed_float16"}
    assert changed["units"] == 4


def test_the_given_config_stays_as_it_is():
    config = {"dtype": serialized("float32"), "layers": [{"dtype": serialized("float32")}]}
    with_policy(config, "mixed_float16")
    assert config["dtype"] == config["layers"][0]["dtype"] == serialized("float32")


def test_layers_named_inside_get_it_too():
    inner = {"class_name": "LSTM", "config": {"units": 2, "dtype": serialized("mixed_float16")}}
    changed = with_policy({"layer": inner, "cells": (inner, [inner])}, "float32")
    found = (changed["layer"], changed["cells"][0], changed["cells"][1][0])
    assert [one["config"]["dtype"]["config"]["name"] for one in found] == ["float32"] * 3


def test_a_policy_that_is_only_a_name_is_changed_for_the_layer_itself():
    assert with_policy({"dtype": "float32"}, "mixed_float16") == {"dtype": "mixed_float16"}
    assert with_policy({"dtype": "int32"}, "mixed_float16") == {"dtype": "int32"}
    inner = {"initializer": {"config": {"dtype": "float32"}}}
    assert with_policy(inner, "mixed_float16") == inner


def test_quantized_and_double_precision_policies_are_left_alone():
    for one in (serialized("float64"), serialized("int8", "QuantizedDTypePolicy")):
        assert with_policy({"dtype": one}, "mixed_float16") == {"dtype": one}


def around(layer):
    import keras

    inputs = keras.Input((8,))
    return keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))


@pytest.mark.loads_tf
def test_a_layer_with_other_parts_when_made_again_is_named(models):
    import keras

    class Forgetful(keras.layers.Layer):
        def __init__(self, count=1, **options):
            super().__init__(**options)
            self.parts = [keras.layers.Dropout(0.1) for _ in range(count)]

        def call(self, x):
            return self.parts[-1](x)

        def get_config(self):
            return super().get_config()

    with pytest.raises(ModelError, match=r"\(Forgetful\) has other parts when it is made again"):
        apply_precision(around(Forgetful(3, name="forgetful")))


@pytest.mark.loads_tf
def test_a_layer_that_uses_weights_of_another_is_refused(models):
    import keras

    class Tied(keras.layers.Layer):
        def __init__(self, other=None, **options):
            super().__init__(**options)
            self.other = other or keras.layers.Dense(8)

        def call(self, x):
            return self.other(x)

        def get_config(self):
            return super().get_config()

    inputs = keras.Input((8,))
    first = keras.layers.Dense(8)
    model = keras.Model(inputs, keras.layers.Dense(1)(Tied(first)(first(inputs))))
    with pytest.raises(ModelError, match="has 4 weights and a copy of it 6: a layer uses weights"):
        apply_precision(model)


@pytest.mark.loads_tf
def test_a_layer_that_loads_something_else_is_found_out(models):
    import keras

    class Liar(keras.layers.Dense):
        def load_own_variables(self, store):
            pass

    with pytest.raises(ModelError, match=r"kernel' of the layer 'liar' \(Liar\) is not the same"):
        apply_precision(around(Liar(8, name="liar")))


def small(kind=None):
    import keras

    inputs = keras.Input((4,))
    outputs = keras.layers.Dense(1, name="last")(keras.layers.Dense(8)(inputs))
    return (kind or keras.Model)(inputs, outputs)


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_a_model_that_is_not_compiled_gives_one_that_is_not(models):
    assert not apply_precision(small()).compiled


@pytest.mark.loads_tf
def test_loss_scaling_goes_when_float16_goes(models):
    import keras

    model = small()
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)), "mse")
    copied = apply_precision(model, "mixed_bfloat16")
    assert type(copied.optimizer) is keras.optimizers.SGD


@pytest.mark.loads_tf
def test_an_optimizer_that_scales_already_is_not_wrapped_again(models):
    import keras

    scaling = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    static = keras.optimizers.SGD(0.1, loss_scale_factor=8.0)
    assert with_loss_scaling(scaling) is scaling
    assert with_loss_scaling(static) is static
    assert without_loss_scaling(static) is static


@pytest.mark.loads_tf
def test_a_guard_makes_room_for_loss_scaling_which_guards_as_well(models):
    import keras

    from quickfit.tuning.numerics import GuardedOptimizer

    found = with_loss_scaling(GuardedOptimizer(keras.optimizers.SGD(0.1)))
    assert type(found.inner_optimizer) is keras.optimizers.SGD


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_an_optimizer_that_cannot_be_made_again_is_named(models):
    import keras

    class Picky(keras.optimizers.SGD):
        def __init__(self, needed):
            super().__init__(0.1)

    model = small()
    model.compile(Picky(1), "mse")
    with pytest.raises(ModelError, match="compiled with Picky, which cannot be made again"):
        apply_precision(model)

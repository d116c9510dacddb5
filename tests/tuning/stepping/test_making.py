"""A made step trains as `fit` does, and says what it cannot be made from."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step
from quickfit.tuning.stepping.making import _check_backend

pytestmark = pytest.mark.loads_tf


@pytest.mark.parametrize(("kind", "name"), [("dense", "SGD"), ("subclassed", "Adam")])
def test_weights_are_those_of_fit(models, batch, difference, kind, name):
    import keras

    x, y = batch
    fitted, stepped = getattr(models, kind)(), getattr(models, kind)()
    fitted.compile(getattr(keras.optimizers, name)(0.05), models.sparse())
    fitted.fit(x, y, batch_size=8, shuffle=False, verbose=0)
    step = make_train_step(stepped, models.sparse(), getattr(keras.optimizers, name)(0.05))
    for start in range(0, 24, 8):
        step(x[start : start + 8], y[start : start + 8])
    assert difference(fitted, stepped) <= 1e-6


def test_dropout_draws_what_fit_draws(models, batch, difference):
    import keras

    x, y = batch
    fitted = models.dense(keras.layers.Dropout(0.5, seed=3))
    fitted.compile("sgd", models.sparse())
    fitted.train_on_batch(x, y)
    stepped = models.dense(keras.layers.Dropout(0.5, seed=3))
    make_train_step(stepped, models.sparse(), "sgd")(x, y)
    assert difference(fitted, stepped) <= 1e-6


def test_compiled_model_brings_its_loss_optimizer_and_metrics(models, batch, difference):
    x, y = batch
    fitted, stepped = models.dense(), models.dense()
    for model in (fitted, stepped):
        model.compile("sgd", models.sparse(), metrics=["accuracy"])
    logs = fitted.train_on_batch(x, y, return_dict=True)
    own = make_train_step(stepped)(x, y)
    assert difference(fitted, stepped) <= 1e-6
    assert float(own["loss"]) == pytest.approx(float(logs["loss"]), abs=1e-6)
    assert float(own["accuracy"]) == pytest.approx(float(logs["accuracy"]))


def test_frozen_layers_stay_as_they_are(models, batch):
    model = models.dense()
    model.get_layer("first").trainable = False
    before = model.get_layer("first").get_weights()
    make_train_step(model, models.sparse(), "sgd")(*batch)
    for old, new in zip(before, model.get_layer("first").get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_jit_none_is_off_on_a_cpu(models):
    assert make_train_step(models.dense(), models.sparse(), "adam")._jit is False


def test_refuses_a_model_that_is_not_built(tf):
    import keras

    model = keras.Sequential([keras.layers.Dense(2)], name="bare")
    with pytest.raises(UsageError, match=r"model 'bare' is not built.*model\(x\)"):
        make_train_step(model, "mse", "sgd")


def test_refuses_a_model_with_nothing_to_train(models):
    model = models.dense()
    model.trainable = False
    with pytest.raises(UsageError, match=r"nothing to train.*first.*trainable = True"):
        make_train_step(model, "mse", "sgd")


def test_refuses_a_model_without_loss(models):
    with pytest.raises(UsageError, match=r'no loss.*make_train_step\(model, "mse", "adam"\)'):
        make_train_step(models.dense(), optimizer="sgd")


def test_refuses_metrics_without_a_loss(models):
    model = models.dense()
    model.compile("sgd", "mse")
    with pytest.raises(UsageError, match="metrics were given without a loss"):
        make_train_step(model, metrics=["mae"])


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "4"])
@pytest.mark.parametrize("name", ["accumulate", "steps_per_call"])
def test_refuses_what_is_not_a_count(models, name, value):
    with pytest.raises(UsageError, match=rf"{name}={value!r} is not a count"):
        make_train_step(models.dense(), "mse", "sgd", **{name: value})


def test_refuses_a_strategy_that_the_model_was_not_made_under(tf, models):
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with pytest.raises(UsageError, match=r"not made under the OneDeviceStrategy.*strategy.scope"):
        make_train_step(models.dense(), "mse", "sgd", strategy=strategy)


def test_refuses_to_accumulate_twice(models):
    import keras

    optimizer = keras.optimizers.SGD(gradient_accumulation_steps=2)
    with pytest.raises(UsageError, match=r"accumulate=4.*gradient_accumulation_steps=2"):
        make_train_step(models.dense(), "mse", optimizer, accumulate=4)


def test_warns_that_batch_statistics_are_of_micro_batches(models):
    import keras

    model = models.dense(keras.layers.BatchNormalization(name="norm"))
    with pytest.warns(UserWarning, match=r"BatchNormalization \(norm\) sees micro-batches"):
        make_train_step(model, models.sparse(), "sgd", accumulate=4)


def test_warns_that_a_sum_is_made_a_mean(models):
    with pytest.warns(UserWarning, match=r"the loss is a sum.*4 times smaller"):
        make_train_step(models.dense(), models.sparse(reduction="sum"), "sgd", accumulate=4)


def test_refuses_what_is_not_a_model(tf):
    import keras

    with pytest.raises(UsageError, match=r"takes a model of Keras 3 and was given a .*Dense"):
        make_train_step(keras.layers.Dense(2), "mse", "sgd")


def test_warns_that_a_train_step_of_the_model_is_not_used(tf):
    import keras

    class Own(keras.Model):
        def train_step(self, data):
            return {}

    inputs = keras.Input((4,))
    model = Own(inputs, keras.layers.Dense(1)(inputs), name="own")
    with pytest.warns(UserWarning, match="'own' has a train_step of its own, which is not used"):
        make_train_step(model, "mse", "sgd")


def test_refuses_another_backend():
    with pytest.raises(UsageError, match=r"Keras runs on jax.*KERAS_BACKEND=tensorflow"):
        _check_backend("jax")

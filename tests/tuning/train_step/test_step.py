"""A made step trains as `fit` does, and says what it cannot be made from."""

import warnings

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step
from quickfit.tuning.train_step.step import (
    FREEZE_EVERY,
    FreezeWatch,
    _check_backend,
    explain_xla_refusal,
)


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_dropout_draws_what_fit_draws(models, batch, difference):
    import keras

    x, y = batch
    fitted = models.dense(keras.layers.Dropout(0.5, seed=3))
    fitted.compile("sgd", models.sparse())
    fitted.train_on_batch(x, y)
    stepped = models.dense(keras.layers.Dropout(0.5, seed=3))
    make_train_step(stepped, models.sparse(), "sgd")(x, y)
    assert difference(fitted, stepped) <= 1e-6


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_frozen_layers_stay_as_they_are(models, batch):
    model = models.dense()
    model.get_layer("first").trainable = False
    before = model.get_layer("first").get_weights()
    make_train_step(model, models.sparse(), "sgd")(*batch)
    for old, new in zip(before, model.get_layer("first").get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.loads_tf
def test_jit_none_is_off_on_a_cpu(models):
    assert make_train_step(models.dense(), models.sparse(), "adam")._jit is False


@pytest.mark.loads_tf
def test_refuses_a_model_that_is_not_built(tf):
    import keras

    model = keras.Sequential([keras.layers.Dense(2)], name="bare")
    with pytest.raises(UsageError, match=r"model 'bare' is not built.*model\(x\)"):
        make_train_step(model, "mse", "sgd")


@pytest.mark.loads_tf
def test_refuses_a_model_with_nothing_to_train(models):
    model = models.dense()
    model.trainable = False
    with pytest.raises(UsageError, match=r"nothing to train.*first.*trainable = True"):
        make_train_step(model, "mse", "sgd")


@pytest.mark.loads_tf
def test_refuses_a_model_without_loss(models):
    with pytest.raises(UsageError, match=r'no loss.*make_train_step\(model, "mse", "adam"\)'):
        make_train_step(models.dense(), optimizer="sgd")


@pytest.mark.loads_tf
def test_refuses_metrics_without_a_loss(models):
    model = models.dense()
    model.compile("sgd", "mse")
    with pytest.raises(UsageError, match="metrics were given without a loss"):
        make_train_step(model, metrics=["mae"])


@pytest.mark.loads_tf
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "4"])
@pytest.mark.parametrize("name", ["accumulate", "steps_per_call"])
def test_refuses_what_is_not_a_count(models, name, value):
    with pytest.raises(UsageError, match=rf"{name}={value!r} is not a count"):
        make_train_step(models.dense(), "mse", "sgd", **{name: value})


@pytest.mark.loads_tf
def test_refuses_a_strategy_that_the_model_was_not_made_under(tf, models):
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with pytest.raises(UsageError, match=r"not made under the OneDeviceStrategy.*strategy.scope"):
        make_train_step(models.dense(), "mse", "sgd", strategy=strategy)


@pytest.mark.loads_tf
def test_refuses_to_accumulate_twice(models):
    import keras

    optimizer = keras.optimizers.SGD(gradient_accumulation_steps=2)
    with pytest.raises(UsageError, match=r"accumulate=4.*gradient_accumulation_steps=2"):
        make_train_step(models.dense(), "mse", optimizer, accumulate=4)


@pytest.mark.loads_tf
def test_warns_that_batch_statistics_are_of_micro_batches(models):
    import keras

    model = models.dense(keras.layers.BatchNormalization(name="norm"))
    with pytest.warns(UserWarning, match=r"BatchNormalization \(norm\) sees micro-batches"):
        make_train_step(model, models.sparse(), "sgd", accumulate=4)


@pytest.mark.loads_tf
def test_warns_that_a_sum_is_made_a_mean(models):
    with pytest.warns(UserWarning, match=r"the loss is a sum.*4 times smaller"):
        make_train_step(models.dense(), models.sparse(reduction="sum"), "sgd", accumulate=4)


@pytest.mark.loads_tf
def test_refuses_what_is_not_a_model(tf):
    import keras

    with pytest.raises(UsageError, match=r"takes a model of Keras 3 and was given a .*Dense"):
        make_train_step(keras.layers.Dense(2), "mse", "sgd")


@pytest.mark.loads_tf
def test_warns_that_a_train_step_of_the_model_is_not_used(tf):
    import keras

    class Own(keras.Model):
        def train_step(self, data):
            return {}

    inputs = keras.Input((4,))
    model = Own(inputs, keras.layers.Dense(1)(inputs), name="own")
    with pytest.warns(UserWarning, match="'own' has a train_step of its own, which is not used"):
        make_train_step(model, "mse", "sgd")


@pytest.mark.loads_tf
def test_refuses_another_backend():
    with pytest.raises(UsageError, match=r"Keras runs on jax.*KERAS_BACKEND=tensorflow"):
        _check_backend("jax")


def _micro(step, batch, count):
    x, y = batch
    for start in range(0, 6 * count, 6):
        step(x[start : start + 6], y[start : start + 6])


@pytest.mark.loads_tf
def test_ends_as_the_iterator_ends(tf, models, batch):
    iterator = iter(tf.data.Dataset.from_tensor_slices(batch).batch(24))
    step = make_train_step(models.dense(), models.sparse(), "sgd", steps_per_call=2)
    step(iterator)
    with pytest.raises(StopIteration):
        step(iterator)


@pytest.mark.loads_tf
def test_refuses_labels_beside_an_iterator(tf, models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    iterator = iter(tf.data.Dataset.from_tensor_slices(batch).batch(4))
    with pytest.raises(UsageError, match="takes nothing beside it"):
        step(iterator, batch[1])


@pytest.mark.loads_tf
def test_warns_of_micro_batches_that_were_never_applied(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd", accumulate=4)
    _micro(step, batch, 3)
    with pytest.warns(UserWarning, match=r"3 of 4 micro-batches.*step.flush\(\)"):
        step.close()


@pytest.mark.loads_tf
def test_warns_when_a_step_with_leftovers_is_dropped(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd", accumulate=2)
    _micro(step, batch, 1)
    with pytest.warns(UserWarning, match="1 of 2 micro-batches"):
        del step


@pytest.mark.loads_tf
def test_says_nothing_where_nothing_is_left(models, batch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with make_train_step(models.dense(), models.sparse(), "sgd", accumulate=2) as step:
            _micro(step, batch, 2)


@pytest.mark.loads_tf
def test_learning_rate_can_be_changed_between_calls(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    step(*batch)
    step.optimizer.learning_rate = 0.0
    assert float(step(*batch)["loss"]) == float(step(*batch)["loss"])
    assert step.traces == 1


@pytest.mark.loads_tf
def test_says_how_to_do_without_xla(tf):
    import keras

    class Words(keras.layers.Layer):
        def call(self, x):
            return x + tf.cast(tf.strings.length(tf.strings.as_string(x)), x.dtype)

    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1)(Words()(inputs)))
    step = make_train_step(model, "mse", "sgd", jit=True)
    with pytest.raises(UsageError, match=r"XLA cannot compile.*(?s:.)*jit=False"):
        step(tf.ones((2, 4)), tf.ones((2, 1)))


@pytest.mark.loads_tf
def test_other_errors_stay_as_they_are(tf):
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="plain"),
        explain_xla_refusal(jit=True),
    ):
        raise tf.errors.InvalidArgumentError(None, None, "plain")


@pytest.fixture(scope="module")
def single(models, batch):
    """Return the losses of six steps, one per call, and the model after them."""
    x, y = batch
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd")
    losses = [float(step(x[i : i + 4], y[i : i + 4])["loss"]) for i in range(0, 24, 4)]
    return losses, model


@pytest.mark.loads_tf
def test_iterator_gives_the_losses_of_single_calls(tf, models, batch, single, difference):
    dataset = tf.data.Dataset.from_tensor_slices(batch).batch(4)
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd", steps_per_call=4, metrics=["accuracy"])
    logs = list(step.over(dataset))
    np.testing.assert_allclose(np.concatenate([one["losses"] for one in logs]), single[0], 1e-5)
    assert [len(one["losses"]) for one in logs] == [4, 2]
    assert float(logs[1]["loss"]) == pytest.approx(np.mean(single[0][4:]), rel=1e-5)
    assert "accuracy" in logs[0]
    assert difference(model, single[1]) <= 1e-6
    assert step.traces == 1


@pytest.mark.loads_tf
def test_stacked_batches_give_the_losses_of_single_calls(models, batch, single, difference):
    x, y = batch
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd", steps_per_call=6)
    losses = step(x.reshape(6, 4, 4), y.reshape(6, 4))["losses"]
    np.testing.assert_allclose(losses, single[0], rtol=1e-5)
    assert difference(model, single[1]) <= 1e-6


@pytest.mark.loads_tf
def test_single_steps_take_an_iterator(tf, models, batch, single):
    dataset = tf.data.Dataset.from_tensor_slices(batch).batch(4)
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    assert [float(one["loss"]) for one in step.over(dataset)] == pytest.approx(single[0])


@pytest.mark.loads_tf
@pytest.mark.parametrize("steps_per_call", [1, 4])
def test_batches_may_come_from_python(models, batch, single, steps_per_call):
    x, y = batch
    generator = ((x[i : i + 4], y[i : i + 4]) for i in range(0, 24, 4))
    step = make_train_step(models.dense(), models.sparse(), "sgd", steps_per_call=steps_per_call)
    logs = step.over(generator)
    losses = [loss for one in logs for loss in np.ravel(one.get("losses", one["loss"]))]
    assert losses == pytest.approx(single[0])


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
    for _ in range(2 * FREEZE_EVERY + 1):
        watch.called()
    assert scaler.asked == 2


def test_without_scaling_there_is_nothing_to_ask():
    for _ in range(FREEZE_EVERY):
        FreezeWatch(None).called()


@pytest.mark.loads_tf
def test_a_loop_that_has_frozen_is_told_once_where_to_look(models, batch):
    import keras

    model = models.dense(keras.layers.Dense(8, dtype="mixed_float16"))
    step = make_train_step(model, models.sparse(), "sgd")
    x = np.full_like(batch[0], np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2 * FREEZE_EVERY):
            step(x, batch[1])
    [told] = [str(one.message) for one in caught if "loss scale" in str(one.message)]
    assert told.startswith("quickfit: the loss scale fell to 0.03125: update after update")
    assert "find_nan(model, (x, y))" in told

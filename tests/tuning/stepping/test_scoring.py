"""Loss and metrics of a step are those of `fit`, for every kind of output."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def _two_headed_batch(batch):
    x, y = batch
    inputs = {"a": x, "b": x[:, :2]}
    return inputs, {"kind": y, "size": x[:, :1]}


def test_several_inputs_and_outputs_are_scored_by_name(models, batch, difference):
    losses = {"kind": "sparse_categorical_crossentropy", "size": "mse"}
    metrics = {"kind": ["accuracy"]}
    x, y = _two_headed_batch(batch)
    fitted, stepped = models.two_headed(), models.two_headed()
    fitted.compile("sgd", losses, metrics=metrics)
    logs = fitted.train_on_batch(x, y, return_dict=True)
    own = make_train_step(stepped, losses, "sgd", metrics=metrics)(x, y)
    assert difference(fitted, stepped) <= 1e-6
    assert {name: float(own[name]) for name in logs} == pytest.approx(logs, abs=1e-6)


def test_sample_weights_count_per_output(models, batch, difference):
    losses = {"kind": "sparse_categorical_crossentropy", "size": "mse"}
    x, y = _two_headed_batch(batch)
    weights = {"kind": np.linspace(0, 1, 24), "size": np.ones(24)}
    weights = {name: one.astype("float32") for name, one in weights.items()}
    fitted, stepped = models.two_headed(), models.two_headed()
    fitted.compile("sgd", losses)
    fitted.train_on_batch(x, y, sample_weight=weights)
    make_train_step(stepped, losses, "sgd")(x, y, weights)
    assert difference(fitted, stepped) <= 1e-6


def test_masked_time_steps_do_not_count(models, difference):
    x = np.array([[1, 2, 0, 0, 0], [3, 4, 5, 1, 2]], "int32")
    y = np.ones((2, 5, 1), "float32")
    fitted, stepped = models.masked(), models.masked()
    fitted.compile("sgd", "mse")
    logs = fitted.train_on_batch(x, y, return_dict=True)
    own = make_train_step(stepped, "mse", "sgd")(x, y)
    assert float(own["loss"]) == pytest.approx(float(logs["loss"]), abs=1e-6)
    assert difference(fitted, stepped) <= 1e-6


def test_metrics_go_on_until_they_are_reset(models, batch):
    x, y = batch
    step = make_train_step(models.dense(), models.sparse(), "sgd", metrics=["accuracy"])
    step(x, y)
    both = float(step(x[:1], np.array([9 % 3]))["accuracy"])
    step.reset_metrics()
    assert both * 25 == pytest.approx(round(both * 25), abs=1e-4)
    assert float(step(x[:1], y[:1])["accuracy"]) in (0.0, 1.0)


def test_loss_of_the_users_own_function(models, batch):
    import keras

    x, y = batch
    hot = np.eye(3, dtype="float32")[y]
    step = make_train_step(
        models.dense(), lambda true, pred: keras.ops.mean((true - pred) ** 2, axis=-1), "sgd"
    )
    assert float(step(x, hot)["loss"]) > float(step(x, hot)["loss"])


def test_overridden_compute_loss_is_used(tf, batch):
    import keras

    class Own(keras.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return keras.ops.mean(y_pred**2) + 100.0

    inputs = keras.Input((4,))
    model = Own(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd")
    assert float(make_train_step(model)(batch[0])["loss"]) > 100


def test_says_which_shapes_do_not_fit(models, batch):
    step = make_train_step(models.dense(), "categorical_crossentropy", "sgd")
    with pytest.raises(UsageError, match=r"y of shape \(24,\).*output of shape \(24, 3\)"):
        step(*batch)


def test_says_that_labels_are_missing(models, batch):
    step = make_train_step(models.dense(), "mse", "sgd")
    with pytest.raises(UsageError, match=r"None \(no y was given\)"):
        step(batch[0])


def test_refuses_a_loss_that_is_not_one_number(models, batch):
    step = make_train_step(models.dense(), models.sparse(reduction=None), "sgd")
    with pytest.raises(UsageError, match=r"has the shape \(24,\).*sum_over_batch_size"):
        step(*batch)


def test_losses_of_layers_may_be_all_there_is(tf, batch):
    import keras

    class Penalty(keras.layers.Layer):
        def call(self, x):
            self.add_loss(keras.ops.mean(x**2))
            return x

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1), Penalty()])
    model.compile("sgd")
    step = make_train_step(model)
    assert float(step(batch[0])["loss"]) > float(step(batch[0])["loss"])


def test_says_that_nothing_adds_a_loss(models, batch):
    model = models.two_headed()
    model.compile("sgd")
    with pytest.raises(UsageError, match=r"there is no loss.*no layer adds one"):
        make_train_step(model)({"a": batch[0], "b": batch[0][:, :2]})


def test_refuses_a_loss_that_keras_does_not_have(models):
    with pytest.raises(UsageError, match="Keras has no loss 'msee'"):
        make_train_step(models.dense(), "msee", "sgd")

"""Only good numbers reach the weights, and float16 updates are those of float32."""

import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning import make_train_step

pytestmark = pytest.mark.loads_tf


def _state(model, step):
    return [*model.get_weights(), *(one.numpy() for one in step.optimizer.variables)]


@pytest.fixture
def spoiled(batch):
    """Return a batch with one number that is not one."""
    x = batch[0].copy()
    x[3, 1] = np.nan
    return x, batch[1]


@pytest.mark.parametrize("jit", [False, True])
def test_guard_keeps_weights_slots_statistics_and_metrics(models, batch, spoiled, jit):
    import keras

    model = models.dense(keras.layers.BatchNormalization())
    step = make_train_step(
        model, models.sparse(), "adam", metrics=["accuracy"], guard=True, jit=jit
    )
    accuracy = float(step(*batch)["accuracy"])
    before = _state(model, step)
    assert float(step(*spoiled)["accuracy"]) == accuracy
    for old, new in zip(before, _state(model, step), strict=True):
        np.testing.assert_array_equal(old, new)
    assert step.skipped == 1
    step(*batch)
    assert (step.skipped, int(step.optimizer.iterations)) == (1, 2)


def test_guarded_steps_are_the_same_steps(models, batch, difference):
    plain, guarded = models.dense(), models.dense()
    make_train_step(plain, models.sparse(), "sgd")(*batch)
    make_train_step(guarded, models.sparse(), "sgd", guard=True)(*batch)
    assert difference(plain, guarded) == 0


def test_guard_leaves_a_bad_micro_batch_out_of_its_update(models, batch, spoiled, difference):
    x, y = batch
    clean, guarded = models.dense(), models.dense()
    make_train_step(clean, models.sparse(), "sgd")(x, y)
    step = make_train_step(guarded, models.sparse(), "sgd", guard=True, accumulate=2)
    step(x[:12], y[:12])
    step(*spoiled)
    step(x[12:], y[12:])
    assert (step.skipped, step.pending) == (1, 0)
    assert difference(clean, guarded) <= 1e-6


def test_float16_update_is_within_a_percent_of_float32(models, batch):
    import keras

    updates = []
    for dtype in ("float32", "mixed_float16"):
        model = models.dense(keras.layers.Dense(8, "relu", dtype=dtype))
        before = model.get_weights()
        make_train_step(model, models.sparse(), keras.optimizers.SGD(1.0))(*batch)
        updates.append([a - b for a, b in zip(model.get_weights(), before, strict=True)])
    for full, half in zip(*updates, strict=True):
        assert np.linalg.norm(full - half) <= 0.01 * np.linalg.norm(full)


def test_skips_of_a_scaled_loss_are_counted(models, batch, spoiled):
    import keras

    model = models.dense(keras.layers.Dense(8, dtype="mixed_float16"))
    step = make_train_step(model, models.sparse(), "sgd")
    step(*batch)
    scale = float(step.optimizer.dynamic_scale)
    step(*spoiled)
    assert step.skipped == 1
    assert float(step.optimizer.dynamic_scale) == scale / 2


def test_clipped_update_has_the_norm_it_was_given(models, batch):
    import keras

    model = models.dense()
    before = model.get_weights()
    make_train_step(model, models.sparse(), keras.optimizers.SGD(1.0), clip=0.01)(*batch)
    moved = [a - b for a, b in zip(model.get_weights(), before, strict=True)]
    assert np.sqrt(sum(np.sum(one**2) for one in moved)) == pytest.approx(0.01, rel=1e-3)


def test_refuses_to_go_on_when_other_weights_are_trainable(models, batch):
    model = models.dense()
    step = make_train_step(model, models.sparse(), "sgd")
    model.get_layer("first").trainable = False
    with pytest.raises(UsageError, match=r"4 weights then, 2 now.*new step"):
        step(*batch)


def _optimizers():
    import keras

    return {
        "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        "adam": lambda: keras.optimizers.Adam(0.01),
        "clipped": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1, global_clipnorm=0.1),
    }


def _micro(step, batch, size, count):
    x, y = batch
    for start in range(0, size * count, size):
        step(x[start : start + size], y[start : start + size])


@pytest.mark.parametrize("name", ["momentum", "adam", "clipped"])
def test_equals_a_large_batch(models, batch, difference, name):
    large, small = models.dense(), models.dense()
    whole = make_train_step(large, models.sparse(), _optimizers()[name]())
    parts = make_train_step(small, models.sparse(), _optimizers()[name](), accumulate=4)
    for _ in range(3):
        whole(*batch)
        _micro(parts, batch, 6, 4)
    assert difference(large, small) <= 1e-5
    assert int(parts.optimizer.iterations) == 3
    assert parts.pending == 0


def test_flush_applies_the_mean_of_what_is_there(models, batch, difference):
    x, y = batch
    large, small = models.dense(), models.dense()
    make_train_step(large, models.sparse(), _optimizers()["momentum"]())(x[:12], y[:12])
    parts = make_train_step(small, models.sparse(), _optimizers()["momentum"](), accumulate=4)
    _micro(parts, batch, 6, 2)
    assert (parts.pending, parts.flush(), parts.pending, parts.flush()) == (2, 2, 0, 0)
    assert difference(large, small) <= 1e-5


def test_embeddings_accumulate(models, difference):
    x = np.array([[1, 2, 3, 1, 1], [3, 4, 5, 1, 2]], "int32")
    y = np.ones((2, 5, 1), "float32")
    large, small = models.masked(), models.masked()
    make_train_step(large, "mse", "sgd")(x, y)
    parts = make_train_step(small, "mse", "sgd", accumulate=2)
    parts(x[:1], y[:1])
    parts(x[1:], y[1:])
    assert difference(large, small) <= 1e-5


def test_scaled_gradients_accumulate(models, batch, difference):
    import keras

    large, small = (models.dense(keras.layers.Dense(8, dtype="mixed_float16")) for _ in range(2))
    small.set_weights(large.get_weights())
    make_train_step(large, models.sparse(), "sgd")(*batch)
    parts = make_train_step(small, models.sparse(), "sgd", accumulate=4)
    _micro(parts, batch, 6, 4)
    assert difference(large, small) <= 1e-4


def test_refuses_a_loss_that_reaches_no_weight(tf, models, batch):
    rounding = {"kind": lambda true, pred: tf.round(true), "size": None}
    step = make_train_step(models.two_headed(), rounding, "sgd")
    x, y = batch
    with pytest.raises(UsageError, match="does not depend on any trainable weight"):
        step({"a": x, "b": x[:, :2]}, {"kind": y, "size": x[:, :1]})


def test_names_weights_that_stay_as_they_are(models, batch):
    x, y = batch
    model = models.two_headed()
    before = model.get_layer("size").get_weights()
    step = make_train_step(model, {"kind": "sparse_categorical_crossentropy", "size": None}, "sgd")
    with pytest.warns(UserWarning, match=r"2 of 4 trainable weights.*size/kernel"):
        step({"a": x, "b": x[:, :2]}, {"kind": y, "size": x[:, :1]})
    np.testing.assert_array_equal(before[0], model.get_layer("size").get_weights()[0])


def test_errors_of_the_model_come_without_words_of_ours(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4") as info:
        step(batch[0][:, :2], batch[1])
    assert "rehearsal" not in str(info.value)


def test_nothing_of_the_model_is_changed(tf, models, batch):
    import keras

    dropout = keras.layers.Dropout(0.5, seed=3)
    model = models.dense(keras.layers.BatchNormalization(), dropout)
    step = make_train_step(model, models.sparse(), "sgd", metrics=["accuracy"])
    before = [one.numpy() for one in model.variables]
    step._graph.rehearse((*map(tf.constant, batch), None))
    for old, new in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, new.numpy())


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

"""`LossScaleWatch` stops a training that has frozen, and leaves the others alone."""

import io

import numpy as np
import pytest

from quickfit.errors import QuickfitError, UsageError
from quickfit.tuning.numerics.loss_scale import LossScaleWatch, NanLookout, nan_source

from tuning.numerics.faulty_models import batch, layer, model

pytestmark = pytest.mark.loads_tf


def scaled(**options):
    import keras

    inner = keras.optimizers.SGD(0.01)
    return keras.optimizers.LossScaleOptimizer(inner, **options)


def test_a_frozen_training_is_stopped_in_time_and_its_source_is_named(tf):
    from keras import ops

    made = model(layer("logarithm", lambda x: ops.log(x - 100.0)), optimizer=scaled())
    weights = made.get_weights()
    said = io.StringIO()
    watch = LossScaleWatch(file=said)
    x, y = batch(400)
    made.fit(x, y, batch_size=8, verbose=0, callbacks=[watch])
    assert float(made.optimizer.dynamic_scale) >= 2.0**15 / 2**20, "stopped after 20 at most"
    assert watch.culprit.name == "logarithm"
    assert all((a == b).all() for a, b in zip(weights, made.get_weights(), strict=True))
    assert said.getvalue() == watch.message + "\n"
    assert "training of 'net' is stopped: the last 20 updates were left out" in watch.message
    assert "No update was ever made: the weights are those that the training began" in watch.message
    assert "the layer `logarithm` went non-finite first" in watch.message
    made.optimizer.dynamic_scale.assign(2.0**15)
    watch = LossScaleWatch(max_skips=4, raises=True)
    with pytest.raises(QuickfitError, match="the last 4 updates were left out"):
        made.fit(x, y, batch_size=8, verbose=0, callbacks=[watch])


def test_the_usual_start_goes_on_and_a_vanishing_scale_is_noticed(tf):
    x, y = batch(400)
    made = model(optimizer=scaled(initial_scale=2.0**126))
    watch = LossScaleWatch()
    made.fit(x, y, batch_size=8, verbose=0, callbacks=[watch])
    assert watch.message is None
    assert int(made.optimizer.iterations) > 40
    assert np.isfinite(made.get_weights()[0]).all()

    made.optimizer.dynamic_scale.assign(0.5)
    watch = LossScaleWatch(file=io.StringIO())
    made.fit(x, y, batch_size=8, verbose=0, callbacks=[watch])
    assert "the loss scale fell to 0.5, below 1" in watch.message
    assert "The weights are those of the last good update." in watch.message


def test_an_optimizer_that_leaves_nothing_out_is_told_of_once(tf):
    made = model()
    with pytest.warns(UserWarning, match=r"nothing to watch: the optimizer of 'net' is SGD"):
        made.fit(*batch(), verbose=0, callbacks=[LossScaleWatch()])


def test_a_limit_below_one_is_refused_and_other_names_are_missing_as_usual():
    with pytest.raises(UsageError, match="max_skips must be 1 or more, not 0"):
        LossScaleWatch(0)
    with pytest.raises(AttributeError, match="'LossScaleWatch' object has no attribute 'nope'"):
        _ = LossScaleWatch().nope


class Hooks:
    """Give a lookout the other hooks of a callback, as `Watch` does."""

    def __init__(self, lookout):
        self.lookout = lookout

    def __getattr__(self, name):
        return getattr(self.lookout, name, lambda *_, **__: None)


def test_the_source_of_the_first_update_left_out_is_told(tf):
    x, y = batch(32)
    x[9, 2] = np.inf
    made, lookout = model(), NanLookout(guard=True)
    made.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[Hooks(lookout)])
    assert (lookout.culprit.kind, lookout.culprit.found.first) == ("input", (1, 2))
    lines = lookout.lines()
    assert lines[0] == (
        "guard: 2 updates were left out because numbers were not finite. "
        "The first time, in batch 2 of its epoch:"
    )
    assert lines[1] == "  the input `x` is not finite, before the step begins"


def test_a_model_that_nobody_guards_is_left_alone(tf):
    made, lookout = model(), NanLookout(guard=False)
    step = made.train_step
    lookout.set_model(made)
    lookout.on_train_batch_end(0)
    assert made.train_step == step
    assert lookout.lines() == []


def test_a_model_without_optimizer_is_told_of_and_trains_on(tf):
    import keras

    lookout = NanLookout(guard=True)
    lookout.set_model(keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]))
    lookout.on_train_batch_end(0)
    assert "Nothing is guarded: the model 'sequential" in lookout.lines()[0]


def test_whatever_happens_while_looking_becomes_a_sentence(tf):
    def fails(x):
        if tf.executing_eagerly():
            raise RuntimeError("only in graphs")
        return x

    x, y = batch()
    assert "the batch is not known" in nan_source(model(), None)[1]
    assert "gives finite numbers" in nan_source(model(), (x, y))[1]
    assert "the batch has no labels" in nan_source(model(), x)[1]
    culprit, said = nan_source(model(layer("picky", fails)), (x, y))
    assert culprit is None
    assert said.startswith("Its source could not be looked for: RuntimeError: ")

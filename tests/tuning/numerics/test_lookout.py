"""The lookout of `quickfit.Watch`: the first bad batch is looked at, and nothing breaks."""

import numpy as np
import pytest

from quickfit.tuning.numerics.lookout import Lookout, source_of

from tuning.numerics.faulty_models import batch, layer, model

pytestmark = pytest.mark.loads_tf


class Hooks:
    """Give a lookout the other hooks of a callback, as `Watch` does."""

    def __init__(self, lookout):
        self.lookout = lookout

    def __getattr__(self, name):
        return getattr(self.lookout, name, lambda *_, **__: None)


def test_the_source_of_the_first_update_left_out_is_told(tf):
    x, y = batch(32)
    x[9, 2] = np.inf
    made, lookout = model(), Lookout(guard=True)
    made.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[Hooks(lookout)])
    assert (lookout.culprit.kind, lookout.culprit.found.first) == ("input", (1, 2))
    lines = lookout.lines()
    assert lines[0] == (
        "guard: 2 updates were left out because numbers were not finite. "
        "The first time, in batch 2 of its epoch:"
    )
    assert lines[1] == "  the input `x` is not finite, before the step begins"


def test_a_model_that_nobody_guards_is_left_alone(tf):
    made, lookout = model(), Lookout(guard=False)
    step = made.train_step
    lookout.set_model(made)
    lookout.on_train_batch_end(0)
    assert made.train_step == step
    assert lookout.lines() == []


def test_a_model_without_optimizer_is_told_of_and_trains_on(tf):
    import keras

    lookout = Lookout(guard=True)
    lookout.set_model(keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]))
    lookout.on_train_batch_end(0)
    assert "Nothing is guarded: the model 'sequential" in lookout.lines()[0]


def test_whatever_happens_while_looking_becomes_a_sentence(tf):
    def fails(x):
        if tf.executing_eagerly():
            raise RuntimeError("only in graphs")
        return x

    x, y = batch()
    assert "the batch is not known" in source_of(model(), None)[1]
    assert "gives finite numbers" in source_of(model(), (x, y))[1]
    assert "the batch has no labels" in source_of(model(), x)[1]
    culprit, said = source_of(model(layer("picky", fails)), (x, y))
    assert culprit is None
    assert said.startswith("Its source could not be looked for: RuntimeError: ")

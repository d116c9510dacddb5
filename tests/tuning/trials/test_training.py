"""One long fit in blocks, on command."""

import json
import os

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.assembling import Assembled
from quickfit.tuning.trials.feeds import feed_of, in_memory
from quickfit.tuning.trials.link import Link
from quickfit.tuning.trials.training import Training

from tuning.trials import small_models

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def talk():
    """Return a function that lets a training obey commands, and what it answers."""
    commands, answers = os.pipe(), os.pipe()

    def made(assembled, *asked):
        link = Link(commands[0], answers[1])
        for command in asked:
            os.write(commands[1], json.dumps(command).encode() + b"\n")
        training = Training(assembled, link)
        left = training.begin(0.5, 1000)
        lines = os.read(answers[0], 1 << 16).splitlines()
        told = [json.loads(line) for line in lines]
        return training, left, [one for one in told if one["kind"] != "alive"]

    yield made
    for descriptor in (*commands, *answers):
        os.close(descriptor)


RUN, LEARN = {"do": "run", "steps": 20}, {"do": "learn", "samples": 3}


@pytest.mark.parametrize("per_call", [1, 8])
def test_first_steps_then_blocks_until_something_else_is_asked_for(tf, talk, per_call, capfd):
    model = small_models.model(steps_per_execution=per_call)
    feed = feed_of(small_models.dataset(), None, 32)
    _, left, (ready, one, other) = talk(Assembled(model, feed), RUN, RUN, LEARN)
    assert left == LEARN
    assert ready["kind"] == "ready"
    assert (ready["batch"], ready["samples"], ready["parameters"]) == (8, 70, 58)
    assert (ready["build_s"], ready["base_bytes"]) == (0.5, 1000)
    for block in (one, other):
        assert block["kind"] == "block"
        assert 20 <= block["steps"] < 20 + per_call
        # Nine steps an epoch, the last of them with six samples.
        epochs = block["steps"] / 9
        assert block["samples"] == pytest.approx(epochs * 70, abs=8)
        assert block["wall_s"] > 0
        assert block["peak_bytes"] > 0


def test_it_goes_on_after_something_else(tf, talk, capfd):
    feed = feed_of(small_models.arrays(), None, 32)
    training, left, _ = talk(Assembled(small_models.model(), feed), RUN, LEARN, LEARN)
    training.bare_function()
    assert training.go_on({"do": "run", "steps": 4}) == left


def test_xla_compiles_the_smaller_last_batch_before_the_blocks(tf, talk, capfd):
    model = small_models.model(jit_compile=True)
    feed = feed_of(small_models.dataset(), None, 32)
    training, _, (ready,) = talk(Assembled(model, feed), LEARN)
    assert 0 < training._rest_s < ready["compile_s"]


def test_data_that_end_after_one_pass_are_told(tf, talk, capfd):
    batches = iter(list(small_models.dataset(16).as_numpy_iterator()))
    spec = small_models.dataset().element_spec
    once = tf.data.Dataset.from_generator(lambda: batches, output_signature=spec)
    feed = feed_of(once, None, 32)
    with (
        pytest.raises(ModelError, match="epoch 2 had not a single batch"),
        pytest.warns(UserWarning, match="ran out of data"),
    ):
        talk(Assembled(small_models.model(), feed), LEARN)


def test_the_first_answer_tells_of_the_data_and_the_optimizer(tf, talk):
    feed = in_memory(feed_of(small_models.dataset(), None, 32))
    _, _, (ready,) = talk(Assembled(small_models.model(), feed), LEARN)
    assert (ready["data_kind"], ready["is_nan"]) == ("tf.data", False)
    assert hasattr(tf.keras.optimizers, ready["optimizer"])
    assert 0 < ready["learning_rate"] < 1


def test_a_loss_that_is_nan_at_once_and_a_schedule_are_told(tf, talk):
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    model.compile(keras.optimizers.SGD(rate), "mse")
    arrays = np.full((16, 4), np.nan, "float32"), np.ones((16, 1), "float32")
    _, _, (ready,) = talk(Assembled(model, feed_of(arrays, None, 8)), LEARN)
    assert ready["is_nan"] is True
    assert (ready["data_kind"], ready["optimizer"]) == ("arrays", "SGD")
    assert ready["learning_rate"] is None


def test_an_optimizer_of_the_users_own_has_no_name_in_keras(tf, talk):
    import keras

    class Adam(keras.optimizers.Adam):
        pass

    model = small_models.model()
    model.compile(Adam(), "sparse_categorical_crossentropy")
    feed = feed_of(small_models.dataset(), None, 32)
    _, _, (ready,) = talk(Assembled(model, feed), LEARN)
    assert ready["optimizer"] is None

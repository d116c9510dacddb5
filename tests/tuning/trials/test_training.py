"""One long fit in blocks, on command."""

import json
import math
import os

import pytest

from quickfit.errors import ModelError
from quickfit.lab.child_side import ParentLink
from quickfit.tuning.trials.building import AssembledTraining
from quickfit.tuning.trials.feeds import in_memory, make_feed, reset_seeds
from quickfit.tuning.trials.training import (
    BlockClocks,
    BlockWatch,
    CallPace,
    FirstCalls,
    PacedTraining,
    StepCounter,
    TrainedDistance,
    learn_and_compare,
    loss_of,
    own_loss,
    take_state,
)

from tuning.trials import small_models


@pytest.fixture
def talk():
    """Return a function that lets a training obey commands, and what it answers."""
    commands, answers = os.pipe(), os.pipe()

    def made(assembled, *asked):
        link = ParentLink(commands[0], answers[1])
        for command in asked:
            os.write(commands[1], json.dumps(command).encode() + b"\n")
        training = PacedTraining(assembled, link)
        left = training.begin(0.5, 1000)
        lines = os.read(answers[0], 1 << 16).splitlines()
        told = [json.loads(line) for line in lines]
        return training, left, [one for one in told if one["kind"] != "alive"]

    yield made
    for descriptor in (*commands, *answers):
        os.close(descriptor)


RUN, LEARN = {"do": "run", "steps": 20}, {"do": "learn", "samples": 3}


@pytest.mark.loads_tf
@pytest.mark.parametrize("per_call", [1, 8])
def test_first_steps_then_blocks_until_something_else_is_asked_for(tf, talk, per_call, capfd):
    model = small_models.model(steps_per_execution=per_call)
    feed = make_feed(small_models.dataset(), None, 32)
    _, left, (ready, one, other) = talk(AssembledTraining(model, feed), RUN, RUN, LEARN)
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


@pytest.mark.loads_tf
def test_it_goes_on_after_something_else(tf, talk, capfd):
    feed = make_feed(small_models.arrays(), None, 32)
    training, left, _ = talk(AssembledTraining(small_models.model(), feed), RUN, LEARN, LEARN)
    training.bare_function()
    assert training.go_on({"do": "run", "steps": 4}) == left


@pytest.mark.loads_tf
def test_xla_compiles_the_smaller_last_batch_before_the_blocks(tf, talk, capfd):
    model = small_models.model(jit_compile=True)
    feed = make_feed(small_models.dataset(), None, 32)
    training, _, (ready,) = talk(AssembledTraining(model, feed), LEARN)
    assert 0 < training._rest_s < ready["compile_s"]


@pytest.mark.loads_tf
def test_data_that_end_after_one_pass_are_told(tf, talk, capfd):
    batches = iter(list(small_models.dataset(16).as_numpy_iterator()))
    spec = small_models.dataset().element_spec
    once = tf.data.Dataset.from_generator(lambda: batches, output_signature=spec)
    feed = make_feed(once, None, 32)
    with (
        pytest.raises(ModelError, match="epoch 2 had not a single batch"),
        pytest.warns(UserWarning, match="ran out of data"),
    ):
        talk(AssembledTraining(small_models.model(), feed), LEARN)


@pytest.mark.loads_tf
def test_the_first_answer_tells_of_the_data_and_the_optimizer(tf, talk):
    feed = in_memory(make_feed(small_models.dataset(), None, 32))
    _, _, (ready,) = talk(AssembledTraining(small_models.model(), feed), LEARN)
    assert (ready["data_kind"], ready["is_nan"]) == ("tf.data", False)
    assert hasattr(tf.keras.optimizers, ready["optimizer"])
    assert 0 < ready["learning_rate"] < 1


@pytest.mark.loads_tf
def test_a_loss_that_is_nan_at_once_and_a_schedule_are_told(tf, talk):
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    model.compile(keras.optimizers.SGD(rate), "mse")
    arrays = np.full((16, 4), np.nan, "float32"), np.ones((16, 1), "float32")
    _, _, (ready,) = talk(AssembledTraining(model, make_feed(arrays, None, 8)), LEARN)
    assert ready["is_nan"] is True
    assert (ready["data_kind"], ready["optimizer"]) == ("arrays", "SGD")
    assert ready["learning_rate"] is None


@pytest.mark.loads_tf
def test_an_optimizer_of_the_users_own_has_no_name_in_keras(tf, talk):
    import keras

    class Adam(keras.optimizers.Adam):
        pass

    model = small_models.model()
    model.compile(Adam(), "sparse_categorical_crossentropy")
    feed = make_feed(small_models.dataset(), None, 32)
    _, _, (ready,) = talk(AssembledTraining(model, feed), LEARN)
    assert ready["optimizer"] is None


class Machine:
    """Calls that take what they are told to, on a clock of their own."""

    def __init__(self, monkeypatch, *, per_call=1, batch=10):
        monkeypatch.setattr("quickfit.tuning.trials.training.device_peak_bytes", lambda: 7)
        self.now_s = 100.0
        self.per_call = per_call
        self.count = 0.0
        self.odometer = StepCounter(CallPace(batch, per_call, None), lambda: self.count)
        self.clocks = BlockClocks(lambda: self.now_s, lambda: self.now_s / 2)

    def block(self, steps):
        return BlockWatch(steps, self.odometer, self.clocks)

    def call(self, block, took_s, samples):
        self.now_s += took_s
        self.count += samples
        self.odometer.call()
        return block.call(self.per_call)


def test_the_first_moments_do_not_count(monkeypatch):
    machine = Machine(monkeypatch)
    block = machine.block(2)
    assert machine.call(block, 0.06, 10) is None
    assert machine.call(block, 0.06, 10) is None  # 0.12 s: it begins after this one
    assert machine.call(block, 0.02, 10) is None
    found = machine.call(block, 0.03, 10)
    assert (found.steps, found.samples, found.peak_bytes) == (2, 20, 7)
    assert found.wall_s == pytest.approx(0.05)
    assert found.cpu_s == pytest.approx(0.025)


def test_one_slow_call_is_enough_of_a_beginning(monkeypatch):
    machine = Machine(monkeypatch)
    block = machine.block(1)
    assert machine.call(block, 3.0, 10) is None
    assert machine.call(block, 3.0, 10).wall_s == pytest.approx(3.0)


def test_calls_of_several_steps_are_whole(monkeypatch):
    machine = Machine(monkeypatch, per_call=8)
    block = machine.block(10)
    machine.call(block, 0.2, 80)
    assert machine.call(block, 0.1, 80) is None
    assert machine.call(block, 0.1, 80).steps == 16


def test_calls_that_were_cut_short_do_not_make_a_block_too_short(monkeypatch):
    machine = Machine(monkeypatch, per_call=8)
    block = machine.block(16)
    machine.call(block, 0.2, 80)
    assert machine.call(block, 0.1, 80) is None
    assert machine.call(block, 0.1, 20) is None  # an epoch ends after two steps
    machine.odometer.end_epoch()
    machine.count = 0.0
    assert machine.call(block, 0.1, 80).steps == 18


def test_what_compiling_took_is_beyond_a_later_call_and_the_data():
    first = FirstCalls()
    assert not first.call(5.0)
    assert not first.call(0.1)
    assert not first.call(0.1)
    assert first.call(0.3)
    assert first.call_s == 0.1
    assert first.compile_s(0.4) == pytest.approx(4.5)
    assert first.compile_s(10.0) == 0.0


def test_fast_calls_are_seen_some_more_times():
    first = FirstCalls()
    calls = [first.call(0.001) for _ in range(21)]
    assert calls == [False] * 20 + [True]


def test_slow_calls_are_seen_once_more():
    first = FirstCalls()
    assert [first.call(4.0), first.call(4.0)] == [False, True]


class Tracker:
    """Counts samples as Keras's tracker of the loss does."""

    def __init__(self):
        self.count = 0.0

    def __call__(self):
        return self.count


def epoch(odometer, tracker, counts, *, ends=True):
    """Let calls feed so many samples each, as one epoch."""
    tracker.count = 0.0
    for samples in counts:
        tracker.count += samples
        odometer.call()
    if ends:
        odometer.end_epoch()


def test_full_batches_are_counted():
    tracker = Tracker()
    odometer = StepCounter(CallPace(32, 1, 96), tracker)
    epoch(odometer, tracker, [32, 32, 32])
    assert odometer.read() == TrainedDistance(3, 96)


def test_the_smaller_last_batch_of_each_epoch_counts_for_what_it_is():
    tracker = Tracker()
    odometer = StepCounter(CallPace(32, 1, None), tracker)
    epoch(odometer, tracker, [32, 32, 5])
    epoch(odometer, tracker, [32, 32, 5])
    epoch(odometer, tracker, [32], ends=False)
    assert odometer.read() == TrainedDistance(7, 170)


def test_the_call_that_is_cut_short_by_the_end_counts_for_what_it_is():
    tracker = Tracker()
    odometer = StepCounter(CallPace(32, 8, None), tracker)
    epoch(odometer, tracker, [256, 2 * 32 + 5])
    assert odometer.read() == TrainedDistance(11, 325)


@pytest.mark.parametrize("told", [0.0, 3.0, 10_000.0])
def test_where_the_tracker_tells_no_samples_calls_are_counted(told):
    tracker = Tracker()
    odometer = StepCounter(CallPace(32, 1, None), tracker)
    epoch(odometer, tracker, [told, 0, 0])
    assert odometer.read() == TrainedDistance(3, 96)


def test_calls_are_never_more_than_the_epoch_has():
    odometer = StepCounter(CallPace(32, 8, 325), Tracker())
    odometer.call()
    odometer.call()
    assert odometer.read() == TrainedDistance(11, 325)


def test_batches_of_one_are_counted():
    tracker = Tracker()
    odometer = StepCounter(CallPace(1, 1, None), tracker)
    epoch(odometer, tracker, [1, 1, 1])
    assert odometer.read() == TrainedDistance(3, 3)


def test_nothing_is_nothing():
    odometer = StepCounter(CallPace(32, 8, None), Tracker())
    assert odometer.read() == TrainedDistance(0, 0)
    assert odometer.is_idle


def test_the_way_between_two_readings():
    assert TrainedDistance(10, 320).since(TrainedDistance(4, 128)) == TrainedDistance(6, 192)


@pytest.fixture
def link():
    commands, answers = os.pipe(), os.pipe()
    yield ParentLink(commands[0], answers[1])
    for descriptor in (*commands, *answers):
        os.close(descriptor)


def fresh(batch=None):
    reset_seeds()
    return AssembledTraining(small_models.model(), make_feed(small_models.dataset(), batch, 32))


@pytest.mark.loads_tf
def test_a_trained_model_begins_again_and_comes_as_far(tf, link):
    trained = fresh().model
    trained.fit(small_models.dataset(), epochs=2, verbose=0, shuffle=False)
    again = learn_and_compare(80, fresh(), trained, link)
    anew = learn_and_compare(80, fresh(), fresh().model, link)
    assert again == anew
    assert again.samples == 80
    assert again.after < again.before


@pytest.mark.loads_tf
def test_the_loss_is_judged_on_the_same_samples_for_every_batch(tf, link):
    one = learn_and_compare(64, fresh(), fresh().model, link)
    other = learn_and_compare(64, fresh(batch=16), fresh().model, link)
    assert one.before == pytest.approx(other.before)


@pytest.mark.loads_tf
def test_samples_are_whole_steps(tf, link):
    assert learn_and_compare(65, fresh(batch=16), fresh().model, link).samples == 80


@pytest.mark.loads_tf
def test_a_model_of_another_form_is_not_taken_over(tf):
    import keras

    other = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    other.compile("adam", "mse")
    assert not take_state(small_models.model(), other)
    assert not take_state(keras.Sequential([keras.layers.Dense(2)]), other)


@pytest.fixture
def own_step(tf):
    import keras

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)
            self.steps = keras.optimizers.SGD(0.1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                each = keras.losses.sparse_categorical_crossentropy(y, self(x), from_logits=True)
                loss = tf.reduce_mean(each)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.steps.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"mine": loss}

    def made(batch=None, **options):
        reset_seeds()
        model = Own()
        model.compile(**options)
        return AssembledTraining(model, make_feed(small_models.dataset(), batch, 32))

    return made


@pytest.mark.loads_tf
def test_without_a_loss_to_evaluate_that_of_the_training_is_taken(tf, link, own_step):
    found = learn_and_compare(160, own_step(), own_step().model, link)
    assert math.isfinite(found.before)
    assert found.after < found.before


@pytest.mark.loads_tf
def test_a_step_of_its_own_is_asked_on_the_same_samples_whatever_one_call_takes(tf, link, own_step):
    one = learn_and_compare(64, own_step(), own_step().model, link)
    several = own_step(steps_per_execution=2)
    assert learn_and_compare(64, several, several.model, link) == one
    assert learn_and_compare(
        64, own_step(batch=32), own_step().model, link
    ).before == pytest.approx(one.before)


@pytest.mark.loads_tf
def test_asking_a_step_of_its_own_changes_nothing(tf, own_step):
    made = own_step().model
    made(next(iter(small_models.dataset()))[0])
    before = [one.numpy() for one in made.variables]
    assert math.isfinite(own_loss(made, small_models.dataset()))
    assert all((old == now.numpy()).all() for old, now in zip(before, made.variables, strict=True))
    assert not made.steps.built


@pytest.mark.loads_tf
def test_a_model_that_is_trained_by_keras_has_no_step_to_ask(tf):
    assert math.isnan(own_loss(small_models.model(), small_models.dataset()))


@pytest.mark.loads_tf
def test_a_model_that_cannot_be_evaluated_has_no_loss(tf, own_step):
    assert math.isnan(loss_of(own_step().model, small_models.dataset()))

"""Models and files weighed side by side."""

import logging
import warnings

import numpy as np
import pytest

from compression import models
from compression.quantizing.nets import state_of
from compression.quantizing.tiny_files import Tensor, sum_of
from compression.weighing.timings import TickingClock, ticking
from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.copying import rebuild_graph
from quickfit.compression.graph import graph_of
from quickfit.compression.weighing import weighed
from quickfit.compression.weighing.benchmark import (
    MIN_CALLS,
    WARM_UPS,
    BenchmarkClocks,
    KerasJobs,
    ModelStopwatch,
    SampleFeed,
    count_parameters,
    feed_of,
    file_bytes,
    time_in_turns,
    time_job,
    weights_bytes,
    without_tracing_advice,
)
from quickfit.errors import ModelError, UsageError

X = np.arange(12, dtype="float32").reshape(4, 3)


@pytest.fixture
def file(tmp_path):
    """Return a `.tflite` file that takes three numbers."""
    path = tmp_path / "sum.tflite"
    path.write_bytes(sum_of(Tensor("x")))
    return path


class TestOfFiles:
    def test_a_file_alone_needs_no_keras_model(self, file):
        found = weighed({"lite": file}, X, evaluate=lambda path: 0.75, clocks=ticking())["lite"]
        assert found.file_bytes == file.stat().st_size
        assert (found.accuracy, found.parameters, found.flops, found.step) == (0.75, *[None] * 3)
        assert sorted(found.latency["litert"]) == [1, 64]
        assert found.latency_s == {1: 1.0, 64: 1.0}
        assert not found.is_int8

    def test_a_file_in_integers_is_seen_as_that(self, tmp_path):
        path = tmp_path / "int8.tflite"
        path.write_bytes(sum_of(Tensor("x", "INT8", scale=0.5, zero=-3)))
        assert weighed({"int8": str(path)}, X, evaluate=None, clocks=ticking())["int8"].is_int8

    def test_the_accuracy_is_left_out_where_nobody_asks(self, file):
        assert weighed({"a": file}, X, evaluate=None, clocks=ticking())["a"].accuracy is None

    @pytest.mark.parametrize("value", [None, "good", float("nan")])
    def test_an_evaluation_that_is_no_number_is_told(self, file, value):
        with pytest.raises(UsageError, match=r"evaluate\(\) returned .* for 'lite'"):
            weighed({"lite": file}, X, evaluate=lambda path: value, clocks=ticking())

    def test_a_file_that_is_none_is_told(self, tmp_path):
        with pytest.raises(ModelError, match=r"nothing.tflite: cannot be read"):
            weighed({"a": tmp_path / "nothing.tflite"}, X, evaluate=None)

    def test_one_round_and_no_candidate_are_refused(self, file):
        with pytest.raises(UsageError, match="rounds=1"):
            weighed({"lite": file}, X, evaluate=None, rounds=1)
        with pytest.raises(UsageError, match="There is nothing to weigh"):
            weighed({}, X, evaluate=None)
        with pytest.raises(UsageError, match="There is nothing to weigh: give a model by name"):
            weighed([file], X, evaluate=None)

    def test_what_is_neither_model_nor_path_is_refused(self):
        with pytest.raises(UsageError, match="'a' is int, and a Keras model or the path"):
            weighed({"a": 3}, X, evaluate=None)


def small():
    """Return a model that takes three numbers."""
    import keras

    layers = [keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)]
    return models.settled(keras.Sequential(layers, name="small"))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
class TestOfModels:
    def test_models_and_files_are_weighed_together(self, file):
        model, asked = small(), []
        model.compile("adam", "mse")
        before = state_of(model)
        found = weighed(
            {"original": model, "lite": file},
            (X, np.zeros(4)),
            evaluate=lambda one: asked.append(one) or 0.5,
            rounds=2,
            clocks=ticking(),
        )
        assert asked == [model, file]
        assert list(found) == ["original", "lite"]
        original = found["original"]
        assert original.parameters == 4 * 4 + 5 * 2
        assert original.flops == 2 * (3 * 4 + 4 * 2) + 4 + 2
        assert sorted(original.latency) == ["call", "predict_on_batch"]
        assert original.step_s == 1.0
        assert len(original.step.turns) == len(found["lite"].latency["litert"][1].turns) == 2
        assert state_of(model) == before

    def test_for_training_is_told_to_each_weight(self):
        found = weighed({"a": small()}, X, evaluate=None, for_training=True, clocks=ticking())["a"]
        assert found.timing(1) is found.step

    def test_samples_that_do_not_fit_are_told(self):
        with pytest.raises(UsageError, match="do not fit the model"):
            weighed({"a": small()}, np.zeros((4, 7)), evaluate=None)

    def test_a_subclassed_model_is_refused(self):
        with pytest.raises(ModelError, match="network"):
            weighed({"a": models.subclassed()}, X, evaluate=None)

    def test_operations_stay_open_where_inputs_of_open_size_differ(self):
        import keras

        left, right = keras.Input((None, 2), name="left"), keras.Input((None, 2), name="right")
        pool = keras.layers.GlobalAveragePooling1D()
        both = keras.layers.Concatenate()([pool(left), pool(right)])
        model = keras.Model([left, right], keras.layers.Dense(1)(both))
        data = {"left": np.zeros((2, 5, 2)), "right": np.zeros((2, 9, 2))}
        assert weighed({"a": model}, data, evaluate=None, clocks=ticking())["a"].flops is None


class Machine:
    """A machine whose clock goes on when a job runs, by as much as the job takes."""

    def __init__(self, *durations_s):
        self.now_s, self.cpu_s = 0.0, 0.0
        self._durations_s = list(durations_s)

    def job(self):
        taken_s = self._durations_s.pop(0) if len(self._durations_s) > 1 else self._durations_s[0]
        self.now_s += taken_s
        self.cpu_s += 2 * taken_s

    @property
    def clocks(self):
        return BenchmarkClocks(lambda: self.now_s, lambda: self.cpu_s)


def test_everybody_is_warmed_up_and_then_has_one_turn_per_round_every_second_one_backwards():
    calls = []
    jobs = {name: lambda name=name: calls.append(name) for name in "abc"}
    time_in_turns(jobs, rounds=3, clocks=ticking())
    turn = MIN_CALLS + 1  # the first one of a turn is not counted
    order = "a" * WARM_UPS + "b" * WARM_UPS + "c" * WARM_UPS
    for name in "abc" + "cba" + "abc":
        order += name * turn
    assert "".join(calls) == order


def test_a_turn_tells_the_shortest_and_the_middle_call_without_the_first():
    machine = Machine(9.0, 3.0, 1.0, 2.0, 5.0, 4.0)
    turn = time_job(machine.job, 0.1, machine.clocks)
    assert (turn.fastest_s, turn.median_s) == (1.0, 3.0)
    assert turn.cpu_s == pytest.approx(2 * 3.0)


def test_short_calls_are_repeated_until_the_turn_is_over():
    machine, calls = Machine(0.01), []
    time_job(lambda: (machine.job(), calls.append(1)), 0.1, machine.clocks)
    assert 10 <= len(calls) - 1 <= 11  # sums of 0.01 are not exact


def test_there_is_one_turn_per_round_for_each_job():
    timings = time_in_turns({"a": lambda: None, "b": lambda: None}, rounds=4, clocks=ticking())
    assert {name: len(one.turns) for name, one in timings.items()} == {"a": 4, "b": 4}
    assert timings["a"].minimum_s == timings["a"].median_s == 1.0


def test_each_round_is_told():
    told = []
    time_in_turns({"a": lambda: None}, rounds=2, clocks=ticking(), tell=told.append)
    assert told == ["round 1 of 2", "round 2 of 2"]


def test_one_round_is_refused():
    with pytest.raises(UsageError, match="rounds=1: it takes 2 or more"):
        time_in_turns({"a": lambda: None}, rounds=1)


def test_the_clocks_are_those_of_the_machine_unless_told():
    assert BenchmarkClocks().wall() > 0
    assert BenchmarkClocks().cpu() > 0
    assert TickingClock(2.0)() == 2.0


def jobs_of(model):
    graph = graph_of(model)
    return KerasJobs(graph, rebuild_graph(graph), feed_of(graph, models.data_for(model), 8))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_everything_runs_on_a_copy_and_the_model_stays_as_it_is():
    model = models.sequential()
    model.compile("adam", "mse")
    before = state_of(model)
    jobs = jobs_of(model)
    for job in (jobs.call(2), jobs.predict_on_batch(2), jobs.step(4)):
        job()
        job()
    assert state_of(model) == before
    assert model.predict_function is None
    assert model.train_function is None


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_steps_leave_trained_weights_where_they_are():
    model = models.flattened()
    jobs = jobs_of(model)
    step = jobs.step(4)
    for _ in range(3):
        step()
    trained = jobs._model.trainable_variables
    for ours, theirs in zip(trained, model.trainable_variables, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_several_inputs_and_outputs_are_no_obstacle():
    jobs = jobs_of(models.named())
    for job in (jobs.call(1), jobs.predict_on_batch(1), jobs.step(2)):
        job()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_frozen_model_has_no_step():
    model = models.flattened()
    model.trainable = False
    assert jobs_of(model).step(4) is None


def test_samples_come_again_where_there_are_too_few():
    (rows,) = SampleFeed((X,)).rows(6)
    np.testing.assert_array_equal(rows, X[[0, 1, 2, 3, 0, 1]])


def test_a_file_with_several_inputs_gets_them_by_name():
    feed = SampleFeed((X, X + 1), ("left", "right"))
    given = feed.for_file(2)
    assert sorted(given) == ["left", "right"]
    np.testing.assert_array_equal(given["right"], X[:2] + 1)


@pytest.mark.parametrize("samples", [X, (X, [0, 1, 0, 1]), Samples((X,)), {"x": X}, X.tolist()])
def test_without_a_keras_model_arrays_are_taken_as_they_are(samples):
    feed = feed_of(None, samples, 3)
    np.testing.assert_array_equal(feed.for_file(2), X[:2])
    assert len(feed.arrays[0]) == 3


@pytest.mark.parametrize("samples", [X[:0], {}, 3.0])
def test_samples_that_are_none_are_refused(samples):
    with pytest.raises(UsageError, match="The samples are empty"):
        feed_of(None, samples, 3)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
class TestOfModelsFeeding:
    def test_a_model_gets_its_own_structure(self):
        model = models.named()
        graph = graph_of(model)
        feed = feed_of(graph, models.data_for(model), 8)
        given = feed.for_model(graph, 20)
        assert sorted(given) == ["image", "size"]
        assert given["image"].shape == (20, 6, 6, 1)

    def test_a_model_with_other_inputs_is_told(self):
        model = models.residual()
        feed = feed_of(graph_of(model), models.data_for(model), 8)
        with pytest.raises(UsageError, match="do not fit the model: it takes 'image'"):
            feed.for_model(graph_of(models.named()), 1)

    def test_open_sizes_are_those_of_the_samples(self):
        import keras

        inputs = keras.Input((None, None, 3))
        graph = graph_of(keras.Model(inputs, keras.layers.Conv2D(2, 3)(inputs)))
        feed = feed_of(graph, np.zeros((2, 9, 7, 3), "float32"), 8)
        assert feed.open_sizes(graph) == (9, 7)
        other = graph_of(models.residual())
        assert SampleFeed((np.zeros((2, 8, 8, 3), "float32"),)).open_sizes(other) is None


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_state_of_the_optimizer_is_not_part_of_the_size(tmp_path):
    model = models.flattened()
    before = file_bytes(rebuild_graph(graph_of(model)))
    model.compile("adam", "mse")
    model.train_on_batch(models.data_for(model), np.zeros((12, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about how Keras reads its own variables
        model.save(tmp_path / "with.keras")
    assert (
        file_bytes(rebuild_graph(graph_of(model)))
        == before
        < (tmp_path / "with.keras").stat().st_size
    )


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_parameters_are_counted_with_those_that_are_not_trained():
    model = models.sequential()
    assert count_parameters(model) == model.count_params()
    assert weights_bytes(model) == 4 * model.count_params()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_small_numbers_take_less_memory():
    from quickfit.compression.quantizing import keras_quantized

    model = models.flattened()
    small = keras_quantized(model).model
    assert weights_bytes(small) < weights_bytes(model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_cannot_be_saved_is_told():
    import keras

    class Odd(keras.layers.Layer):
        def call(self, x):
            return x * 1.0

        def save_own_variables(self, store):
            raise NotImplementedError("no way to save this")

    model = keras.Sequential([keras.Input((3,)), Odd()], name="odd")
    with pytest.raises(ModelError, match=r"'odd' cannot be saved.*no way to save this"):
        file_bytes(rebuild_graph(graph_of(model)))


@pytest.mark.loads_tf
def test_advice_on_tracing_is_held_back_and_nothing_else(tf, caplog):
    logger = tf.get_logger()
    filters = list(logger.filters)
    logger.propagate, kept = True, logger.propagate
    try:
        with without_tracing_advice(), caplog.at_level(logging.WARNING, logger.name):
            logger.warning("5 calls triggered tf.function retracing")
            logger.warning("something else")
    finally:
        logger.propagate = kept
    assert caplog.messages == ["something else"]
    assert logger.filters == filters


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("for_training", [False, True])
def test_a_model_is_timed_by_the_clock_and_not_changed(for_training):
    model = models.residual()
    before = [weight.numpy() for weight in model.weights]
    samples = samples_of(model, models.data_for(model, 8))
    watch = ModelStopwatch(samples, for_training=for_training, clocks=ticking())
    assert watch(model) == watch(models.residual()) == watch(model) == 1.0
    for old, weight in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_step_needs_something_to_train():
    model = models.flattened()
    model.trainable = False
    samples = samples_of(model, models.data_for(model, 8))
    with pytest.raises(ModelError, match="has nothing to train"):
        ModelStopwatch(samples, for_training=True)(model)

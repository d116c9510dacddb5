"""The step of a model: timed on one batch, and the model left as it was."""

import numpy as np
import pytest
from speed.speeds import machine, span

from quickfit import data
from quickfit.data.speed.figures import StepTime, format_step
from quickfit.data.speed.measuring import measure as measure_anything
from quickfit.errors import PipelineError, UsageError


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            StepTime(0.1, None, False),
            "input is not the limit: the model takes 100 ms per batch, the input 20 ms",
        ),
        (
            StepTime(0.005, None, False),
            "input is the limit: the model takes 5.0 ms per batch, the input 20 ms; 75 % of each"
            " step would be waiting",
        ),
        (
            StepTime(0.0205, None, False),
            "input and model are about even: the model takes 20 ms per batch, the input 20 ms",
        ),
        (
            StepTime(0.03, 0.06, True),
            "input takes cores from the model: the model takes 30 ms per batch, the input 20 ms,"
            " and with 20 ms of its CPU time a step would take about 40 ms",
        ),
    ],
)
def test_input_and_model_are_told_side_by_side(step, expected):
    assert format_step(span(), step, machine()) == expected


def made(tf, **options):
    """Return a dataset of pairs and a compiled model with dropout."""
    import keras

    model = keras.Sequential(
        [keras.layers.Dense(4, activation="relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", **options)
    pair = (np.ones((8, 3), np.float32), np.ones((8, 1), np.float32))
    return tf.data.Dataset.from_tensors(pair).repeat(), model


@pytest.mark.loads_tf
def test_a_model_is_timed_and_left_as_it_was(tf):
    dataset, model = made(tf)
    model.build((None, 3))
    before = [variable.numpy() for variable in model.variables]
    found = data.measure(dataset, seconds=0.2, warmup=0.1, model=model)
    assert found.step.is_measured
    assert found.step.step_s > 0
    assert found.step.cpu_s > 0
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    assert int(model.optimizer.iterations.numpy()) == 0


@pytest.mark.loads_tf
def test_a_model_that_is_not_built_and_runs_several_steps_at_once_is_timed(tf):
    dataset, model = made(tf, steps_per_execution=4)
    found = data.measure(dataset, seconds=0.2, warmup=0.1, model=model)
    assert found.step.step_s > 0


@pytest.mark.loads_tf
def test_a_model_that_is_not_compiled_is_refused(tf):
    import keras

    dataset, _ = made(tf)
    with pytest.raises(UsageError, match=r"is not compiled.*\n.*model.compile"):
        data.measure(dataset, seconds=0.1, warmup=0, model=keras.Sequential())


def test_what_is_no_model_is_refused_before_anything_is_measured():
    with pytest.raises(UsageError, match=r"model='resnet' is not a Keras model.\n.*step_s=0.12"):
        data.measure(iter([1]), model="resnet")


@pytest.mark.loads_tf
def test_elements_without_labels_have_no_training_step(tf):
    _, model = made(tf)
    with pytest.raises(UsageError, match=r"holds no labels.*\n.*step_s=0.12"):
        data.measure(tf.data.Dataset.range(9), seconds=0.1, warmup=0, model=model)


def measure(dataset, **more):
    """Measure for a moment."""
    return data.measure(dataset, **{"seconds": 0.3, "warmup": 0.1, **more})


def burn(rounds):
    """Return a map function that runs so many rounds of the same work in Python."""

    def work(value):
        import tensorflow as tf

        def count(number):
            total = 0
            for step in range(rounds):
                total += step
            return np.int64(total)

        return tf.numpy_function(count, [value], tf.int64)

    work.__name__ = f"burn_{rounds}"
    return work


@pytest.mark.loads_tf
def test_the_stage_that_works_ten_times_as_much_is_found(tf):
    dataset = tf.data.Dataset.range(10**9).map(burn(3_000)).map(burn(30_000)).batch(4)
    found = measure(dataset)
    by_name = {stage.name: stage for stage in found.stages}
    light = next(stage for name, stage in by_name.items() if "burn_3000" in name)
    heavy = next(stage for name, stage in by_name.items() if "burn_30000" in name)
    assert heavy.work_s > 2 * light.work_s
    assert heavy.runs_python
    assert light.runs_python
    assert sum(stage.share for stage in found.stages) == pytest.approx(1.0)
    assert "test_measuring.py" in heavy.place


@pytest.mark.loads_tf
def test_examples_and_batches_are_counted_exactly(tf):
    found = measure(tf.data.Dataset.range(100).batch(8))
    # Thirteen batches in a pass, the last one of four.
    assert found.total.elements % 13 == 0
    assert found.total.examples == found.total.elements // 13 * 100
    assert found.first_pass.elements == 13
    assert found.first_pass.examples == 100


@pytest.mark.loads_tf
def test_the_rest_of_a_speed_is_there(tf):
    found = measure(tf.data.Dataset.range(10**9).batch(8))
    assert found.examples_per_s == pytest.approx(8 * found.elements_per_s)
    assert found.total.cpu_s > 0
    assert found.first_s > 0
    assert found.passes == 0
    assert found.memory.after_bytes > 0
    assert found.no_stages is None
    assert found.ideal.element_s > 0
    assert repr(found).startswith("tf.data.Dataset: ")


@pytest.mark.loads_tf
def test_a_prefetch_that_nobody_wrote_is_marked(tf):
    found = measure(tf.data.Dataset.range(10**9).map(burn(100)))
    assert [stage.is_injected for stage in found.stages if stage.kind == "prefetch"] == [True]


@pytest.mark.loads_tf
def test_an_unbatched_dataset_has_one_example_per_element(tf):
    pictures = tf.data.Dataset.from_tensors((tf.zeros((8, 8, 3)), 1)).repeat()
    found = measure(pictures)
    assert found.total.examples == found.total.elements


@pytest.mark.loads_tf
def test_the_user_may_say_how_many_examples_an_element_holds(tf):
    found = measure(tf.data.Dataset.from_tensors(tf.zeros((4, 4))).repeat(), batch_size=4)
    assert found.total.examples == 4 * found.total.elements


@pytest.mark.loads_tf
def test_a_cache_tells_its_first_pass_apart(tf):
    calls = []

    def count(value):
        calls.append(1)
        return value

    def work(value):
        return tf.numpy_function(count, [value], tf.int64)

    found = measure(tf.data.Dataset.range(64).map(work).cache().batch(8))
    assert found.has_cache
    assert found.first_pass.examples == 64
    assert len(calls) == 64
    assert any(stage.kind == "cache" for stage in found.stages)
    assert "in the first pass, which fills a cache" in repr(found)


@pytest.mark.loads_tf
def test_costly_work_in_front_of_a_shuffle_that_holds_everything_is_seen(tf):
    found = measure(tf.data.Dataset.range(40).map(burn(30_000)).shuffle(1000).batch(8))
    assert max(found.stages, key=lambda stage: stage.share).name.startswith("map(burn_30000)")


@pytest.mark.loads_tf
def test_without_autotune_rates_are_told_and_stages_are_unknown(tf):
    options = tf.data.Options()
    options.autotune.enabled = False
    found = measure(tf.data.Dataset.range(10**6).batch(8).with_options(options))
    assert found.stages == ()
    assert "autotune is off" in found.no_stages
    assert found.examples_per_s > 0


@pytest.mark.loads_tf
def test_a_generator_that_is_used_up_by_the_first_epoch_is_told(tf):
    numbers = iter(range(20))
    dataset = tf.data.Dataset.from_generator(lambda: numbers, output_signature=tf.TensorSpec(()))
    found = measure(dataset)
    assert any("the second pass gave no element" in note for note in found.notes)


@pytest.mark.loads_tf
def test_an_empty_dataset_ends_in_an_error(tf):
    with pytest.raises(PipelineError, match="ended without a single element"):
        measure(tf.data.Dataset.range(0))


@pytest.mark.loads_tf
def test_a_pipeline_that_fails_is_told_with_its_reason(tf):
    def check(value):
        with tf.control_dependencies([tf.debugging.assert_less(value, tf.constant(3, tf.int64))]):
            return tf.identity(value)

    with pytest.raises(PipelineError, match=r"failed after \d+ elements.\n(.*\n)*.*x < y"):
        measure(tf.data.Dataset.range(9).map(check))


@pytest.mark.loads_tf
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"seconds": 0}, "seconds=0 must be a number above 0"),
        ({"seconds": float("nan")}, "seconds=nan must be"),
        ({"warmup": -1}, "warmup=-1 must be"),
        ({"step_s": "120ms"}, "step_s='120ms' is not a number"),
        ({"step_s": 0.1, "model": object()}, "give either step_s or model"),
        ({"batch_size": 2.5}, "batch_size=2.5 must be a whole number"),
        ({"batch_size": True}, "batch_size=True is not a number"),
    ],
)
def test_values_that_make_no_sense_are_refused(tf, more, message):
    with pytest.raises(UsageError, match=message):
        measure(tf.data.Dataset.range(9), **more)


@pytest.mark.loads_tf
@pytest.mark.parametrize("wrap", [lambda one: {"train": one}, lambda one: [one, one]])
def test_of_several_datasets_one_is_to_be_chosen(tf, wrap):
    with pytest.raises(UsageError, match=r"that holds datasets; one is measured at a time"):
        measure(wrap(tf.data.Dataset.range(9)))


@pytest.mark.loads_tf
def test_a_given_step_stands_beside_the_input(tf):
    found = measure(tf.data.Dataset.range(10**9).batch(8), step_s=10.0)
    assert found.step.step_s == 10.0
    assert "input is not the limit: the model takes 10 s per batch" in repr(found)
    assert found.advice == ()


@pytest.mark.loads_tf
def test_it_is_what_the_package_offers():
    assert data.measure is measure_anything


class Pairs:
    """Methods of a PyDataset of pairs."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return np.zeros((4, 3), np.float32), np.zeros(4, np.float32)


@pytest.mark.loads_tf
def test_a_py_dataset_is_fed_as_fit_does(tf):
    import keras

    class Sequence(Pairs, keras.utils.PyDataset):
        epochs = 0

        def on_epoch_end(self):
            type(self).epochs += 1

    found = measure(Sequence())
    assert found.name == "Sequence"
    assert found.total.examples == 4 * found.total.elements
    assert found.total.elements % 6 == 0
    assert found.stages[0].name == "from_generator(Sequence.__getitem__)"
    assert Sequence.epochs >= found.passes > 0


@pytest.mark.loads_tf
def test_a_py_dataset_with_workers_has_rates_only(tf):
    import keras

    class Sequence(Pairs, keras.utils.PyDataset):
        pass

    found = measure(Sequence(workers=2))
    assert found.examples_per_s > 0
    assert "2 worker threads" in found.no_stages


@pytest.mark.loads_tf
def test_an_empty_py_dataset_ends_in_an_error(tf):
    import keras

    class Nothing(Pairs, keras.utils.PyDataset):
        def __len__(self):
            return 0

    with pytest.raises(PipelineError, match="this PyDataset has no batches"):
        measure(Nothing())

"""The step of a model: timed on one batch, and the model left as it was."""

import numpy as np
import pytest
from speed.speeds import machine, span

from quickfit import data
from quickfit.data.speed.figures import Step
from quickfit.data.speed.model_step import step_text
from quickfit.errors import UsageError


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            Step(0.1, None, False),
            "input is not the limit: the model takes 100 ms per batch, the input 20 ms",
        ),
        (
            Step(0.005, None, False),
            "input is the limit: the model takes 5.0 ms per batch, the input 20 ms; 75 % of each"
            " step would be waiting",
        ),
        (
            Step(0.0205, None, False),
            "input and model are about even: the model takes 20 ms per batch, the input 20 ms",
        ),
        (
            Step(0.03, 0.06, True),
            "input takes cores from the model: the model takes 30 ms per batch, the input 20 ms,"
            " and with 20 ms of its CPU time a step would take about 40 ms",
        ),
    ],
)
def test_input_and_model_are_told_side_by_side(step, expected):
    assert step_text(span(), step, machine()) == expected


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

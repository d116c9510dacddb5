"""How often a model is right."""

import math

import numpy as np
import pytest

from compression import models
from quickfit.compression.labelled_data import LabelClasses, LabelledSamples
from quickfit.compression.shrinking.accuracy import (
    AccuracyMarks,
    Predictor,
    checked_mark,
    half_width,
    is_right,
    predict_outputs,
    threshold_of,
)
from quickfit.errors import UsageError


def test_the_largest_output_is_the_answer():
    outputs = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]])
    np.testing.assert_array_equal(
        is_right(outputs, LabelClasses(np.array([1, 0, 0]), 2)), [1, 1, 0]
    )


@pytest.mark.parametrize("shape", [(3, 1), (3,)])
def test_a_single_number_is_compared_with_a_threshold(shape):
    classes = LabelClasses(np.array([1, 0, 0]), 2, is_single=True)
    outputs = np.array([0.7, 0.1, 0.6]).reshape(shape)
    np.testing.assert_array_equal(is_right(outputs, classes), [1, 1, 0])
    logits = np.array([0.3, -2.0, 0.1]).reshape(shape)
    np.testing.assert_array_equal(is_right(logits, classes, threshold=0.0), [1, 1, 0])


def test_pixels_count_by_their_share():
    outputs = np.zeros((1, 2, 2, 3))
    outputs[..., 2] = 1
    classes = LabelClasses(np.array([[[2, 2], [2, 0]]]), 3)
    np.testing.assert_array_equal(is_right(outputs, classes), [0.75])


def test_what_is_not_a_number_is_wrong():
    outputs = np.array([[np.nan, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(is_right(outputs, LabelClasses(np.array([0, 1]), 2)), [0, 1])


def test_probabilities_and_logits_have_thresholds_of_their_own():
    assert threshold_of(np.array([0.0, 0.4, 1.0])) == 0.5
    assert threshold_of(np.array([-3.0, 4.0])) == 0.0


def test_only_samples_that_differ_widen_the_interval():
    assert half_width(np.zeros(100)) == 0.03  # what was not seen may still be
    assert half_width(np.array([1.0])) == math.inf
    few, many = np.r_[1.0, np.zeros(99)], np.r_[np.ones(10), -np.ones(10), np.zeros(80)]
    assert half_width(few) < half_width(many) < 0.1
    assert half_width(np.tile(few, 9)) < half_width(few)


@pytest.mark.parametrize("value", [None, "good", float("nan"), [1, 2]])
def test_a_mark_is_a_number(value):
    with pytest.raises(UsageError, match=r"evaluate\(\) returned .* for 'small', and a number"):
        checked_mark(value, "small")
    assert checked_mark(np.float32(0.5), "small") == 0.5


def test_a_file_is_used_like_a_model():
    model = Predictor(lambda x: x * 2)
    assert model(1) == model.predict(1, verbose=0) == 2
    with pytest.raises(AttributeError, match=r"evaluate\(\) used \.evaluate of a \.tflite file"):
        model.evaluate(1)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_models_of_keras_are_asked_without_a_trace():
    model = models.sequential()
    before = set(vars(model))
    data = models.data_for(model, 300)
    outputs = predict_outputs(model, (data,))
    np.testing.assert_allclose(outputs, np.asarray(model(data)), atol=1e-6)
    assert set(vars(model)) == before
    labels = outputs.argmax(axis=-1)
    marks = AccuracyMarks(LabelledSamples((data,), labels), LabelClasses(labels, 4))
    assert (marks(model), len(marks)) == (1.0, 300)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_inputs_by_name_reach_the_model():
    model = models.named()
    data = models.data_for(model, 5)
    outputs = predict_outputs(model, (data["image"], data["size"]))
    assert len(outputs) == 5

"""Batches of every size from a few samples."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import Samples
from quickfit.compression.graph import graph_of
from quickfit.compression.weighing.feeding import Feed, feed_of
from quickfit.errors import UsageError

X = np.arange(12, dtype="float32").reshape(4, 3)


def test_samples_come_again_where_there_are_too_few():
    (rows,) = Feed((X,)).rows(6)
    np.testing.assert_array_equal(rows, X[[0, 1, 2, 3, 0, 1]])


def test_a_file_with_several_inputs_gets_them_by_name():
    feed = Feed((X, X + 1), ("left", "right"))
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
class TestOfModels:
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
        assert Feed((np.zeros((2, 8, 8, 3), "float32"),)).open_sizes(other) is None

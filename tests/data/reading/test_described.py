"""What a dataset says of itself."""

import pytest

from quickfit.data.reading.described import described, elements, with_length

pytestmark = pytest.mark.loads_tf


def test_it_stays_a_dataset_and_says_what_it_is(tf):
    plain = tf.data.Dataset.range(10).batch(4)
    dataset = described(plain, "<ten numbers>", class_names=["a"])
    assert dataset is plain
    assert isinstance(dataset, tf.data.Dataset)
    assert repr(dataset) == str(dataset) == "<ten numbers>"
    assert dataset.class_names == ["a"]
    assert len(dataset) == 3
    assert "ten numbers" not in repr(tf.data.Dataset.range(10).batch(4))
    assert "ten numbers" not in repr(dataset.map(lambda x: x))


def test_a_length_can_be_told_that_tensorflow_does_not_check(tf):
    dataset = tf.data.Dataset.range(10).filter(lambda x: x > 5)
    assert len(with_length(dataset, 10)) == 10
    assert [int(x) for x in dataset] == [6, 7, 8, 9]


def test_elements_are_told_by_shape_and_type(tf):
    pair = tf.data.Dataset.from_tensors((tf.zeros((2, 3)), tf.constant(1))).batch(4)
    assert elements(pair) == "(?, 2, 3) float32, (?) int32"
    ragged = tf.data.Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]]))
    assert elements(ragged) == "(2, ?) int32"

"""The operations of a dataset, read from the object."""

import functools

import numpy as np
import pytest

from quickfit.data.speed.chain import is_batched, operations_of
from quickfit.data.speed.feeds import element_arrays

pytestmark = pytest.mark.loads_tf


def double(value):
    return value * 2


def random(value):
    import tensorflow as tf

    return tf.random.uniform((), maxval=10, dtype=tf.int64) + value


def python(value):
    import tensorflow as tf

    return tf.numpy_function(np.int64, [value], tf.int64)


def by_kind(dataset):
    """Return the operations of a dataset by their kind."""
    operations, _ = operations_of(dataset)
    return {one.kind: one for one in operations.values()}


def test_the_chain_is_told_from_its_end_to_its_sources(tf):
    dataset = tf.data.Dataset.range(9).shuffle(5).map(double).batch(4).prefetch(2)
    operations, top = operations_of(dataset)
    kinds, number = [], top
    while number:
        kinds.append(operations[number].kind)
        number = next(iter(operations[number].inputs), None)
    assert kinds == ["prefetch", "batch", "map", "shuffle", "range"]


def test_operations_carry_their_numbers_and_functions(tf):
    found = by_kind(tf.data.Dataset.range(9).shuffle(5).map(double).batch(4))
    assert found["shuffle"].facts["buffer_size"] == 5
    assert found["batch"].facts["batch_size"] == 4
    assert found["map"].facts["function"] == "double"
    assert found["map"].file == __file__
    assert found["map"].line == double.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("function", "facts"),
    [
        (double, {"runs_python": False, "is_stateful": False}),
        (random, {"runs_python": False, "is_stateful": True}),
        (python, {"runs_python": True}),
    ],
)
def test_what_a_function_does_is_seen_in_its_graph(tf, function, facts):
    found = by_kind(tf.data.Dataset.range(9).map(function))["map"].facts
    assert {name: found[name] for name in facts} == facts


def test_the_function_of_a_partial_is_named(tf):
    found = by_kind(tf.data.Dataset.range(9).map(functools.partial(double)))
    assert found["map"].facts["function"] == "double"


def test_a_generator_has_the_name_that_the_user_gave_it(tf):
    def batches():
        yield 1

    dataset = tf.data.Dataset.from_generator(batches, output_signature=tf.TensorSpec(()))
    found = by_kind(dataset)["flatmap"].facts
    assert found["from_generator"]
    assert found["function"] == "batches"


def test_a_class_on_top_of_a_dataset_hides_nothing(tf):
    dataset = tf.data.Dataset.range(9).batch(3)
    dataset.__class__ = type("Images", (type(dataset),), {})
    assert "batch" in by_kind(dataset)


def test_a_dataset_that_is_used_twice_is_told_once(tf):
    numbers = tf.data.Dataset.range(9)
    operations, _ = operations_of(tf.data.Dataset.zip(numbers, numbers))
    assert sorted(one.kind for one in operations.values()) == ["range", "zip"]


def test_a_chain_says_whether_its_elements_are_batches(tf):
    numbers = tf.data.Dataset.range(9)
    for dataset, expected in (
        (numbers.batch(3).map(double).prefetch(1), True),
        (numbers.batch(3).unbatch(), False),
        (numbers.map(double), None),
        (numbers.padded_batch(3), True),
        (numbers.batch(3).flat_map(tf.data.Dataset.from_tensors), True),
        (numbers.batch(3).flat_map(tf.data.Dataset.from_tensor_slices), None),
        (numbers.interleave(lambda n: tf.data.Dataset.range(n)), None),
    ):
        assert is_batched(*operations_of(dataset), dataset.element_spec) is expected


def test_functions_of_quickfit_itself_are_told_from_the_users(tf):
    found = by_kind(tf.data.Dataset.range(9).map(element_arrays))["map"]
    assert found.facts["is_ours"]
    assert found.file is None
    assert not by_kind(tf.data.Dataset.range(9).map(double))["map"].facts["is_ours"]

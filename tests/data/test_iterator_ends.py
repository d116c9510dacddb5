"""Iterators end on a thread of their own; the script does not wait for TensorFlow's."""

import gc
import threading
import time

import pytest

from quickfit.data.iterator_ends import _IteratorEnds, end_iterators_aside


class Resource:
    """Notes on which thread it ends."""

    def __init__(self, ends):
        self.ends = ends

    def __del__(self):
        self.ends.append(threading.current_thread().name)


class Iterator:
    """As much of TensorFlow's iterator as is needed."""

    def __init__(self, ends):
        self._iterator_resource = Resource(ends)
        self._dataset = None


def wait_until(is_true):
    """Wait for another thread."""
    end_s = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end_s, "the thread did not do it"
        time.sleep(0.001)


def test_the_last_reference_is_dropped_by_another_thread():
    watched, ends = _IteratorEnds(), []
    iterator = Iterator(ends)
    watched.watch(iterator)
    assert ends == []
    del iterator
    wait_until(lambda: ends)
    assert ends == ["iterator-ends"]
    assert not watched._refs
    watched._finish()


def test_at_the_end_of_the_script_those_that_are_left_are_given_back():
    watched, ends = _IteratorEnds(), []
    iterator, gone = Iterator(ends), Iterator(ends)
    watched.watch(iterator)
    watched.watch(gone)
    del gone
    watched._finish()
    assert ends == ["iterator-ends"]
    del iterator
    assert ends == ["iterator-ends", threading.current_thread().name]


def test_a_forked_process_ends_nothing_that_was_its_parents():
    watched, ends = _IteratorEnds(), []
    iterator = Iterator(ends)
    watched.watch(iterator)
    old = watched._gone
    watched._begin_in_child()
    del iterator
    wait_until(lambda: ends)  # here the parent's thread is alive, and does it
    assert watched._gone is not old
    assert old in watched._inherited
    mine = Iterator(ends)
    watched.watch(mine)
    del mine
    wait_until(lambda: len(ends) == 2)
    watched._finish()
    old.put(None)


@pytest.mark.loads_tf
def test_datasets_stay_what_they_are_and_their_pipeline_can_still_be_looked_into(tf):
    plain = tf.data.Dataset.range(6).batch(2)
    dataset = end_iterators_aside(tf.data.Dataset.range(6).batch(2))
    assert isinstance(dataset, type(plain))
    for _ in range(2):
        assert [list(map(int, batch)) for batch in dataset] == [[0, 1], [2, 3], [4, 5]]
    iterator = iter(dataset)
    next(iterator)
    assert tf.data.experimental.get_model_proto(iterator).nodes
    assert type(iterator) is type(iter(plain))

    @tf.function
    def total(elements):
        result = tf.constant(0, tf.int64)
        for batch in elements:
            result += tf.reduce_sum(batch)
        return result

    assert int(total(dataset)) == 15
    assert int(total(iter(dataset))) == 15
    gc.collect()

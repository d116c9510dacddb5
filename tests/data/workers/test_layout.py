import mmap

import numpy as np
import pytest

from quickfit.data.workers.layout import (
    ALIGNMENT_BYTES,
    aligned,
    bytes_needed,
    layout_of,
    shape_text,
    views,
)
from quickfit.data.workers.results import UnusableResultError

ITEM = (np.zeros((3, 5), np.uint8), 1)


def test_the_first_result_says_what_all_look_like():
    layout = layout_of(ITEM, rows=4)
    assert [leaf.shape for leaf in layout.leaves] == [(3, 5), ()]
    assert [str(leaf.dtype) for leaf in layout.leaves] == ["uint8", "int64"]


def test_results_that_come_alone_may_have_any_shape():
    assert layout_of(ITEM, rows=None).leaves[0].shape == (None, None)
    assert layout_of(ITEM, rows=None, first_varies=True).leaves[0].shape == (None, 5)


def test_arrays_lie_apart_in_memory_and_begin_where_tensorflow_likes_it():
    layout = layout_of(ITEM, rows=4)
    shapes = layout.batch_shapes()
    memory = mmap.mmap(-1, bytes_needed(layout, shapes))
    images, labels = views(layout, shapes, memory)
    images[...], labels[...] = 7, -1
    assert (images == 7).all()
    assert (labels == -1).all()
    assert images.ctypes.data % ALIGNMENT_BYTES == labels.ctypes.data % ALIGNMENT_BYTES == 0


@pytest.mark.parametrize("shape", [(), (0, 3), (7, 13)])
def test_new_arrays_are_aligned(shape):
    array = aligned(shape, np.dtype(np.float64))
    assert array.shape == shape
    assert array.ctypes.data % ALIGNMENT_BYTES == 0 or not array.size


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((np.zeros((3, 6), np.uint8), 1), "its array at [0] has shape [3, 6], and [3, 5] is exp"),
        ((np.zeros((3, 5, 1), np.uint8), 1), "has shape [3, 5, 1]"),
        ((np.zeros((3, 5)), 1), "its array at [0] is float64, and uint8 is expected"),
        ((ITEM[0], 1.5), "its array at [1] is float32, and int64 is expected"),
        ((ITEM[0], "cat"), "its array at [1] is text, and int64 is expected"),
        (ITEM[0], "it returned one array, and a tuple of 2 is expected"),
        ({"x": 1}, "it returned a dict with 'x', and a tuple of 2"),
    ],
)
def test_a_result_that_differs_is_refused_with_both_sides(value, words):
    with pytest.raises(UnusableResultError) as refused:
        layout_of(ITEM, rows=4).arrays(value)
    assert words in str(refused.value)


@pytest.mark.parametrize("label", [np.int32(3), 3.0, np.uint8(3), True])
def test_a_number_that_keeps_its_value_is_taken(label):
    _, kept = layout_of(ITEM, rows=4).arrays((ITEM[0], label))
    assert kept.dtype == np.int64
    assert kept == int(label)


def test_numbers_that_are_not_numbers_do_not_become_whole():
    with pytest.raises(UnusableResultError, match="float32"):
        layout_of(ITEM, rows=4).arrays((ITEM[0], float("nan")))


@pytest.mark.parametrize("value", [(), {}])
def test_a_result_with_nothing_in_it_is_refused(value):
    with pytest.raises(UnusableResultError, match=r"tuple of 0|nothing in it"):
        layout_of(value, rows=4)


def test_shapes_read_as_people_write_them():
    assert shape_text((224, None, 3)) == "[224, any, 3]"

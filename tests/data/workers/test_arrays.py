import collections
import datetime
import mmap

import numpy as np
import pytest

from quickfit.data.workers.arrays import (
    ALIGNMENT_BYTES,
    BatchBuffers,
    UnusableResultError,
    aligned_array,
    as_array,
    bytes_needed,
    describe_structure,
    find_layout,
    flatten_result,
    format_shape,
    memory_views,
    pack_result,
    structure_of,
)

NESTED = {"b": (1, {"x": 2}), "a": 3}


def test_a_result_is_taken_apart_and_put_together_again():
    parts = list(flatten_result(NESTED))
    assert [name for name, _ in parts] == ["['a']", "['b'][0]", "['b'][1]['x']"]
    assert pack_result(structure_of(NESTED), iter(value for _, value in parts)) == NESTED


def test_the_order_of_keys_does_not_matter():
    assert structure_of({"a": 1, "b": 2}) == structure_of({"b": 2, "a": 1})


def test_structures_have_names_people_understand():
    assert describe_structure(structure_of(5)) == "one array"
    assert describe_structure(structure_of((1, 2))) == "a tuple of 2"
    assert (
        describe_structure(structure_of({"image": 1, "label": 2})) == "a dict with 'image', 'label'"
    )


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int64"),
        (1.5, "float32"),
        (True, "bool"),
        (np.float64(1.5), "float64"),
        ([1, 2], "int64"),
        (np.zeros(2, ">f4"), "float32"),
    ],
)
def test_numbers_become_arrays(value, dtype):
    assert as_array(value, "").dtype.newbyteorder("=") == np.dtype(dtype)


def test_a_pillow_image_is_an_array():
    from PIL import Image

    assert as_array(Image.new("RGB", (4, 3)), "").shape == (3, 4, 3)


@pytest.mark.parametrize("value", ["ä", "ä".encode(), np.array("ä"), np.array("ä", object)])
def test_text_becomes_bytes(value):
    assert as_array(value, "").item() == "ä".encode()


def test_names_of_files_that_are_no_utf8_keep_their_bytes():
    assert as_array("a\udcff", "").item() == b"a\xff"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "it returned None at [0]; is a `return` missing?"),
        (object(), "it returned a object at [0], which is no array, number or text"),
        ([np.zeros(2), np.zeros(3)], "Return a tuple to keep its parts apart"),
        (np.array([1, "a"], object), "holds a int: only arrays of numbers or of texts"),
        (np.array(["2020"], "M8[Y]"), "has dtype datetime64[Y]"),
        (np.zeros(2, [("a", int)]), "has dtype [('a', '<i8')]"),
        (2**70, "the number it returned at [0] has over 64 bits"),
        (datetime.date(2020, 1, 1), "it returned a date at [0]"),
        ({1, 2}, "it returned a set at [0]"),
    ],
)
def test_what_is_no_array_is_refused_in_words(value, words):
    with pytest.raises(UnusableResultError) as refused:
        as_array(value, "[0]")
    assert words in str(refused.value)


def test_a_key_that_is_no_text_is_refused():
    with pytest.raises(UnusableResultError, match=r"the dict \[1\] has the key 3"):
        structure_of((1, {3: 1}))


def test_a_named_tuple_is_a_tuple():
    pair = collections.namedtuple("pair", "x y")
    assert structure_of(pair(1, 2)) == (None, None)


ITEM = (np.zeros((3, 5), np.uint8), 1)


def test_the_first_result_says_what_all_look_like():
    layout = find_layout(ITEM, rows=4)
    assert [leaf.shape for leaf in layout.leaves] == [(3, 5), ()]
    assert [str(leaf.dtype) for leaf in layout.leaves] == ["uint8", "int64"]


def test_results_that_come_alone_may_have_any_shape():
    assert find_layout(ITEM, rows=None).leaves[0].shape == (None, None)
    assert find_layout(ITEM, rows=None, first_varies=True).leaves[0].shape == (None, 5)


def test_arrays_lie_apart_in_memory_and_begin_where_tensorflow_likes_it():
    layout = find_layout(ITEM, rows=4)
    shapes = layout.batch_shapes()
    memory = mmap.mmap(-1, bytes_needed(layout, shapes))
    images, labels = memory_views(layout, shapes, memory)
    images[...], labels[...] = 7, -1
    assert (images == 7).all()
    assert (labels == -1).all()
    assert images.ctypes.data % ALIGNMENT_BYTES == labels.ctypes.data % ALIGNMENT_BYTES == 0


@pytest.mark.parametrize("shape", [(), (0, 3), (7, 13)])
def test_new_arrays_are_aligned(shape):
    array = aligned_array(shape, np.dtype(np.float64))
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
        find_layout(ITEM, rows=4).arrays(value)
    assert words in str(refused.value)


@pytest.mark.parametrize("label", [np.int32(3), 3.0, np.uint8(3), True])
def test_a_number_that_keeps_its_value_is_taken(label):
    _, kept = find_layout(ITEM, rows=4).arrays((ITEM[0], label))
    assert kept.dtype == np.int64
    assert kept == int(label)


def test_numbers_that_are_not_numbers_do_not_become_whole():
    with pytest.raises(UnusableResultError, match="float32"):
        find_layout(ITEM, rows=4).arrays((ITEM[0], float("nan")))


@pytest.mark.parametrize("value", [(), {}])
def test_a_result_with_nothing_in_it_is_refused(value):
    with pytest.raises(UnusableResultError, match=r"tuple of 0|nothing in it"):
        find_layout(value, rows=4)


def test_shapes_read_as_people_write_them():
    assert format_shape((224, None, 3)) == "[224, any, 3]"


SHAPE = (32, 100, 100)


def place_of(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nobody_holds_it():
    buffers = BatchBuffers()
    array = buffers.array(SHAPE, np.dtype(np.float32))
    first = place_of(array)
    del array
    assert place_of(buffers.array(SHAPE, np.dtype(np.float32))) == first


@pytest.mark.parametrize(
    "kept_of",
    [lambda array: array[3:5], lambda array: array.T, memoryview, lambda a: a.reshape(-1)[::2]],
)
def test_memory_that_any_view_holds_is_left_alone(kept_of):
    buffers = BatchBuffers()
    array = buffers.array(SHAPE, np.dtype(np.uint8))
    array[...] = 7
    kept = kept_of(array)
    del array
    for _ in range(10):
        other = buffers.array(SHAPE, np.dtype(np.uint8))
        other[...] = 9
        del other
    assert (np.asarray(kept) == 7).all()


def test_arrays_that_are_held_are_all_different():
    buffers = BatchBuffers()
    held = [buffers.array(SHAPE, np.dtype(np.uint8)) for _ in range(20)]
    assert len({place_of(array) for array in held}) == 20
    assert all(place_of(array) % 64 == 0 for array in held)


@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtype(np.int64)])
def test_small_arrays_and_text_are_new_ones(dtype):
    array = BatchBuffers().array((4,), dtype)
    assert array.shape == (4,)
    assert array.dtype == dtype

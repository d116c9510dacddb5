import numpy as np
import pytest

from quickfit.data.workers.buffers import Buffers

SHAPE = (32, 100, 100)


def place_of(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nobody_holds_it():
    buffers = Buffers()
    array = buffers.array(SHAPE, np.dtype(np.float32))
    first = place_of(array)
    del array
    assert place_of(buffers.array(SHAPE, np.dtype(np.float32))) == first


@pytest.mark.parametrize(
    "kept_of",
    [lambda array: array[3:5], lambda array: array.T, memoryview, lambda a: a.reshape(-1)[::2]],
)
def test_memory_that_any_view_holds_is_left_alone(kept_of):
    buffers = Buffers()
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
    buffers = Buffers()
    held = [buffers.array(SHAPE, np.dtype(np.uint8)) for _ in range(20)]
    assert len({place_of(array) for array in held}) == 20
    assert all(place_of(array) % 64 == 0 for array in held)


@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtype(np.int64)])
def test_small_arrays_and_text_are_new_ones(dtype):
    array = Buffers().array((4,), dtype)
    assert array.shape == (4,)
    assert array.dtype == dtype

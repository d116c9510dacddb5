"""Decoded images come back as they were kept, from memory and from a file."""

import resource

import numpy as np
import pytest

from quickfit.data.imaging.store import File, Memory, Store
from quickfit.errors import PipelineError

SHAPE = (2, 3, 3)


def pictures(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *SHAPE)).astype(np.uint8)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    shelf = Memory(6) if request.param == "memory" else File(str(tmp_path), SHAPE)
    store = Store(shelf, 6)
    store.shelf = shelf  # somebody has to have it
    return store


def test_what_is_kept_can_be_read_in_any_order(store):
    images = pictures(6)
    store.keep(np.array([3, 1, 5]), images[[3, 1, 5]])
    store.keep(np.array([0, 2, 4]), images[[0, 2, 4]])

    assert np.array_equal(store.read(np.array([5, 0, 3, 3])), images[[5, 0, 3, 3]])


def test_it_is_usable_once_every_image_is_kept(store):
    images = pictures(6)
    store.keep(np.arange(5), images[:5])
    assert store.usable(()).tolist() == []

    store.keep(np.arange(3, 6), images[3:])
    assert store.usable(()).tolist() == [0, 1, 2, 3, 4, 5]


def test_it_does_not_wait_for_images_that_are_left_out(store):
    store.keep(np.array([0, 1, 3, 5]), pictures(4))

    assert store.usable({2, 4}).tolist() == [0, 1, 3, 5]


def test_an_image_that_comes_again_takes_no_more_room(store):
    first, second = pictures(6), pictures(6, seed=1)
    store.keep(np.arange(4), first[:4])
    store.keep(np.array([2, 3, 4, 5]), second[2:])

    expected = np.concatenate([first[:4], second[4:]])
    assert np.array_equal(store.read(np.arange(6)), expected)


def test_the_file_has_no_name(tmp_path):
    shelf = File(str(tmp_path), SHAPE)
    store = Store(shelf, 6)
    store.keep(np.arange(6), pictures(6))

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_grow_turns_the_store_off(tmp_path, capsys):
    shelf = File(str(tmp_path), SHAPE)
    store = Store(shelf, 6)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, hard))
    try:
        indices = store.keep(np.arange(6), pictures(6))
        store.keep(np.arange(6), pictures(6))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert indices.tolist() == [0, 1, 2, 3, 4, 5]
    assert store.usable(()).tolist() == []
    told = capsys.readouterr().err
    assert told.count("the cache of decoded images is off: File too large") == 1
    assert "training goes on" in told


def test_nothing_is_kept_for_a_dataset_that_is_gone():
    shelf = Memory(2)
    store = Store(shelf, 2)
    store.keep(np.arange(2), pictures(2))
    del shelf

    assert store.usable(()).tolist() == []
    assert store.keep(np.arange(2), pictures(2)).tolist() == [0, 1]
    with pytest.raises(PipelineError, match="Keep the dataset in a variable"):
        store.read(np.arange(2))


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PipelineError) as error:
        File(str(tmp_path / "gone"), SHAPE)

    assert "gone, cannot be written: No such file or directory" in str(error.value)
    assert "cache=None" in str(error.value)


def test_a_file_that_was_cut_is_told(tmp_path):
    file = File(str(tmp_path), SHAPE)

    with pytest.raises(PipelineError, match="ends at byte 36, although more was written"):
        file.read(np.array([2]))

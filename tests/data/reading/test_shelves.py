"""Room for decoded images."""

import gc

import numpy as np
import pytest

from quickfit.data.reading.shelves import Disk, Memory
from quickfit.errors import PipelineError

from open_files import open_below

SHAPE = (2, 3, 3)


@pytest.fixture(params=["memory", "disk"])
def shelf(request, tmp_path):
    return Memory(4, SHAPE) if request.param == "memory" else Disk(str(tmp_path), SHAPE)


def test_images_come_back_in_any_order(shelf):
    images = np.arange(4 * 18, dtype=np.uint8).reshape(4, *SHAPE)
    shelf.write(np.array([2, 0]), images[[2, 0]])
    shelf.write(np.array([3, 1]), images[[3, 1]])
    np.testing.assert_array_equal(shelf.read(np.array([3, 0, 1])), images[[3, 0, 1]])


def test_what_is_kept_does_not_change_with_a_batch(shelf):
    batch = np.ones((2, *SHAPE), np.uint8)
    shelf.write(np.array([0, 1]), batch)
    batch[:] = 7
    shelf.read(np.array([1, 0]))[:] = 9
    assert shelf.read(np.array([1])).max() == 1


def test_nothing_is_left_on_the_disk(tmp_path):
    shelf = Disk(str(tmp_path), SHAPE)
    shelf.write(np.array([0]), np.ones((1, *SHAPE), np.uint8))
    assert list(tmp_path.iterdir()) == []
    assert len(open_below(tmp_path)) == 1
    del shelf
    gc.collect()
    assert open_below(tmp_path) == []


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PipelineError, match=r"no file can be made in .*gone: No such file"):
        Disk(str(tmp_path / "gone"), SHAPE)


def test_a_file_that_lost_its_end_is_told(tmp_path):
    with pytest.raises(PipelineError, match="has become shorter"):
        Disk(str(tmp_path), SHAPE).read(np.array([5]))

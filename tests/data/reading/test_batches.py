"""Batches of a pack, without TensorFlow."""

import numpy as np
import pytest

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.packing import read_manifest
from quickfit.data.reading.batches import Batches, Epochs
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.pack_index import open_index
from quickfit.data.reading.shards import Shards
from quickfit.errors import PipelineError

from record_files import packed

SHAPE = (2, 2, 3)


class Rows:
    """Images full of where their record begins; some records are damaged."""

    def __init__(self, bad=()):
        self.bad = bad

    def fill(self, spot, out):
        if spot.offset in self.bad:
            raise SourceImageError(Reason.CORRUPT, "as the test wants it")
        out[...] = spot.offset % 251


@pytest.fixture
def index(tmp_path):
    pack = packed(tmp_path, classes={"cat": 4, "dog": 3})
    return open_index(pack, read_manifest(pack))


def batches(index, *, bad=(), skips=False):
    rows = Rows([int(index.offset[position]) for position in bad])
    return Batches(index, Shards(index), rows, shape=SHAPE, faults=Faults(skips=skips))


def test_each_image_is_in_the_row_of_its_position(index):
    wanted = np.array([5, 0, 3])
    images, used = batches(index).read(wanted)
    assert used.tolist() == [5, 0, 3]
    assert images[:, 0, 0, 0].tolist() == (index.offset[wanted] % 251).tolist()


def test_a_damaged_record_is_left_out_with_its_row(index):
    images, used = batches(index, bad=(0, 3), skips=True).read(np.array([5, 0, 3, 1]))
    assert used.tolist() == [5, 1]
    assert images[:, 1, 1, 2].tolist() == (index.offset[[5, 1]] % 251).tolist()


def test_a_batch_of_damaged_records_is_empty(index):
    images, used = batches(index, bad=(2,), skips=True).read(np.array([2]))
    assert images.shape == (0, *SHAPE)
    assert len(used) == 0


def test_a_damaged_record_is_an_error_with_shard_number_and_source(index):
    with pytest.raises(PipelineError) as caught:
        batches(index, bad=(3,)).read(np.arange(7))
    place = f"{index.files[0]}, record 3 ({index.path_of(3)})"
    assert str(caught.value).startswith(f"{place}: corrupt: as the test wants it.")
    assert f"quickfit pack --verify {index.folder}" in str(caught.value)


def test_epochs_differ_and_begin_again_with_the_seed():
    own = np.arange(3, 40)
    epochs = Epochs(own, 100, 5, seed=4)
    first, second = epochs.begin().tolist(), epochs.begin().tolist()
    assert first != second
    assert sorted(first) == sorted(second) == own.tolist()
    assert Epochs(own, 100, 5, seed=4).begin().tolist() == first


def test_without_a_window_the_order_stays():
    own = np.arange(3, 40)
    epochs = Epochs(own, 0, 5, seed=4)
    assert epochs.begin().tolist() == epochs.begin().tolist() == own.tolist()

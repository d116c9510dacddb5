"""Records of a pack, read at any place."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.packing import read_manifest
from quickfit.data.packing.example import parsed
from quickfit.data.reading import shards as shards_module
from quickfit.data.reading.pack_index import open_index
from quickfit.data.reading.shards import Shards

from open_files import open_below
from record_files import flipped, packed


@pytest.fixture
def index(tmp_path):
    pack = packed(tmp_path, "original", classes={"cat": 5, "dog": 4})
    return open_index(pack, read_manifest(pack))


def test_a_record_is_the_one_of_its_place(index):
    shards = Shards(index)
    for position, spot in enumerate(shards.spots(np.arange(9))):
        record = parsed(shards.content(spot))
        assert record.path == index.path_of(position)
        assert record.label == index.label[position]


def test_the_end_of_a_record_is_read_apart_from_what_stands_before(index):
    shards = Shards(index)
    (spot,) = shards.spots(np.array([3]))
    room = bytearray(100)
    start = shards.read_end(spot, memoryview(room))
    assert bytes(start + room) == shards.content(spot)


def test_many_threads_read_at_once(index):
    shards = Shards(index)
    spots = shards.spots(np.arange(9)) * 40
    with ThreadPoolExecutor(8) as threads:
        contents = list(threads.map(shards.content, spots))
    assert contents == [shards.content(spot) for spot in spots]


def test_packs_with_more_shards_than_files_may_be_open_are_read(index, monkeypatch):
    monkeypatch.setattr(shards_module, "_MOST_OPEN_FILES", 0)
    shards = Shards(index)
    (spot,) = shards.spots(np.array([0]))
    assert parsed(shards.content(spot)).path == index.path_of(0)
    assert open_below(index.folder) == []


def test_the_files_are_closed_when_nobody_reads_any_more(index):
    shards = Shards(index)
    shards.announce(np.arange(9))
    assert open_below(index.folder) == [str(index.files[0])]
    del shards
    gc.collect()
    assert open_below(index.folder) == []


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_changed_byte_is_found(index, at):
    shards = Shards(index)
    (spot,) = shards.spots(np.array([2]))
    flipped(index.files[0], spot.offset + 12 + (at if at >= 0 else spot.length - 1))
    with pytest.raises(SourceImageError, match="its bytes differ from its checksum") as caught:
        shards.content(spot)
    assert caught.value.reason is Reason.CORRUPT
    with pytest.raises(SourceImageError, match="its bytes differ from its checksum"):
        shards.read_end(spot, memoryview(bytearray(10)))


def test_a_shard_that_was_cut_meanwhile_is_found(index):
    shards = Shards(index)
    (spot,) = shards.spots(np.array([8]))
    os.truncate(index.files[0], spot.offset + 100)
    for read in (shards.content, lambda spot: shards.read_end(spot, memoryview(bytearray(9)))):
        with pytest.raises(SourceImageError, match="its shard ends inside it") as caught:
            read(spot)
        assert caught.value.reason is Reason.TRUNCATED


def test_a_shard_that_is_gone_is_told(index):
    index.files[0].unlink()
    shards = Shards(index)
    shards.announce(np.arange(9))
    with pytest.raises(SourceImageError, match="cannot be read: No such file") as caught:
        shards.content(shards.spots(np.array([0]))[0])
    assert caught.value.reason is Reason.UNREADABLE


def test_more_pixels_than_the_record_has_bytes_are_told(index):
    shards = Shards(index)
    (spot,) = shards.spots(np.array([0]))
    with pytest.raises(SourceImageError, match="too few for pixels"):
        shards.read_end(spot, memoryview(bytearray(spot.length + 1)))

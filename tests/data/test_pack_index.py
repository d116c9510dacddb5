"""The lists of a pack, held against its files."""

import dataclasses
import gc
import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from quickfit.data import pack_index as shards_module
from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.pack_index import ShardReader, check_shards, has_index, open_index
from quickfit.data.packing import read_manifest
from quickfit.data.tfrecord import parse_example
from quickfit.errors import PipelineError

from open_files import open_below
from record_files import flipped, packed


@pytest.fixture
def pack(tmp_path):
    return packed(tmp_path, classes={"cat": 4, "dog": 2}, shard_bytes=1_000_000)


def without_checksums(pack):
    return dataclasses.replace(read_manifest(pack), files={})


def lists(pack):
    return sorted((pack / "index").iterdir())


def test_every_record_is_where_the_list_says(pack):
    index = open_index(pack, read_manifest(pack))
    assert len(index) == 6
    assert sorted(index.label.tolist()) == [0, 0, 0, 0, 1, 1]
    lines = [json.loads(line) for file in lists(pack) for line in file.read_text().splitlines()]
    assert [index.path_of(position) for position in range(6)] == [line["path"] for line in lines]
    assert index.offset.tolist() == [line["offset"] for line in lines]


def test_a_record_is_named_by_its_shard_and_its_number_there(pack):
    index = open_index(pack, read_manifest(pack))
    assert index.place_of(3) == f"{index.files[0]}, record 3"


def test_a_changed_label_is_found(pack):
    (file,) = lists(pack)
    file.write_text(file.read_text().replace('"label":0', '"label":1', 1))
    with pytest.raises(PipelineError, match="differs from its checksum"):
        open_index(pack, read_manifest(pack))


def test_a_path_that_looks_like_the_rest_of_a_line_is_only_a_path(pack):
    (file,) = lists(pack)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["path"] = '","label":9,"sha256":"' + "0" * 64 + '","offset":1,"length":2}\n'
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    file.write_text(text)
    index = open_index(pack, without_checksums(pack))
    assert index.label[0] == lines[0]["label"]


def test_a_list_written_by_another_json_library_is_read_too(pack):
    (file,) = lists(pack)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    index = open_index(pack, without_checksums(pack))
    assert index.label.tolist() == [line["label"] for line in lines]


def test_a_list_of_other_records_is_an_error_that_names_it(pack):
    (file,) = lists(pack)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(PipelineError, match="does not list the 6 records") as caught:
        open_index(pack, without_checksums(pack))
    assert f"quickfit pack --verify {pack}" in str(caught.value)


@pytest.mark.parametrize("content", ["nonsense\n", "[1]\n", '{"label": "x"}\n', "\xff\n"])
def test_a_list_that_is_none_is_an_error_that_names_it(pack, content):
    (file,) = lists(pack)
    file.write_text(content, encoding="latin-1")
    with pytest.raises(PipelineError, match="cannot be read as a list of records"):
        open_index(pack, without_checksums(pack))


def test_a_pack_without_lists_says_so(pack):
    assert has_index(pack, read_manifest(pack))
    lists(pack)[0].unlink()
    assert not has_index(pack, read_manifest(pack))


def test_a_lost_shard_is_an_error_that_names_it(pack):
    shard = next(pack.glob("*.tfrecord"))
    shard.unlink()
    with pytest.raises(PipelineError, match=f"the shard {shard.name} is missing") as caught:
        check_shards(pack, read_manifest(pack))
    assert f"quickfit pack --verify {pack}" in str(caught.value)


def test_a_shard_of_another_size_is_an_error_that_tells_both(pack):
    shard = next(pack.glob("*.tfrecord"))
    shard.write_bytes(shard.read_bytes()[:-10])
    with pytest.raises(PipelineError, match=r"has [\d,]+ bytes and should have"):
        check_shards(pack, read_manifest(pack))


def test_a_shard_too_many_is_an_error_that_names_it(pack):
    (pack / "data-00007-of-00009.tfrecord").write_bytes(b"")
    with pytest.raises(PipelineError, match=r"data-00007-of-00009\.tfrecord is not in its"):
        check_shards(pack, read_manifest(pack))


@pytest.fixture
def index(tmp_path):
    pack = packed(tmp_path, "original", classes={"cat": 5, "dog": 4})
    return open_index(pack, read_manifest(pack))


def test_a_record_is_the_one_of_its_place(index):
    shards = ShardReader(index)
    for position, spot in enumerate(shards.spots(np.arange(9))):
        record = parse_example(shards.content(spot))
        assert record.path == index.path_of(position)
        assert record.label == index.label[position]


def test_the_end_of_a_record_is_read_apart_from_what_stands_before(index):
    shards = ShardReader(index)
    (spot,) = shards.spots(np.array([3]))
    room = bytearray(100)
    start = shards.read_end(spot, memoryview(room))
    assert bytes(start + room) == shards.content(spot)


def test_many_threads_read_at_once(index):
    shards = ShardReader(index)
    spots = shards.spots(np.arange(9)) * 40
    with ThreadPoolExecutor(8) as threads:
        contents = list(threads.map(shards.content, spots))
    assert contents == [shards.content(spot) for spot in spots]


def test_packs_with_more_shards_than_files_may_be_open_are_read(index, monkeypatch):
    monkeypatch.setattr(shards_module, "_MOST_OPEN_FILES", 0)
    shards = ShardReader(index)
    (spot,) = shards.spots(np.array([0]))
    assert parse_example(shards.content(spot)).path == index.path_of(0)
    assert open_below(index.folder) == []


def test_the_files_are_closed_when_nobody_reads_any_more(index):
    shards = ShardReader(index)
    shards.announce(np.arange(9))
    assert open_below(index.folder) == [str(index.files[0])]
    del shards
    gc.collect()
    assert open_below(index.folder) == []


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_changed_byte_is_found(index, at):
    shards = ShardReader(index)
    (spot,) = shards.spots(np.array([2]))
    flipped(index.files[0], spot.offset + 12 + (at if at >= 0 else spot.length - 1))
    with pytest.raises(SourceImageError, match="its bytes differ from its checksum") as caught:
        shards.content(spot)
    assert caught.value.reason is Reason.CORRUPT
    with pytest.raises(SourceImageError, match="its bytes differ from its checksum"):
        shards.read_end(spot, memoryview(bytearray(10)))


def test_a_shard_that_was_cut_meanwhile_is_found(index):
    shards = ShardReader(index)
    (spot,) = shards.spots(np.array([8]))
    os.truncate(index.files[0], spot.offset + 100)
    for read in (shards.content, lambda spot: shards.read_end(spot, memoryview(bytearray(9)))):
        with pytest.raises(SourceImageError, match="its shard ends inside it") as caught:
            read(spot)
        assert caught.value.reason is Reason.TRUNCATED


def test_a_shard_that_is_gone_is_told(index):
    index.files[0].unlink()
    shards = ShardReader(index)
    shards.announce(np.arange(9))
    with pytest.raises(SourceImageError, match="cannot be read: No such file") as caught:
        shards.content(shards.spots(np.array([0]))[0])
    assert caught.value.reason is Reason.UNREADABLE


def test_more_pixels_than_the_record_has_bytes_are_told(index):
    shards = ShardReader(index)
    (spot,) = shards.spots(np.array([0]))
    with pytest.raises(SourceImageError, match="too few for pixels"):
        shards.read_end(spot, memoryview(bytearray(spot.length + 1)))

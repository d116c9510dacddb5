"""The lists of a pack, held against its files."""

import dataclasses
import json

import pytest

from quickfit.data.packing import read_manifest
from quickfit.data.reading.pack_index import check_shards, has_index, open_index
from quickfit.errors import PipelineError

from record_files import packed


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

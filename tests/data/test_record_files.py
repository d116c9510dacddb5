"""What a user means by a folder, a pattern or a list."""

import gzip
import itertools
import json

import numpy as np
import pytest

from quickfit.data import record_files
from quickfit.data.entries import Reason
from quickfit.data.faults import RecordFaults
from quickfit.data.record_files import (
    UNKNOWN,
    FilePart,
    count_parts,
    files_of,
    pack_in,
    read_behind_damage,
    worker_parts,
)
from quickfit.data.tfrecord import is_remote
from quickfit.errors import PipelineError, UsageError

from record_files import flipped, frame, written


@pytest.fixture
def folder(tmp_path):
    for name in ("b.tfrecord", "a.tfrecord", "c-00000-of-00001.tfrec", ".hidden.tfrecord", "x.txt"):
        written(tmp_path / name, [b"x"])
    (tmp_path / "d.tfrecord").mkdir()
    return tmp_path


def names(files):
    return [file.rpartition("/")[2] for file in files]


def test_a_folder_is_its_record_files(folder):
    assert names(files_of(folder)) == ["a.tfrecord", "b.tfrecord", "c-00000-of-00001.tfrec"]


def test_a_pattern_is_what_it_matches(folder):
    assert names(files_of(str(folder / "[ab].*"))) == ["a.tfrecord", "b.tfrecord"]
    (folder / "deeper").mkdir()
    written(folder / "deeper" / "a.tfrecord", [b"x"])
    assert len(files_of(str(folder / "**" / "a.*"))) == 2


def test_a_list_keeps_its_order(folder):
    assert names(files_of([folder / "b.tfrecord", str(folder / "a.tfrecord")])) == [
        "b.tfrecord",
        "a.tfrecord",
    ]


def test_a_file_with_the_letters_of_a_pattern_in_its_name_is_a_file(tmp_path):
    file = written(tmp_path / "a[1]*.tfrecord", [b"x"])
    assert files_of(str(file)) == [str(file)]


def test_a_pattern_without_files_is_told_with_what_is_there(folder):
    with pytest.raises(PipelineError) as caught:
        files_of(str(folder / "train-*"))
    assert f"{folder}/train-*: no file matches this pattern." in str(caught.value)
    assert f"{folder} holds '.hidden.tfrecord', 'a.tfrecord'" in str(caught.value)
    assert "and 1 more." in str(caught.value)


def test_a_missing_folder_is_told_with_what_is_there(tmp_path):
    with pytest.raises(PipelineError) as caught:
        files_of(str(tmp_path / "no" / "such"))
    assert "no/such: there is no such file or folder." in str(caught.value)
    assert f"{tmp_path} is empty." in str(caught.value)


def test_a_folder_of_images_is_told_to_be_packed(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(PipelineError, match="holds no TFRecord files") as caught:
        files_of(tmp_path)
    assert f"quickfit pack {tmp_path} DST" in str(caught.value)


def test_a_missing_file_of_a_list_is_named(folder):
    with pytest.raises(PipelineError, match=r"z: there is no such file \(1 of the 2 files"):
        files_of([folder / "a.tfrecord", folder / "z"])
    with pytest.raises(PipelineError, match="the list of files is empty"):
        files_of([])


def test_a_folder_in_a_list_is_told(folder):
    with pytest.raises(UsageError, match="is a folder, and a list must name files"):
        files_of([folder / "a.tfrecord", folder])


def test_an_array_of_names_is_a_list(folder):
    names_of_files = np.array([str(folder / "b.tfrecord"), str(folder / "a.tfrecord")])
    assert names(files_of(names_of_files)) == ["b.tfrecord", "a.tfrecord"]


@pytest.mark.parametrize("where", [5, None, b"x", {"a": 1}, [1, 2]])
def test_what_names_no_files_is_refused(where):
    with pytest.raises(UsageError, match="give a pack, a folder, a pattern"):
        files_of(where)


def test_a_pack_is_known_by_its_manifest(tmp_path):
    assert pack_in(tmp_path) is None
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "quickfit pack"}))
    assert pack_in(str(tmp_path)) == tmp_path
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "of somebody else"}))
    assert pack_in(tmp_path) is None


def test_a_pack_with_a_damaged_manifest_is_still_one(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    assert pack_in(tmp_path) == tmp_path


def test_a_pack_that_is_not_finished_is_one(tmp_path):
    (tmp_path / ".partial").mkdir()
    (tmp_path / ".partial" / "plan.json").write_text("{}")
    assert pack_in(tmp_path) == tmp_path


def test_addresses_are_left_to_tensorflow(tmp_path):
    assert is_remote("gs://bucket/*.tfrecord")
    assert not is_remote(str(tmp_path))
    assert pack_in("gs://bucket/pack") is None
    assert pack_in([tmp_path]) is None


@pytest.mark.parametrize("counts", [[5], [5, 6, 7], [1, 1, 1, 1, 1], [9, 0, 4, 4]])
@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_every_record_is_one_workers(counts, workers):
    parts = [FilePart(str(number), "", count) for number, count in enumerate(counts)]
    seen = []
    for index in range(workers):
        own = worker_parts(parts, (index, workers))
        for part in own:
            records = range(part.start, part.count, part.step)
            assert part.own_count == len(records)
            seen.extend((part.file, record) for record in records)
    everything = [(str(n), r) for n, count in enumerate(counts) for r in range(count)]
    assert sorted(seen) == sorted(everything)


def test_workers_get_whole_files_where_there_are_enough():
    parts = [FilePart(str(number), "", 10) for number in range(6)]
    assert [part.file for part in worker_parts(parts, (1, 3))] == ["1", "4"]


def test_leftover_files_are_shared_evenly():
    parts = [FilePart(str(number), "", 6) for number in range(4)]
    sizes = [sum(part.own_count for part in worker_parts(parts, (index, 5))) for index in range(5)]
    assert max(sizes) - min(sizes) <= 1


def test_files_are_counted(tmp_path):
    files = [str(written(tmp_path / str(n), [b"x"] * n)) for n in range(4)]
    known = count_parts([FilePart(file, "") for file in files], RecordFaults(skips=False))
    assert [part.count for part in known] == [0, 1, 2, 3]


def test_many_records_are_not_counted_unless_damaged_ones_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(record_files, "_MOST_COUNTED", 4)
    parts = [FilePart(str(written(tmp_path / str(n), [b"x"] * 3)), "") for n in range(2)]
    assert [part.count for part in count_parts(parts, RecordFaults(skips=False))] == [
        UNKNOWN,
        UNKNOWN,
    ]
    assert [part.count for part in count_parts(parts, RecordFaults(skips=True))] == [3, 3]


@pytest.fixture
def damaged(tmp_path):
    contents = [b"%03d" % number for number in range(8)]
    file = written(tmp_path / "a", contents)
    for number in (2, 5):
        flipped(file, len(frame(contents[0])) * number + 13)
    return str(file)


def test_records_behind_the_first_damaged_one_are_found(damaged):
    faults = RecordFaults(skips=True)
    assert read_behind_damage(damaged, "", faults) == [b"003", b"004", b"006", b"007"]
    names = [rejection.name for rejection in faults.rejections]
    assert names == [f"{damaged}, record 2", f"{damaged}, record 5"]


def test_the_first_damaged_record_is_named(damaged):
    with pytest.raises(PipelineError, match="record 2: corrupt: its bytes differ"):
        read_behind_damage(damaged, "", RecordFaults(skips=False))


def test_a_file_that_is_whole_now_is_told_apart(tmp_path):
    file = str(written(tmp_path / "a", [b"x"]))
    with pytest.raises(PipelineError, match="could not be read when its turn came"):
        read_behind_damage(file, "", RecordFaults(skips=False))
    assert list(itertools.chain(read_behind_damage(file, "", RecordFaults(skips=True)))) == []


@pytest.mark.parametrize(("compression", "of_what"), [("", ""), ("GZIP", " of its uncompressed")])
def test_how_much_of_a_file_is_lost_is_told(tmp_path, compression, of_what):
    whole = [frame(b"first"), frame(b"second"), frame(b"third")]
    whole[1] = b"\xff" + whole[1][1:]
    squeeze = gzip.compress if compression else bytes
    (tmp_path / "a").write_bytes(squeeze(b"".join(whole)))
    faults = RecordFaults(skips=True)
    assert count_parts([FilePart(str(tmp_path / "a"), compression)], faults)[0].count == 1
    (found,) = faults.rejections
    assert found.reason is Reason.CORRUPT
    assert f"the rest of this file, from byte {len(whole[0])}{of_what}" in found.detail
    assert found.detail.endswith(" on, could not be read")

"""What a user means by a folder, a pattern or a list."""

import json

import numpy as np
import pytest

from quickfit.data.reading.files import files_of, is_remote, pack_in
from quickfit.errors import PipelineError, UsageError

from record_files import written


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

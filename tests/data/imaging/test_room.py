"""Where decoded images are cached follows from what is free."""

import tempfile
from pathlib import Path

import pytest

from quickfit.data.imaging.room import (
    free_disk_bytes,
    place_for,
)
from quickfit.errors import PipelineError, UsageError


def test_a_little_is_kept_in_memory():
    place = place_for("auto", 1000)

    assert place.kind == "memory"
    assert place.reason.startswith("cached in memory (1.0 kB of ")


def test_too_much_for_memory_and_disk_is_not_cached():
    place = place_for("auto", 10**18)

    assert place.kind == "none"
    assert place.reason.startswith("not cached (1,000,000 TB would be needed; ")
    assert "of memory and" in place.reason


@pytest.mark.parametrize("cache", [None, False, "none"])
def test_no_cache_is_no_cache(cache):
    assert place_for(cache, 1000).reason == "not cached"


def test_memory_and_disk_can_be_asked_for():
    assert place_for("memory", 1000).kind == "memory"
    assert place_for("disk", 1000).kind == "disk"
    assert free_disk_bytes(place_for("disk", 1000).folder) > 0
    assert Path(tempfile.gettempdir()).exists()


def test_more_than_there_is_memory_is_told():
    with pytest.raises(PipelineError) as error:
        place_for("memory", 10**18)

    assert "the decoded images take 1,000,000 TB, and " in str(error.value)
    assert "Give cache='auto' or cache='disk'" in str(error.value)


@pytest.mark.parametrize("name", ["disk", "folder"])
def test_more_than_there_is_disk_is_told_before_a_folder_is_made(tmp_path, name):
    cache = name if name == "disk" else tmp_path / name
    with pytest.raises(PipelineError) as error:
        place_for(cache, 10**18)

    assert "the decoded images take 1,000,000 TB, and " in str(error.value)
    assert "are free in " in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_made(tmp_path):
    place = place_for(tmp_path / "new", 1000)

    assert place.folder == str(tmp_path / "new")
    assert Path(place.folder).is_dir()
    assert f"cached in a file in {place.folder}" in place.reason


def test_a_word_is_no_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as error:
        place_for("Memory", 1000)

    assert "cache='Memory'): give 'auto', 'memory', 'disk', a folder, or None" in str(error.value)
    assert "A new folder of that name is cache='./Memory'" in str(error.value)
    assert not list(tmp_path.iterdir())
    assert place_for("./Memory", 1000).folder == str(tmp_path / "Memory")
    assert place_for("Memory", 1000).folder == str(tmp_path / "Memory")


@pytest.mark.parametrize("around", ["not_there", "file"])
def test_a_folder_in_a_folder_that_is_not_there_is_told(tmp_path, around):
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError) as error:
        place_for(str(tmp_path / around / "cache"), 1000)

    assert f"there is no folder {tmp_path / around} to make it in" in str(error.value)
    assert not (tmp_path / "not_there").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(PipelineError, match="cannot be made: File exists"):
        place_for(tmp_path / "file", 1000)


@pytest.mark.parametrize("cache", [True, 3])
def test_what_is_no_place_is_told(cache):
    with pytest.raises(UsageError, match="give 'auto', 'memory', 'disk', a folder, or None"):
        place_for(cache, 1000)

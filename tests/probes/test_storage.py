"""Folders that are read from, and the file systems they lie on."""

import sys

import pytest

from quickfit.probes import storage
from quickfit.probes._system_files import Mount
from quickfit.probes.storage import DataFolders, file_system_of, is_data

linux = pytest.mark.skipif(sys.platform != "linux", reason="open files are listed by Linux only")


@pytest.mark.parametrize(
    "path",
    [
        "/data/train-0001.tfrecord",
        "/home/me/images/cat 1.jpg",
        "/mnt/nfs/set.h5",
    ],
)
def test_what_is_read_may_be_data(path):
    assert is_data(path)


@pytest.mark.parametrize(
    "path",
    [
        "pipe:[123]",
        "socket:[9]",
        "anon_inode:[eventpoll]",
        "/dev/null",
        "/proc/self/maps",
        "/opt/lib/libx.so",
        "/opt/lib/libx.so.1.2",
        "/home/me/train.py",
        "/venv/lib/python3.11/site-packages/certifi/cacert.pem",
        "/data/gone.bin (deleted)",
        "/memfd:x (deleted)",
    ],
)
def test_code_devices_and_pipes_are_no_data(path):
    assert not is_data(path)


MOUNTS = [
    Mount("/", "/", "overlay", "rw"),
    Mount("/", "/mnt/data", "ext4", "rw"),
    Mount("/x", "/mnt/data", "nfs4", "rw"),
    Mount("/", "/mnt/data/cache", "tmpfs", "rw"),
]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        pytest.param("/home/me", "overlay", id="the root"),
        pytest.param("/mnt/data", "nfs4", id="a later mount hides the first"),
        pytest.param("/mnt/data/cache/a", "tmpfs", id="the longest point"),
        pytest.param("/mnt/database", "overlay", id="not by the letters alone"),
    ],
)
def test_the_innermost_mount_tells_the_file_system(folder, kind):
    assert file_system_of(folder, MOUNTS) == kind
    assert file_system_of(folder, []) == "unknown"


@pytest.fixture
def look(state):
    """Look once and return what was recorded of a folder."""
    folders = DataFolders()

    def once(folder):
        folders.look(state)
        return [row for row in state.writer.rows("data_folders") if row[0] == str(folder)]

    return once


@linux
def test_a_file_that_is_read_is_recorded_with_its_folder(look, tmp_path):
    data = tmp_path / "a set"
    data.mkdir()
    for name in ("one.bin", "two.bin", "three.bin"):
        (data / name).write_bytes(b"12345")
    with (data / "one.bin").open("rb"), (data / "two.bin").open("rb"):
        rows = look(data)
        assert look(data) == rows, "nothing new"
    with (data / "three.bin").open("rb"), (data / "one.bin").open("rb"):
        rows = look(data)
    assert [row[2:] for row in rows] == [(2, 10), (3, 15)]
    assert rows[0][1] not in ("", "unknown")


@linux
def test_a_file_that_is_written_is_no_data(look, tmp_path):
    with (tmp_path / "log").open("wb"), (tmp_path / "both").open("w+b"):
        assert look(tmp_path) == []


@linux
def test_the_recording_itself_is_no_data(state, look, tmp_path):
    (tmp_path / "1.sqlite").write_bytes(b"x")
    state.writer.folder = tmp_path
    with (tmp_path / "1.sqlite").open("rb"):
        assert look(tmp_path) == []


@linux
def test_folders_and_files_are_bounded(state, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_FOLDERS", 2)
    monkeypatch.setattr(storage, "MAX_FILES", 3)
    folders = DataFolders()
    for place in range(4):
        (tmp_path / str(place)).mkdir()
        for name in ("a", "b"):
            path = tmp_path / str(place) / name
            path.write_bytes(b"")
            with path.open("rb"):
                folders.look(state)
    own = [n for n in folders.folders if n.startswith(str(tmp_path))]
    assert len(folders.folders) <= 2
    assert len(own) <= 2
    assert len(folders._files) <= 3


def test_a_system_without_such_a_folder_has_no_data_folders(state, monkeypatch):
    def nothing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(storage, "names_in", nothing)
    DataFolders().look(state)
    assert state.writer.rows("data_folders") == []

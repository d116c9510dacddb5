"""Paths that libraries write past Python are looked up in the shadow; stand-ins for TensorFlow.

Real TensorFlow is tried in `test_fix_real.py`.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.lab.sandbox import savers
from quickfit.lab.sandbox import shadow as shadow_module
from quickfit.lab.sandbox.shadow import Shadow


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "model.h5").write_text("precious")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def shadow(home, tmp_path):
    return Shadow(str(tmp_path / "scratch"))


def patched(shadow, name, **members):
    module = SimpleNamespace(**members)
    savers.patches(shadow)[name](module)
    return module


def seen(*args, **keywords):
    return args, keywords


def test_a_summary_writer_writes_to_scratch_however_it_is_told_where(shadow, home):
    module = patched(
        shadow,
        "tensorflow.python.ops.summary_ops_v2",
        create_file_writer_v2=seen,
        create_file_writer=seen,
    )
    twin = shadow.twin(str(home / "logs"))
    assert module.create_file_writer_v2("logs", 10) == ((twin, 10), {})
    assert module.create_file_writer_v2(logdir="logs") == ((), {"logdir": twin})
    assert module.create_file_writer(max_queue=1) == ((), {"max_queue": 1})


def test_a_saver_of_checkpoints_keeps_its_other_arguments(shadow, home):
    class TrackableSaver:
        def save(self, file_prefix, number=None):
            return file_prefix, number

    module = patched(
        shadow, "tensorflow.python.checkpoint.checkpoint", TrackableSaver=TrackableSaver
    )
    twin = shadow.twin(str(home / "ckpt"))
    assert module.TrackableSaver().save("ckpt", 3) == (twin, 3)
    assert module.TrackableSaver().save(file_prefix="ckpt") == (twin, None)


def test_the_newest_checkpoint_is_the_trials_where_it_has_one(shadow, home):
    class CheckpointManager:
        def __init__(self, checkpoint, directory, max_to_keep):
            self.directory = directory

    module = patched(
        shadow,
        "tensorflow.python.checkpoint.checkpoint_management",
        CheckpointManager=CheckpointManager,
        latest_checkpoint=seen,
    )
    assert module.latest_checkpoint("ckpts") == (("ckpts",), {})
    twin = shadow.twin(str(home / "ckpts"))
    assert module.CheckpointManager(None, "ckpts", 3).directory == twin
    shadow.saved("ckpts/x")
    assert module.latest_checkpoint("ckpts") == ((twin,), {})


def test_a_complete_cache_of_the_user_is_read_and_a_new_one_is_ours(shadow, home):
    class DatasetV2:
        def cache(self, filename=""):
            return filename

    module = patched(shadow, "tensorflow.python.data.ops.dataset_ops", DatasetV2=DatasetV2)
    dataset = module.DatasetV2()
    assert dataset.cache() == ""
    assert dataset.cache("") == ""
    assert dataset.cache("cache[1]") == shadow.twin(str(home / "cache[1]"))
    (home / "cache[1]_0.index").write_text("")
    assert dataset.cache("cache[1]") == "cache[1]"


class FileIO:
    """TensorFlow's own functions on files: they say what they were called with."""

    def __getattr__(self, name):
        return lambda *args: (name, *args)


def file_io(shadow):
    return patched(
        shadow, "tensorflow.python.lib.io.file_io", _pywrap_file_io=FileIO()
    )._pywrap_file_io


def test_tensorflows_files_are_written_apart_and_read_from_there(shadow, home):
    module, twin = file_io(shadow), shadow.twin(str(home / "new.txt"))
    assert module.FileExists("new.txt") == ("FileExists", "new.txt")
    assert module.WritableFile("new.txt", "w") == ("WritableFile", twin, "w")
    open(twin, "w").close()
    assert module.FileExists("new.txt") == ("FileExists", twin)
    assert module.RenameFile("new.txt", "b.txt", True) == (
        *("RenameFile", twin, shadow.twin(str(home / "b.txt"))),
        True,
    )
    assert module.CopyFile("model.h5", "c.h5", True) == (
        *("CopyFile", "model.h5", shadow.twin(str(home / "c.h5"))),
        True,
    )
    assert module.SomethingElse("x") == ("SomethingElse", "x")


def test_tensorflow_deletes_what_is_the_trials_and_nothing_else(shadow, home, monkeypatch):
    deleted = []

    class Deleting(FileIO):
        def DeleteFile(self, path):  # noqa: N802
            deleted.append(path)

        DeleteRecursively = DeleteFile

    module = patched(
        shadow, "tensorflow.python.lib.io.file_io", _pywrap_file_io=Deleting()
    )._pywrap_file_io
    monkeypatch.setattr(shadow_module, "is_saver", lambda frame: True)
    module.DeleteFile("model.h5")
    module.DeleteRecursively(str(home))
    assert deleted == []
    twin = shadow.to_write("new.txt")
    open(twin, "w").close()
    module.DeleteFile("new.txt")
    assert deleted == [twin]


def test_hdf5_files_are_opened_where_the_trial_has_them(shadow, home, monkeypatch):
    class File:
        def __init__(self, name, mode="r", **keywords):
            self.opened = name, mode

    module = patched(shadow, "h5py._hl.files", File=File)
    twin = shadow.twin(str(home / "model.h5"))
    assert module.File("model.h5").opened == ("model.h5", "r")
    monkeypatch.setattr(shadow_module, "is_saver", lambda frame: True)
    assert module.File("model.h5", "a").opened == (twin, "a")
    assert Path(twin).read_text() == "precious"
    handle = object()
    assert module.File(handle, "w").opened == (handle, "w")


def test_every_tracker_variable_can_be_filled_in():
    for value in savers.TRACKERS.values():
        assert "{" not in value.format(scratch="/s")

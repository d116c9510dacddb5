"""The folder of a result."""

import os

import numpy as np
import pytest

from compression import models
from quickfit.compression.shrinking import output_folder as folders
from quickfit.compression.shrinking.output_folder import ResultFolder, check_folder
from quickfit.errors import UsageError


def test_a_folder_is_made_and_an_earlier_result_is_kept(tmp_path):
    out = tmp_path / "new" / "result"
    ResultFolder(out).write("report.md", "first")
    with pytest.raises(UsageError, match=r"an earlier result in it \(report\.md, candidates\)"):
        ResultFolder(out)
    assert (out / "report.md").read_text() == "first"


def test_force_replaces_what_is_ours_and_nothing_else(tmp_path):
    ResultFolder(tmp_path).write("report.md", "first")
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / "candidates" / "old.keras").write_text("old")
    (tmp_path / "candidates" / "notes.txt").write_text("mine")
    ResultFolder(tmp_path, replaces=True)
    assert not (tmp_path / "report.md").exists()
    assert [one.name for one in (tmp_path / "candidates").iterdir()] == ["notes.txt"]
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "model.keras"
    path.touch()
    with pytest.raises(UsageError, match="this is a file"):
        check_folder(path, replaces=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="nothing may be written to"):
        check_folder(tmp_path / "out", replaces=False)


def test_a_folder_below_a_file_is_said(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(UsageError, match=r"a is a file, so there can be no folder in it"):
        ResultFolder(tmp_path / "a" / "b")


def test_too_little_room_is_said_before_the_work(tmp_path):
    folder = ResultFolder(tmp_path)
    folder.check_room(1)
    with pytest.raises(UsageError, match=r"too little room on the disk: .* are free, and the mod"):
        folder.check_room(10**15)


def test_a_folder_that_goes_away_is_removed():
    folder = ResultFolder(None)
    path = folder.path
    assert path.is_dir()
    folder.remove()
    assert not path.exists()


def test_a_folder_of_the_users_is_never_removed(tmp_path):
    ResultFolder(tmp_path).remove()
    assert tmp_path.is_dir()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    import keras

    model = models.sequential()
    model.compile("adam", "sparse_categorical_crossentropy")
    folder, path = ResultFolder(tmp_path), tmp_path / "small.keras"
    folder.save(model, path)
    found = keras.saving.load_model(path)
    assert not found.compiled
    data = models.data_for(model)
    np.testing.assert_array_equal(found(data), model(data))

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders.os, "replace", fails)
    with pytest.raises(UsageError, match="the disk is full"):
        folder.save(model, tmp_path / "other.keras")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["candidates", "small.keras"]

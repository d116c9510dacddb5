"""Where a run is recorded."""

import shutil
from pathlib import Path

import pytest

from quickfit.errors import UsageError
from quickfit.launch import place as places
from quickfit.launch.process import Ending
from quickfit.launch.target import Target
from quickfit.recording import folder as folders

TARGET = Target(script="train.py", args=("--x",))


def test_by_default_below_the_working_directory_and_out_of_git(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = places.prepare(TARGET, None)
    assert place.folder.parent == tmp_path / ".quickfit" / "runs"
    assert place.shown.startswith(".quickfit/runs/train-")
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "*\n"
    assert folders.read_run_file(place.folder)["argv"] == ["--x"]


def test_a_folder_that_is_taken_is_refused(tmp_path):
    (tmp_path / "run.qfrun").mkdir()
    (tmp_path / "run.qfrun" / "x").write_text("")
    with pytest.raises(UsageError, match="already exists"):
        places.prepare(TARGET, tmp_path / "run.qfrun")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make the folder of the recording"):
        places.prepare(TARGET, tmp_path / "file" / "run.qfrun")


def test_how_the_script_ended_is_written_down(tmp_path):
    place = places.prepare(TARGET, tmp_path / "run.qfrun")
    place.note_end(Ending(None, 11))
    facts = folders.read_run_file(place.folder)
    assert (facts["exit_code"], facts["signal"]) == (None, "SIGSEGV")
    assert facts["ended_at"] >= facts["started_at"]


def test_on_a_network_file_system_it_is_recorded_here_and_copied_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "is_on_network", lambda path: True)
    place = places.prepare(TARGET, tmp_path / "run.qfrun")
    local = place.working
    assert local != place.folder
    assert folders.read_run_file(place.folder)["recorded_in"] == str(local)
    (local / "1.sqlite").write_text("data")
    place.note_end(Ending(0))
    place.settle()
    assert (tmp_path / "run.qfrun" / "1.sqlite").read_text() == "data"
    assert folders.read_run_file(tmp_path / "run.qfrun")["exit_code"] == 0
    assert not local.exists()


def test_a_copy_that_fails_leaves_the_recording_where_it_is(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(folders, "is_on_network", lambda path: True)
    place = places.prepare(TARGET, tmp_path / "run.qfrun")
    shutil.rmtree(tmp_path / "run.qfrun")
    (tmp_path / "run.qfrun").write_text("in the way")
    place.settle()
    assert place.folder == place.working
    assert f"it is in {place.working}" in capfd.readouterr().err
    shutil.rmtree(place.working)


def test_a_folder_that_vanishes_does_not_end_the_run(tmp_path, capfd):
    place = places.prepare(TARGET, tmp_path / "run.qfrun")
    shutil.rmtree(place.folder)
    place.note(pid=3)
    assert "cannot write to" in capfd.readouterr().err


def test_a_folder_elsewhere_is_shown_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(Path("/"))
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    assert places.prepare(TARGET, tmp_path / "run.qfrun").shown == str(tmp_path / "run.qfrun")

import fcntl
import os
import shutil

import pytest

from quickfit.data import pack
from quickfit.data.packing import destination
from quickfit.errors import PipelineError, UsageError

SMALL = {"shard_bytes": 20_000, "progress": False}


def test_a_folder_with_other_things_in_it_is_not_touched(photos, tmp_path, content_of):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "data-00000-of-00001.tfrecord").write_text("someone else's")
    for restart in (False, True):
        with pytest.raises(UsageError, match=r"other things in it \(data-.*thesis\.tex\)") as error:
            pack(photos, tmp_path, restart=restart, progress=False)
        assert "is no pack" in str(error.value)
    assert set(content_of(tmp_path)) == {"thesis.tex", "data-00000-of-00001.tfrecord"}


def test_record_files_of_others_are_not_overwritten(photos, tmp_path, content_of):
    (tmp_path / "data-00000-of-00001.tfrecord").write_text("someone else's")
    (tmp_path / "rejected.jsonl").write_text('{"mine": 1}\n')
    for restart in (False, True):
        with pytest.raises(UsageError, match="other things in it"):
            pack(photos, tmp_path, restart=restart, progress=False)
    (tmp_path / "data-00000-of-00001.tfrecord").unlink()
    with pytest.raises(UsageError, match="other things in it"):
        pack(photos, tmp_path, progress=False)
    assert content_of(tmp_path) == {"rejected.jsonl": b'{"mine": 1}\n'}


def test_a_restart_that_was_killed_can_be_repeated(photos, tmp_path, content_of, monkeypatch):
    pack(photos, tmp_path / "whole", seed=5, **SMALL)
    pack(photos, tmp_path / "pack", **SMALL)
    monkeypatch.setattr(
        destination, "_remove_empty_folder", lambda folder: 1 / 0
    )  # as a kill in clear()
    with pytest.raises(ZeroDivisionError):
        pack(photos, tmp_path / "pack", seed=5, restart=True, **SMALL)
    monkeypatch.undo()
    with pytest.raises(PipelineError, match="a restart of this pack was interrupted"):
        pack(photos, tmp_path / "pack", seed=5, **SMALL)
    pack(photos, tmp_path / "pack", seed=5, restart=True, **SMALL)
    assert content_of(tmp_path / "pack") == content_of(tmp_path / "whole")


def test_a_pack_that_was_killed_at_its_very_end_is_finished(photos, tmp_path, content_of):
    pack(photos, tmp_path / "pack", **SMALL)
    whole = content_of(tmp_path / "pack")
    (tmp_path / "pack" / ".partial").mkdir()
    (tmp_path / "pack" / ".partial" / "plan.json").write_text("{}")
    assert pack(photos, tmp_path / "pack", **SMALL).was_there
    assert content_of(tmp_path / "pack") == whole


def test_a_destination_that_is_a_file_is_said(photos, tmp_path):
    (tmp_path / "pack").write_text("")
    with pytest.raises(UsageError, match="cannot be written there: File exists"):
        pack(photos, tmp_path / "pack", progress=False)


def test_restarting_removes_what_a_pack_wrote_and_nothing_else(photos, tmp_path, content_of, begun):
    pack(photos, tmp_path / "whole", seed=5, **SMALL)
    begun(photos, tmp_path / "pack")
    (tmp_path / "pack" / "notes.txt").write_text("mine")
    (tmp_path / "pack" / "index" / "notes.txt").write_text("mine")
    pack(photos, tmp_path / "pack", seed=5, restart=True, **SMALL)
    mine = {"notes.txt": b"mine", "index/notes.txt": b"mine"}
    assert content_of(tmp_path / "pack") == content_of(tmp_path / "whole") | mine


def test_two_packs_do_not_write_to_one_folder(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(destination, "_LOCK_WAIT_S", -1.0)
    (tmp_path / "pack").mkdir()
    descriptor = os.open(tmp_path / "pack", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(PipelineError, match="another quickfit pack is writing to this folder"):
        pack(photos, tmp_path / "pack", progress=False)
    os.close(descriptor)
    assert pack(photos, tmp_path / "pack", progress=False).count == 40


def test_a_damaged_shard_of_a_begun_pack_is_made_again(photos, tmp_path, content_of, begun):
    pack(photos, tmp_path / "whole", **SMALL)
    layout = begun(photos, tmp_path / "pack")
    first = next(layout.folder.glob("*.tfrecord"))
    first.write_bytes(first.read_bytes()[:-1] + b"?")
    pack(photos, tmp_path / "pack", **SMALL)
    assert content_of(tmp_path / "pack") == content_of(tmp_path / "whole")


def test_a_folder_nobody_may_write_to_is_said(photos, tmp_path, monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    with pytest.raises(UsageError, match="cannot be written there: Permission denied"):
        pack(photos, tmp_path / "pack", progress=False)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("left", [("index",), (".partial",), ("index", ".partial")])
def test_a_pack_that_was_stopped_at_once_goes_on(photos, tmp_path, left, restart):
    for name in left:
        (tmp_path / "pack" / name).mkdir(parents=True)
    if ".partial" in left:
        (tmp_path / "pack" / ".partial" / "sources.jsonl.7.writing").write_text("half")
    assert pack(photos, tmp_path / "pack", restart=restart, progress=False).count == 40


@pytest.mark.parametrize("name", ["index/mine.txt", ".partial/mine.txt"])
def test_folders_of_others_with_our_names_are_not_touched(photos, tmp_path, name, content_of):
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("mine")
    for restart in (False, True):
        with pytest.raises(UsageError, match="other things in it"):
            pack(photos, tmp_path, restart=restart, progress=False)
    assert content_of(tmp_path) == {name: b"mine"}


def test_a_disk_without_room_leaves_nothing_in_the_folder(photos, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(PipelineError, match="the pack needs about"):
        pack(photos, tmp_path / "pack", progress=False)
    assert os.listdir(tmp_path / "pack") == []
    monkeypatch.undo()
    assert pack(photos, tmp_path / "pack", progress=False).count == 40


def test_waiting_for_another_pack_is_told_at_once(photos, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(destination, "_LOCK_WAIT_S", 0.1)
    (tmp_path / "pack").mkdir()
    descriptor = os.open(tmp_path / "pack", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(PipelineError, match="another quickfit pack is writing"):
        pack(photos, tmp_path / "pack")
    os.close(descriptor)
    told = "quickfit: waiting for another quickfit pack that writes to this folder (up to"
    assert capsys.readouterr().err.count(told) == 1


def test_a_folder_without_a_name_is_said(photos):
    with pytest.raises(UsageError, match="the name of the pack's folder is empty"):
        pack(photos, "", progress=False)

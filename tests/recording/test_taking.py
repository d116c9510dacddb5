"""A recording is copied without a link being followed, a pipe waited for or a device read."""

import os
import sqlite3
import sys
from contextlib import closing

import pytest

from quickfit.recording import taking
from quickfit.recording.reader import read
from quickfit.recording.taking import Source, take
from quickfit.recording.writer import Writer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX")


@pytest.fixture
def places(tmp_path):
    for name in ("run.qfrun", "taken.qfrun", "user"):
        (tmp_path / name).mkdir()
    (tmp_path / "user" / "secret.txt").write_text("secret")
    return tmp_path / "run.qfrun", tmp_path / "taken.qfrun", tmp_path / "user"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_recording_is_taken_whole(record, places):
    run, taken, _ = places
    file = record(run)
    take(run, taken)
    assert len(read(taken).main.rows("steps")) == len(read(run).main.rows("steps")) > 0
    assert (taken / file.name).stat().st_mode & 0o777 == 0o600


def test_nothing_but_its_own_ordinary_files_is_taken(places):
    run, taken, user = places
    (run / "1.sqlite").write_bytes(b"ours")
    (run / "1.sqlite-wal").symlink_to(user / "secret.txt")
    (run / "2.sqlite").symlink_to(user / "secret.txt")
    os.mkfifo(run / "3.sqlite")
    (run / "4.sqlite").symlink_to("/dev/zero")
    (run / "5.sqlite").mkdir()
    (run / "run.json").symlink_to(user / "secret.txt")
    (run / "folder").symlink_to(user)
    take(run, taken)
    assert names(taken) == ["1.sqlite"]


def test_a_folder_that_is_a_link_is_not_taken(places):
    run, taken, user = places
    (user / "1.sqlite").write_bytes(b"the user's")
    run.rmdir()
    run.symlink_to(user)
    with pytest.raises(OSError, match=str(run)):
        take(run, taken)
    assert names(taken) == []


def test_a_folder_that_is_replaced_later_is_not_followed(places):
    run, taken, user = places
    (run / "1.sqlite").write_bytes(b"ours")
    (user / "2.sqlite").write_bytes(b"the user's")
    source = Source(run)
    run.rename(run.with_name("moved"))
    run.symlink_to(user)
    source.take(taken)
    source.close()
    source.close()
    assert names(taken) == ["1.sqlite"]
    assert names(user) == ["2.sqlite", "secret.txt"]


def test_more_than_a_run_can_have_is_not_taken(places, monkeypatch):
    monkeypatch.setattr(taking, "MAX_TAKEN_BYTES", 100)
    monkeypatch.setattr(taking, "MAX_TAKEN_FILES", 2)
    run, taken, _ = places
    for number, size in ((1, 101), (2, 60), (3, 60)):
        (run / f"{number}.sqlite").write_bytes(b"x" * size)
    take(run, taken)
    assert len(names(taken)) <= 1


def test_what_has_not_changed_is_not_copied_again(places, monkeypatch):
    run, taken, _ = places
    (run / "1.sqlite").write_bytes(b"ours")
    source = Source(run)
    source.take(taken)
    copied = []
    monkeypatch.setattr(taking, "copy_bytes", lambda *args: copied.append(args) or 0)
    source.take(taken)
    assert copied == []
    (run / "1.sqlite").write_bytes(b"ours, longer")
    source.take(taken)
    source.close()
    assert len(copied) == 1


def test_a_recording_that_grows_is_seen_at_one_moment(places):
    run, taken, _ = places
    writer = Writer(run, {"role": "main", "started_s": 0.0})
    source = Source(run)
    for count in range(1, 4):
        writer.add("notes", (float(count), "text"))
        writer.flush()
        source.take(taken)
        with closing(sqlite3.connect(next(taken.glob("*.sqlite")))) as db:
            assert db.execute("SELECT count(*) FROM notes").fetchone() == (count,)
    writer.close()
    source.take(taken)
    source.close()
    with closing(sqlite3.connect(next(taken.glob("*.sqlite")))) as db:
        assert db.execute("SELECT count(*) FROM notes").fetchone() == (3,)


def test_a_wal_that_begins_anew_meanwhile_is_copied_again(places, monkeypatch):
    run, taken, _ = places
    (run / "1.sqlite").write_bytes(b"ours")
    (run / "1.sqlite-wal").write_bytes(b"a" * 40)
    copy, seen = taking.copy_bytes, []

    def changing(number, target, most):
        if not seen:
            (run / "1.sqlite-wal").write_bytes(b"b" * 40)
        seen.append(target.name)
        return copy(number, target, most)

    monkeypatch.setattr(taking, "copy_bytes", changing)
    take(run, taken)
    assert seen == ["1.sqlite", "1.sqlite-wal"] * 2

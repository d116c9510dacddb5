"""Files are written all or none, the originals are kept, and come back when asked for."""

import errno
import json
import os
import stat
import subprocess
import sys

import pytest

from quickfit import trust
from quickfit.errors import FixError
from quickfit.fixes import apply
from quickfit.fixes.files import read_source

BEFORE, AFTER = b"a = 1\r\n", b"a = 2\r\n"


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(BEFORE)
    return path


def files_of(*paths, after=AFTER):
    return {str(path): (read_source(str(path)), after) for path in paths}


def write(home, *paths, title="sequential-map", after=AFTER):
    return apply.write(files_of(*paths, after=after), home=home, title=title)


def fixes(home):
    return sorted((home / ".quickfit" / "fixes").glob("*/fix.json"))


def leftovers(folder):
    return [path.name for path in folder.rglob("*quickfit-*")]


def test_a_file_is_written_and_its_original_kept(tmp_path, train):
    saved = write(tmp_path, train)
    assert train.read_bytes() == AFTER
    assert (saved / "0-train.py").read_bytes() == BEFORE
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "*\n"
    assert not leftovers(tmp_path)


def test_the_original_is_put_back_and_the_fix_forgotten(tmp_path, train):
    write(tmp_path, train)
    assert apply.undo(home=tmp_path) == ("sequential-map", [str(train)])
    assert train.read_bytes() == BEFORE
    assert not fixes(tmp_path)


def test_several_files_are_written_and_put_back(tmp_path, train):
    other = tmp_path / "pkg" / "train.py"
    other.parent.mkdir()
    other.write_bytes(BEFORE)
    write(tmp_path, train, other)
    assert train.read_bytes() == other.read_bytes() == AFTER
    apply.undo(home=tmp_path)
    assert train.read_bytes() == other.read_bytes() == BEFORE


def test_fixes_are_undone_one_by_one_the_newest_first(tmp_path, train):
    write(tmp_path, train, title="first")
    write(tmp_path, train, title="second", after=b"a = 3\n")
    assert apply.undo(home=tmp_path)[0] == "second"
    assert train.read_bytes() == AFTER
    assert apply.undo(home=tmp_path)[0] == "first"
    assert train.read_bytes() == BEFORE


def test_a_mode_stays(tmp_path, train):
    train.chmod(0o751)
    write(tmp_path, train)
    assert stat.S_IMODE(train.stat().st_mode) == 0o751
    apply.undo(home=tmp_path)
    assert stat.S_IMODE(train.stat().st_mode) == 0o751


def test_a_link_stays_one(tmp_path, train):
    link = tmp_path / "sub" / "link.py"
    link.parent.mkdir()
    link.symlink_to("../train.py")
    write(tmp_path, link)
    assert link.is_symlink()
    assert train.read_bytes() == AFTER
    apply.undo(home=tmp_path)
    assert link.is_symlink()
    assert train.read_bytes() == BEFORE


def test_a_file_that_has_changed_since_is_left_alone_with_all_others(tmp_path, train):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    files = files_of(train, other)
    other.write_bytes(b"mine = 1\n")
    with pytest.raises(FixError) as caught:
        apply.write(files, home=tmp_path, title="t")
    assert "data.py: has changed since the run that the fix was made from" in str(caught.value)
    assert "Run quickfit fix again" in str(caught.value)
    assert (train.read_bytes(), other.read_bytes()) == (BEFORE, b"mine = 1\n")
    assert not fixes(tmp_path)


def test_a_file_that_is_gone_is_named(tmp_path, train):
    files = files_of(train)
    train.unlink()
    with pytest.raises(FixError, match=r"train\.py: cannot read this file"):
        apply.write(files, home=tmp_path, title="t")


def test_a_file_that_may_not_be_written_leaves_all_as_it_was(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "data.py" not in str(path) and allowed(path, mode)
    )
    with pytest.raises(FixError) as caught:
        write(tmp_path, train, other)
    assert "data.py: cannot write the fix (Permission denied)" in str(caught.value)
    assert "No file was changed" in str(caught.value)
    assert train.read_bytes() == other.read_bytes() == BEFORE
    assert not fixes(tmp_path)
    assert not leftovers(tmp_path)


def test_a_full_disk_leaves_all_as_it_was(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    files = files_of(train, other)
    original = apply._write_aside

    def full(path, data):
        if path.name.startswith(".data.py"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        original(path, data)

    monkeypatch.setattr(apply, "_write_aside", full)
    with pytest.raises(FixError, match="No space left on device"):
        apply.write(files, home=tmp_path, title="t")
    assert train.read_bytes() == other.read_bytes() == BEFORE
    assert not leftovers(tmp_path)


def test_what_was_written_is_put_back_when_the_next_file_cannot_be(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    original, calls = os.replace, []

    def fail_second(source, target):
        if ".quickfit" not in str(target):  # the originals are saved
            calls.append(target)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error", str(target))
        original(source, target)

    monkeypatch.setattr(os, "replace", fail_second)
    with pytest.raises(FixError, match="Input/output error"):
        write(tmp_path, train, other)
    assert len(calls) == 3
    assert train.read_bytes() == other.read_bytes() == BEFORE
    assert not leftovers(tmp_path)


def test_what_cannot_be_put_back_is_said_and_can_be_undone_later(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    original, calls = os.replace, []

    def fail_from_second(source, target):
        if ".quickfit" not in str(target):  # the originals are saved
            calls.append(target)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error", str(target))
        original(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail_from_second)
        with pytest.raises(FixError) as caught:
            write(tmp_path, train, other)
    assert "cannot write the fix, nor put the file back" in str(caught.value)
    assert "quickfit fix --undo" in str(caught.value)
    assert train.read_bytes() == AFTER
    apply.undo(home=tmp_path)
    assert train.read_bytes() == other.read_bytes() == BEFORE


def test_without_a_place_for_the_originals_nothing_is_written(tmp_path, train):
    (tmp_path / ".quickfit").write_text("a file where a folder should be")
    with pytest.raises(FixError) as caught:
        write(tmp_path, train)
    assert "cannot save the original files" in str(caught.value)
    assert "nothing was changed" in str(caught.value)
    assert train.read_bytes() == BEFORE


KILLED = """
import os, signal, sys
from pathlib import Path
from quickfit.fixes import apply
from quickfit.fixes.files import read_source
original = os.replace
def replace(source, target):
    original(source, target)
    if ".quickfit" not in str(target):
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
names = ["train.py", "data.py"]
files = {str(Path(name).resolve()): (read_source(str(Path(name).resolve())), b"a = 2\\r\\n")
         for name in names}
apply.write(files, home=Path.cwd(), title="cut short")
"""


def test_a_kill_between_two_files_can_be_undone(tmp_path, train):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path)
    assert done.returncode == -9
    assert (train.read_bytes(), other.read_bytes()) == (AFTER, BEFORE)
    assert apply.undo(home=tmp_path)[0] == "cut short"
    assert train.read_bytes() == other.read_bytes() == BEFORE


def test_undo_is_refused_when_the_user_has_edited_the_file_again(tmp_path, train):
    saved = write(tmp_path, train)
    train.write_bytes(b"mine = 3\n")
    with pytest.raises(FixError) as caught:
        apply.undo(home=tmp_path)
    assert "train.py: has changed since it was fixed, so it is left alone" in str(caught.value)
    assert ".quickfit/fixes" in str(caught.value)
    assert train.read_bytes() == b"mine = 3\n"
    assert (saved / "0-train.py").read_bytes() == BEFORE


def test_undo_puts_nothing_back_when_one_of_the_files_was_edited(tmp_path, train):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    write(tmp_path, train, other)
    other.write_bytes(b"mine = 3\n")
    with pytest.raises(FixError, match=r"data\.py"):
        apply.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


def test_without_a_fix_there_is_nothing_to_undo(tmp_path):
    with pytest.raises(FixError) as caught:
        apply.undo(home=tmp_path)
    assert "there is no fix to undo here" in str(caught.value)
    assert "quickfit fix --apply" in str(caught.value)


def test_a_damaged_original_is_not_put_back(tmp_path, train):
    saved = write(tmp_path, train)
    (saved / "0-train.py").write_bytes(b"")
    with pytest.raises(FixError, match="the saved original is damaged; nothing was put back"):
        apply.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


def test_a_lost_original_is_named(tmp_path, train):
    saved = write(tmp_path, train)
    (saved / "0-train.py").unlink()
    with pytest.raises(FixError, match=r"0-train\.py: the saved original cannot be read"):
        apply.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "{}", '{"files": 1}', '{"files": [1]}', '{"files": [{}]}'),
        '{"files": [{"path": 1, "saved": 2, "before": 3, "after": 4}]}',
        "\0",
    ],
)
def test_a_damaged_manifest_is_said(tmp_path, train, text):
    saved = write(tmp_path, train)
    (saved / "fix.json").write_text(text)
    with pytest.raises(FixError, match=r"fix\.json: (is damaged|.* is not trusted)"):
        apply.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


@pytest.mark.parametrize(
    "facts",
    [
        *({}, {"files": 1}, {"files": [1]}, {"files": [{}]}),
        {"files": [{"path": 1, "saved": 2, "before": 3, "after": 4}]},
    ],
)
def test_a_damaged_manifest_with_a_seal_is_said(tmp_path, train, facts):
    saved = write(tmp_path, train)
    record = trust.sealed(facts, purpose="undo a fix", folder=tmp_path)
    (saved / "fix.json").write_text(json.dumps(record))
    with pytest.raises(FixError, match=r"fix\.json: is damaged"):
        apply.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


@pytest.mark.parametrize("name", ["../../../secret", "/secret", "..", "", ".", "a/../../x"])
def test_a_hostile_manifest_reads_nothing_from_elsewhere(tmp_path, train, name):
    secret = tmp_path / "secret"
    secret.write_bytes(b"not yours")
    saved = write(tmp_path, train)
    facts = json.loads((saved / "fix.json").read_text())
    facts["files"][0]["saved"] = str(tmp_path) + name if name.startswith("/") else name
    facts["files"][0]["before"] = read_source(str(secret)).sha256
    facts = trust.sealed(facts, purpose="undo a fix", folder=tmp_path)
    (saved / "fix.json").write_text(json.dumps(facts))
    with pytest.raises(FixError):
        apply.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


def test_a_manifest_that_names_another_file_changes_it_only_where_that_is_as_it_was(
    tmp_path, train
):
    theirs = tmp_path / "theirs.py"
    theirs.write_bytes(b"theirs = 1\n")
    saved = write(tmp_path, train)
    facts = json.loads((saved / "fix.json").read_text())
    facts["files"][0]["path"] = str(theirs)
    facts = trust.sealed(facts, purpose="undo a fix", folder=tmp_path)
    (saved / "fix.json").write_text(json.dumps(facts))
    with pytest.raises(FixError, match=r"theirs\.py: has changed since it was fixed"):
        apply.undo(home=tmp_path)
    assert theirs.read_bytes() == b"theirs = 1\n"


def test_an_undo_that_cannot_write_says_where_the_original_is(tmp_path, train, monkeypatch):
    saved = write(tmp_path, train)

    def fail(source, target):
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FixError) as caught:
        apply.undo(home=tmp_path)
    assert "cannot put the original back (No space left on device)" in str(caught.value)
    assert str(saved) in str(caught.value)
    assert train.read_bytes() == AFTER
    assert not leftovers(tmp_path)


def test_a_file_with_several_names_is_refused(tmp_path, train):
    (tmp_path / "other.py").hardlink_to(train)
    with pytest.raises(FixError) as caught:
        write(tmp_path, train)
    assert "this file has 2 names (hard links)" in str(caught.value)
    assert "cp -p" in str(caught.value)
    assert train.read_bytes() == BEFORE
    assert not fixes(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root writes files of others")
def test_owner_and_group_stay_when_root_writes(tmp_path, train):
    os.chown(train, 12345, 54321)
    train.chmod(0o640)
    write(tmp_path, train)
    facts = train.stat()
    assert (facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)) == (12345, 54321, 0o640)
    apply.undo(home=tmp_path)
    assert (train.stat().st_uid, train.stat().st_gid) == (12345, 54321)


def test_an_owner_that_cannot_be_kept_leaves_the_file_alone(tmp_path, train, monkeypatch):
    def refuse(path, user, group):
        raise PermissionError(1, "Operation not permitted", str(path))

    if os.getuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(train, 12345, 54321)
    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(FixError, match="it belongs to user 12345, group 54321"):
        write(tmp_path, train)
    assert train.read_bytes() == BEFORE
    assert not leftovers(tmp_path)


def test_extended_attributes_stay_and_the_time_is_new(tmp_path, train):
    try:
        os.setxattr(train, "user.mark", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    os.utime(train, (1, 1))
    write(tmp_path, train)
    assert os.getxattr(train, "user.mark") == b"mine"
    assert train.stat().st_mtime > 1, "with the old time Python would run the old bytecode"


def test_saved_originals_are_for_the_user_alone(tmp_path, train):
    saved = write(tmp_path, train)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in saved.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["../elsewhere.py", "link.py"])
def test_a_file_outside_of_the_project_is_left_alone(tmp_path, name):
    home = tmp_path / "home"
    home.mkdir()
    outside = tmp_path / "elsewhere.py"
    outside.write_bytes(BEFORE)
    (home / "link.py").symlink_to(outside)
    with pytest.raises(FixError, match="lies outside of the project folder"):
        write(home, home / name)
    assert outside.read_bytes() == BEFORE
    assert not (home / ".quickfit").exists()


def test_the_project_of_named_files_is_where_quickfit_runs_or_the_folder_they_share(
    tmp_path, monkeypatch
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert apply.project_of(["a.py", "sub/b.py"]) == tmp_path / "here"
    assert apply.project_of(["../x/a.py", "../x/sub/b.py"]) == tmp_path / "x"

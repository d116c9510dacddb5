"""A record is trusted only if it is this user's own: private, and sealed for its purpose."""

import json
import os
import stat
import subprocess
import sys

import pytest

from quickfit import trust
from quickfit.trust import NotTrusted


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def test_a_record_comes_back_with_its_facts(tmp_path):
    record = trust.sealed({"a": [1, 2.5, "ü"]}, purpose="p", folder=tmp_path)
    again = json.loads(json.dumps(record))
    assert trust.check_seal(again, purpose="p", folder=tmp_path) == {"a": [1, 2.5, "ü"]}


@pytest.mark.parametrize("record", [None, [], 1, {}, {"a": 1}, {"seal": 3}, {"seal": "ü"}])
def test_a_record_without_a_seal_is_not_trusted(tmp_path, record):
    with pytest.raises(NotTrusted, match="seal"):
        trust.check_seal(record, purpose="p", folder=tmp_path)


def test_a_seal_holds_for_one_content_purpose_and_folder(tmp_path):
    record = trust.sealed({"a": 1}, purpose="p", folder=tmp_path)
    (tmp_path / "sub").mkdir()
    for changed, purpose, folder in (
        ({**record, "a": 2}, "p", tmp_path),
        ({**record, "b": 2}, "p", tmp_path),
        (record, "q", tmp_path),
        (record, "p", tmp_path / "sub"),
    ):
        with pytest.raises(NotTrusted, match="its seal is not yours"):
            trust.check_seal(changed, purpose=purpose, folder=folder)


def test_a_record_of_another_user_or_machine_is_not_trusted(tmp_path, monkeypatch):
    record = trust.sealed({"a": 1}, purpose="p", folder=tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "their-state"))
    with pytest.raises(NotTrusted, match="its seal is not yours"):
        trust.check_seal(record, purpose="p", folder=tmp_path)


def test_the_key_is_made_once_and_is_private(tmp_path, monkeypatch, umask):
    umask(0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key = trust.read_or_make_key()
    assert trust.read_or_make_key() == key
    assert len(key) == 32
    assert mode_of(tmp_path / "quickfit") == 0o700
    assert mode_of(tmp_path / "quickfit" / "key") == 0o600
    assert [file.name for file in (tmp_path / "quickfit").iterdir()] == ["key"]


def test_a_key_that_others_may_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    trust.read_or_make_key()
    (tmp_path / "quickfit" / "key").chmod(0o644)
    with pytest.raises(NotTrusted, match="others may use the file key"):
        trust.sealed({}, purpose="p", folder=tmp_path)


def test_two_processes_that_start_at_once_get_one_key(tmp_path):
    code = "from quickfit import trust; print(trust.read_or_make_key().hex())"
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277, 0o777])
def test_folders_and_files_are_private_whatever_the_umask(tmp_path, umask, mask):
    umask(mask)
    folder = tmp_path / ".quickfit" / "runs" / "a.qfrun"
    trust.make_private_folder(folder)
    trust.write_private(folder / "run.json", b"{}")
    for one in (folder, folder.parent, folder.parent.parent):
        assert mode_of(one) == 0o700
    assert mode_of(folder / "run.json") == 0o600
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_open_to_others_is_closed(tmp_path):
    (tmp_path / ".quickfit" / "runs").mkdir(parents=True)
    trust.make_private_folder(tmp_path / ".quickfit" / "runs" / "a.qfrun")
    assert mode_of(tmp_path / ".quickfit") == mode_of(tmp_path / ".quickfit" / "runs") == 0o700


def test_only_private_files_are_read(tmp_path):
    folder = tmp_path / "own"
    trust.make_private_folder(folder)
    trust.write_private(folder / "a", b"x")
    assert trust.read_private(folder / "a") == b"x"
    (folder / "a").chmod(0o640)
    with pytest.raises(NotTrusted, match=r"others may use the file a \(mode 0640\)"):
        trust.read_private(folder / "a")
    (folder / "a").chmod(0o600)
    folder.chmod(0o755)
    with pytest.raises(NotTrusted, match=r"others may use the folder own \(mode 0755\)"):
        trust.read_private(folder / "a")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_read(tmp_path):
    folder = tmp_path / "own"
    trust.make_private_folder(folder)
    trust.write_private(folder / "a", b"x")
    os.chown(folder / "a", 12345, 12345)
    with pytest.raises(NotTrusted, match="the file a belongs to user 12345, not to you"):
        trust.read_private(folder / "a")


def test_neither_a_link_nor_a_pipe_is_read(tmp_path):
    folder = tmp_path / "own"
    trust.make_private_folder(folder)
    trust.write_private(folder / "a", b"x")
    (folder / "link").symlink_to(folder / "a")
    with pytest.raises(OSError, match="symbolic links"):
        trust.read_private(folder / "link")
    os.mkfifo(folder / "pipe", 0o600)
    with pytest.raises(NotTrusted, match="not an ordinary file"):
        trust.read_private(folder / "pipe")
    with pytest.raises(OSError, match="not an ordinary file"):
        trust.read_regular(folder / "pipe")
    assert trust.read_regular(folder / "link") == b"x"


def test_what_a_link_leads_out_of_a_folder_is_not_inside(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "other.py").touch()
    (home / "link.py").symlink_to(tmp_path / "other.py")
    assert trust.is_inside(home / "train.py", home)
    assert not trust.is_inside(home / "link.py", home)
    assert not trust.is_inside(home / ".." / "other.py", home)
    assert not trust.is_inside(str(home) + "2/train.py", home)
    assert not trust.is_inside(home, home)

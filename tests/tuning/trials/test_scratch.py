"""Scratch folders: removed in the end, and those of killed processes at the next start."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from quickfit.tuning.trials.process import LOCK, hold
from quickfit.tuning.trials.scratch import scratch_folder, sweep

KILLED = """
import os, signal
from quickfit.tuning.trials.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "data.npz").write_text("much")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def folder_of(place, name):
    folder = place / name
    folder.mkdir()
    return folder


def test_it_is_empty_and_is_gone_afterwards(place):
    with scratch_folder() as folder:
        assert not list(folder.iterdir())
        (folder / "model.keras").touch()
    assert not list(place.iterdir())


def test_what_a_killed_process_left_is_removed_at_the_next_start(place):
    env = {**os.environ, "TMPDIR": str(place)}
    code = subprocess.run([sys.executable, "-c", KILLED], env=env, check=False).returncode
    assert code == -signal.SIGKILL
    assert list(place.iterdir())
    with scratch_folder() as folder:
        assert list(place.iterdir()) == [folder.parent]


@pytest.mark.parametrize("prefix", ["quickfit-tune-", "quickfit-trial-", "quickfit-fix-"])
def test_what_is_in_use_stays_until_it_is_let_go(place, prefix):
    folder = folder_of(place, f"{prefix}abc")
    held = hold(folder)
    sweep(place)
    assert folder.exists()
    os.close(held)
    sweep(place)
    assert not folder.exists()


def test_what_is_not_known_to_be_ours_stays(place):
    folder_of(place, "quickfit-tune-without-a-lock")
    (folder_of(place, "somebody-elses") / LOCK).touch()
    target = folder_of(place, "precious")
    (target / LOCK).touch()
    (place / "quickfit-tune-link").symlink_to(target)
    sweep(place)
    assert len(list(place.iterdir())) == 4
    assert (target / LOCK).exists()


def test_folders_of_other_users_stay(place, monkeypatch):
    folder = folder_of(place, "quickfit-trial-theirs")
    os.close(hold(folder))
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    sweep(place)
    assert folder.exists()

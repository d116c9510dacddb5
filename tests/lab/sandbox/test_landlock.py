"""The kernel lets a process, and what it starts, write to a few folders only."""

import subprocess
import sys

import pytest

from quickfit.lab.sandbox.landlock import restrict_writes

from launch.sessions import clean_env

SCRIPT = """
import os, subprocess, sys
from quickfit.lab.sandbox.landlock import restrict_writes
allowed, other = sys.argv[1:]
if not restrict_writes([allowed, "/dev", "/no/such/folder"]):
    sys.exit(77)
def tried(function, *args):
    try:
        function(*args)
    except OSError as error:
        return type(error).__name__
    return "done"
print(tried(open, allowed + "/new", "w"))
print(tried(os.mkdir, allowed + "/folder"))
print(tried(os.rename, allowed + "/new", allowed + "/folder/moved"))
print(tried(open, other + "/there"))
print(tried(open, os.devnull, "w"))
for change in (
    (open, other + "/new", "w"), (open, other + "/there", "w"), (open, other + "/there", "a"),
    (os.remove, other + "/there"), (os.mkdir, other + "/folder"), (os.rmdir, other + "/empty"),
    (os.rename, other + "/there", other + "/moved"), (os.truncate, other + "/there", 0),
    (os.rename, other + "/there", allowed + "/taken"), (os.link, allowed + "/x", other + "/x"),
    (os.symlink, "x", other + "/link"),
):
    print(tried(*change))
print(subprocess.run(["tee", other + "/there"], input=b"", stderr=subprocess.DEVNULL).returncode)
"""


def test_nothing_is_written_outside_the_folders(tmp_path):
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    allowed.mkdir()
    (other / "empty").mkdir(parents=True)
    (other / "there").write_text("precious")
    (allowed / "x").write_text("x")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(allowed), str(other)],
        env=clean_env(),
        capture_output=True,
        text=True,
    )
    if done.returncode == 77:
        pytest.skip("the kernel has no Landlock")
    said = done.stdout.split()
    assert said[:5] == ["done"] * 5, done.stdout + done.stderr
    assert "done" not in said[5:16]
    assert said[16:] == ["1"]
    assert (other / "there").read_text() == "precious"
    assert sorted(path.name for path in other.iterdir()) == ["empty", "there"]


READS = """
import sys
from quickfit.lab.sandbox.landlock import restrict_writes
allowed, other = sys.argv[1:]
if not restrict_writes([allowed], [], [sys.prefix, other + "/shown"]):
    sys.exit(77)
for path in (allowed + "/x", other + "/shown", other + "/there"):
    try:
        print(open(path).read())
    except PermissionError:
        print("refused")
"""


def test_only_what_is_named_is_read_where_that_is_asked(tmp_path):
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    allowed.mkdir()
    other.mkdir()
    for path in (allowed / "x", other / "shown", other / "there"):
        path.write_text(path.name)
    done = subprocess.run(
        [sys.executable, "-c", READS, str(allowed), str(other)],
        env=clean_env(),
        capture_output=True,
        text=True,
    )
    if done.returncode == 77:
        pytest.skip("the kernel has no Landlock")
    assert done.stdout.split() == ["x", "shown", "refused"], done.stderr


def test_on_another_system_it_says_that_it_cannot(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert restrict_writes([]) is False


def test_on_an_old_kernel_it_says_that_it_cannot(monkeypatch):
    class Libc:
        def __init__(self, *args, **keywords):
            pass

        def syscall(self, *args):
            return -1

    monkeypatch.setattr("ctypes.CDLL", Libc)
    assert restrict_writes([]) is False

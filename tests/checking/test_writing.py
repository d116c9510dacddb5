"""Where the answer goes: stdout, or a file that is there whole or not at all."""

import io
import os
import stat
from pathlib import Path

import pytest

from quickfit.checking.mending import Answer
from quickfit.errors import UsageError


def test_text_goes_to_stdout_in_its_encoding():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Answer(out).write_text("ö\n")
    assert out.buffer.getvalue() == b"\\xf6\n"


def test_bytes_go_to_stdout_as_they_are():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    out.write("before ")
    Answer(out).write_bytes(b"\xff\n")
    assert out.buffer.getvalue() == b"before \xff\n"


def test_a_stdout_without_bytes_gets_text():
    out = io.StringIO()
    Answer(out).write_bytes(b"x\xff")
    assert out.getvalue() == "x�"


def test_a_file_gets_everything_and_nothing_is_left_beside_it(home):
    Answer(io.StringIO(), Path("out.txt")).write_text("ö \udcff\n")
    assert Path("out.txt").read_bytes() == b"\xc3\xb6 \\udcff\n"
    assert os.listdir() == ["out.txt"]


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its(home):
    before = os.umask(0o027)
    try:
        Answer(io.StringIO(), Path("new.txt")).write_text("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("new.txt").st_mode) == 0o640
    os.chmod("new.txt", 0o600)
    Answer(io.StringIO(), Path("new.txt")).write_text("y")
    assert stat.S_IMODE(os.stat("new.txt").st_mode) == 0o600
    assert Path("new.txt").read_text() == "y"


def test_a_link_stays_one(home):
    Path("real.txt").write_text("x")
    Path("link.txt").symlink_to("real.txt")
    Answer(io.StringIO(), Path("link.txt")).write_text("y")
    assert Path("link.txt").is_symlink()
    assert Path("real.txt").read_text() == "y"


def test_a_device_stays_one(home):
    Answer(io.StringIO(), Path("/dev/null")).write_text("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_file_that_cannot_be_written_is_said_before_the_work(home):
    with pytest.raises(UsageError, match=r"--output gone/a\.json: .*its folder does not exist"):
        Answer(io.StringIO(), Path("gone/a.json"))
    with pytest.raises(UsageError, match="it is a folder"):
        Answer(io.StringIO(), home)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(home, monkeypatch):
    Path("out.txt").write_text("old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match=r"cannot be written \(No space left on device\)"):
        Answer(io.StringIO(), Path("out.txt")).write_text("new")
    assert Path("out.txt").read_text() == "old"
    assert os.listdir() == ["out.txt"]

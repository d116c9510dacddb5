"""What can be run, and a clear error for what cannot."""

import os
import py_compile
import shutil
import sys

import pytest

from quickfit.errors import UsageError
from quickfit.launch.target import Target


def refusal(script):
    with pytest.raises(UsageError) as caught:
        Target(script=str(script)).check()
    return str(caught.value)


def test_a_missing_script_is_refused_with_what_is_there(tmp_path):
    (tmp_path / "train.py").write_text("")
    assert refusal(tmp_path / "trian.py") == (
        f"{tmp_path}/trian.py: cannot run this script (No such file or directory).\n"
        f"Python files in {tmp_path}: train.py.\n"
        "Give the path of a script, or a module with `quickfit run -m MODULE`."
    )


def test_a_missing_script_in_an_empty_folder_is_refused(tmp_path):
    assert f"There is no Python file in {tmp_path}." in refusal(tmp_path / "train.py")


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    assert "cannot be the name of a file" in refusal("a\0b.py")
    assert "File name too long" in refusal("x" * 5000)


def test_a_folder_without_a_main_is_refused(tmp_path):
    assert refusal(tmp_path).startswith(f"{tmp_path}: this is a folder without a __main__.py")


def test_a_program_is_refused():
    assert "this is not a Python script (found: a compiled program)" in refusal(
        shutil.which("true")
    )


def test_an_image_is_refused(tmp_path):
    (tmp_path / "cat.py").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")
    assert "(found: a JPEG image)" in refusal(tmp_path / "cat.py")


def test_other_binary_data_is_refused(tmp_path):
    (tmp_path / "weights.py").write_bytes(b"abc\0\0\0")
    assert "(found: binary data)" in refusal(tmp_path / "weights.py")


def test_compiled_python_is_accepted_under_any_name(tmp_path):
    (tmp_path / "train.py").write_text("x = 1\n")
    py_compile.compile(str(tmp_path / "train.py"), str(tmp_path / "train.bin"))
    Target(script=str(tmp_path / "train.bin")).check()


def test_text_that_is_not_python_is_left_to_python(tmp_path):
    (tmp_path / "train.py").write_text("this is no Python")
    Target(script=str(tmp_path / "train.py")).check()


def test_a_module_and_stdin_are_left_to_python():
    Target(module="nothing_of_this_name").check()
    Target(script="-").check()


def test_the_command_is_what_python_would_be_started_with():
    script = Target(script="train.py", args=("--x", "-m")).command()
    assert (script[0], script[-3:]) == (sys.executable, ["train.py", "--x", "-m"])
    assert Target(module="a.b", args=("c",)).command()[-3:] == ["-m", "a.b", "c"]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Target(script="a/train.py"), "train.py"),
        (Target(module="pkg.mod"), "pkg.mod"),
        (Target(script="-"), "stdin"),
        (Target(script="."), "run"),
    ],
)
def test_a_run_is_called_after_what_runs(target, name):
    assert target.name == name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_left_to_python_unless_the_script_is_run_several_times(tmp_path):
    os.mkfifo(tmp_path / "train.py")
    target = Target(script=str(tmp_path / "train.py"))
    target.check()
    with pytest.raises(UsageError, match="is a pipe or a device, and the script is run several"):
        target.check(is_repeated=True)
    with pytest.raises(UsageError, match="a script on stdin can be read once"):
        Target(script="-").check(is_repeated=True)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(script="a/train.py"), "a/train.py"),
        (Target(script="my train.py", args=("--lr", "1")), "'my train.py' --lr 1"),
        (Target(module="proj.main", args=("4",)), "-m proj.main 4"),
    ],
)
def test_the_words_are_those_that_one_types(target, words):
    assert target.words == words

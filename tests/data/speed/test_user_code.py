"""`file.py:function` and `module:function`: found, called, or explained."""

import sys

import pytest

from quickfit.data.speed.user_code import called, looks_like_code, mentions
from quickfit.errors import PipelineError, UsageError


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["quickfit", "bench"])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def script(here, text, name="my_training.py"):
    """Write a script."""
    (here / name).write_text(text)
    return name


def test_a_function_of_a_file_is_called(here):
    script(here, "def make():\n    return [1, 2]\n")
    assert called("my_training.py:make") == [1, 2]


def test_a_function_of_a_module_in_the_working_directory_is_called(here):
    (here / "pack").mkdir()
    script(here / "pack", "def make():\n    return __name__\n", "inner.py")
    assert called("pack.inner:make") == "pack.inner"


def test_files_beside_a_script_can_be_imported_by_it(here):
    (here / "sub").mkdir()
    script(here / "sub", "VALUE = 7\n", "my_values.py")
    script(here / "sub", "from my_values import VALUE\ndef make():\n    return VALUE\n")
    assert called("sub/my_training.py:make") == 7


def test_a_guarded_training_does_not_run(here):
    script(here, "def make():\n    return 1\nif __name__ == '__main__':\n    raise RuntimeError\n")
    assert called("my_training.py:make") == 1


def test_a_parser_of_arguments_sees_none_of_ours(here):
    script(here, "import argparse\nA = argparse.ArgumentParser().parse_args()\nmake = lambda: 3\n")
    assert called("my_training.py:make") == 3


def test_an_object_is_taken_as_it_is(here):
    script(here, "train = [1]\n")
    assert called("my_training.py:train") == [1]


def test_a_script_with_the_name_of_a_library_does_not_hide_it(here):
    script(here, "def make():\n    return 'mine'\n", "json.py")
    import json

    assert called("json.py:make") == "mine"
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("gone.py:make", r"gone.py: there is no such file.\nPython files in .*: my_training.py"),
        ("gone:make", r"gone: there is no such module in .*\nPython files"),
        ("sub/gone.py:make", r"sub/gone.py: there is no such file"),
        ("my_training.py:mkae", r"no `mkae` in it.\nDid you mean: my_training.py:make\nFunc.*make"),
        ("my_training.py:zzz", r"no `zzz` in it.\nFunctions that it has: make, needs, fails"),
        (
            "my_training.py:needs",
            r"needs arguments \(needs\(root, size=3\)\).*\n(.*\n)+.*needs\(",
        ),
    ],
)
def test_what_is_not_there_is_explained(here, target, message):
    script(
        here,
        "def make(): return 1\ndef needs(root, size=3): return 1\ndef fails(): raise KeyError('x')",
    )
    with pytest.raises(UsageError, match=message):
        called(target)


def test_an_exception_of_a_function_shows_its_own_traceback_and_none_of_ours(here):
    script(here, "def make():\n    return {}['label']\n")
    with pytest.raises(PipelineError) as caught:
        called("my_training.py:make")
    said = str(caught.value)
    assert said.startswith("my_training.py:make: it raised KeyError when it was called.\nTraceback")
    assert 'my_training.py", line 2, in make' in said
    assert said.endswith("KeyError: 'label'")
    assert "user_code.py" not in said


def test_a_file_that_python_cannot_read_is_told_with_its_line(here):
    script(here, "def make(:\n")
    with pytest.raises(
        PipelineError, match=r"raised SyntaxError while it was imported.\n(.*\n)*.*line 1"
    ):
        called("my_training.py:make")


def test_a_missing_import_of_the_script_is_its_own_error(here):
    script(here, "import not_installed_anywhere\n")
    with pytest.raises(PipelineError, match="No module named 'not_installed_anywhere'"):
        called("my_training.py:make")
    with pytest.raises(PipelineError, match="No module named 'not_installed_anywhere'"):
        called("my_training:make")


def test_a_script_that_ends_the_program_is_told_how_to_be_imported(here):
    script(here, "import sys\nsys.exit(3)\n")
    with pytest.raises(UsageError, match=r"sys.exit\(3\)\) while it was imported.\n(.*\n)+.*funct"):
        called("my_training.py:make")


def test_code_is_told_from_folders(here):
    assert looks_like_code("train.py:make")
    assert looks_like_code("package.module:make")
    assert not looks_like_code("photos")
    assert not looks_like_code("train.py:")
    (here / "a:b").mkdir()
    assert not looks_like_code("a:b")


def test_a_file_is_read_for_words_without_running_it(here):
    script(here, "import tensorflow\nraise RuntimeError\n")
    assert mentions("my_training.py:make", ("tensorflow",))
    assert mentions("my_training:make", ("tensorflow",))
    assert not mentions("my_training:make", ("torch",))
    assert not mentions("gone:make", ("torch",))

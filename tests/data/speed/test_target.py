"""TensorFlow is loaded without its notes, and its absence is explained."""

import os
import sys

import pytest

from quickfit.data.speed.target import (
    TargetOptions,
    _notes_dropped,
    call_target,
    load_tensorflow,
    looks_like_code,
    open_target,
    target_from_result,
    target_mentions,
    target_model,
)
from quickfit.errors import PipelineError, UsageError

from record_files import example, written


def test_without_tensorflow_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(
        UsageError, match=r"is not installed for .*\n.*pip install 'quickfit\[cpu\]'"
    ):
        load_tensorflow()


def test_notes_of_native_code_are_dropped(capfd):
    with _notes_dropped():
        os.write(2, b"a note\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def fail():
    with _notes_dropped():
        os.write(2, b"the reason\n")
        raise KeyError


def test_what_was_said_before_a_failure_is_shown(capfd):
    with pytest.raises(KeyError):
        fail()
    assert capfd.readouterr().err == "the reason\n"


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
    assert call_target("my_training.py:make") == [1, 2]


def test_a_function_of_a_module_in_the_working_directory_is_called(here):
    (here / "pack").mkdir()
    script(here / "pack", "def make():\n    return __name__\n", "inner.py")
    assert call_target("pack.inner:make") == "pack.inner"


def test_files_beside_a_script_can_be_imported_by_it(here):
    (here / "sub").mkdir()
    script(here / "sub", "VALUE = 7\n", "my_values.py")
    script(here / "sub", "from my_values import VALUE\ndef make():\n    return VALUE\n")
    assert call_target("sub/my_training.py:make") == 7


def test_a_guarded_training_does_not_run(here):
    script(here, "def make():\n    return 1\nif __name__ == '__main__':\n    raise RuntimeError\n")
    assert call_target("my_training.py:make") == 1


def test_a_parser_of_arguments_sees_none_of_ours(here):
    script(here, "import argparse\nA = argparse.ArgumentParser().parse_args()\nmake = lambda: 3\n")
    assert call_target("my_training.py:make") == 3


def test_an_object_is_taken_as_it_is(here):
    script(here, "train = [1]\n")
    assert call_target("my_training.py:train") == [1]


def test_a_script_with_the_name_of_a_library_does_not_hide_it(here):
    script(here, "def make():\n    return 'mine'\n", "json.py")
    import json

    assert call_target("json.py:make") == "mine"
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
        call_target(target)


def test_an_exception_of_a_function_shows_its_own_traceback_and_none_of_ours(here):
    script(here, "def make():\n    return {}['label']\n")
    with pytest.raises(PipelineError) as caught:
        call_target("my_training.py:make")
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
        call_target("my_training.py:make")


def test_a_missing_import_of_the_script_is_its_own_error(here):
    script(here, "import not_installed_anywhere\n")
    with pytest.raises(PipelineError, match="No module named 'not_installed_anywhere'"):
        call_target("my_training.py:make")
    with pytest.raises(PipelineError, match="No module named 'not_installed_anywhere'"):
        call_target("my_training:make")


def test_a_script_that_ends_the_program_is_told_how_to_be_imported(here):
    script(here, "import sys\nsys.exit(3)\n")
    with pytest.raises(UsageError, match=r"sys.exit\(3\)\) while it was imported.\n(.*\n)+.*funct"):
        call_target("my_training.py:make")


def test_code_is_told_from_folders(here):
    assert looks_like_code("train.py:make")
    assert looks_like_code("package.module:make")
    assert not looks_like_code("photos")
    assert not looks_like_code("train.py:")
    (here / "a:b").mkdir()
    assert not looks_like_code("a:b")


def test_a_file_is_read_for_words_without_running_it(here):
    script(here, "import tensorflow\nraise RuntimeError\n")
    assert target_mentions("my_training.py:make", ("tensorflow",))
    assert target_mentions("my_training:make", ("tensorflow",))
    assert not target_mentions("my_training:make", ("torch",))
    assert not target_mentions("gone:make", ("torch",))


class Model:
    """Looks like a Keras model."""

    def fit(self):
        """Train."""


def batches():
    yield 1


def test_a_generator_is_measured():
    found = target_from_result(batches(), "train.py:make")
    assert (found.feed.name, found.feed.kind, found.model) == ("train.py:make", "generator", None)


def test_a_dataset_and_a_model_are_taken_apart():
    model = Model()
    found = target_from_result((batches(), model), "train.py:make")
    assert found.model is model
    assert found.feed.name == "train.py:make"


def test_of_several_datasets_the_first_is_measured_and_told():
    found = target_from_result((batches(), batches()), "train.py:make")
    assert (found.feed.name, found.model) == ("train.py:make[0]", None)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"train.py:make: it returned None. Is a `return` missing\?"),
        (Model(), r"cannot be iterated \(received: a Model\)"),
        (3, r"cannot be iterated \(received: a int\)"),
        (print, r"it returned a builtin_function_or_method, not a dataset"),
    ],
)
def test_what_gives_no_elements_is_refused(result, message):
    with pytest.raises(UsageError, match=message):
        target_from_result(result, "train.py:make")


def test_a_script_alone_is_asked_for_its_function(tmp_path):
    (tmp_path / "train.py").write_text("")
    with pytest.raises(UsageError, match=r"which function of it.*\n.*train.py:make_dataset"):
        open_target(str(tmp_path / "train.py"), TargetOptions())


@pytest.mark.loads_tf
def test_files_of_records_are_known_by_either_ending(tf, tmp_path):
    for ending in ("tfrecord", "tfrec"):
        folder = tmp_path / ending
        folder.mkdir()
        written(folder / f"rows.{ending}", [example(x=1)] * 3)
        found = open_target(str(folder), TargetOptions(batch=3))
        assert [batch["x"].numpy().tolist() for batch in found.feed.begin()] == [[1, 1, 1]]


def test_what_is_not_there_is_explained_target(tmp_path):
    with pytest.raises(UsageError, match=r"there is no such folder or file.*\nGive a function"):
        open_target(str(tmp_path / "gone"), TargetOptions())


def test_options_that_were_not_given_are_left_to_the_pipeline():
    assert TargetOptions().given() == {"batch": 32}
    assert TargetOptions((180, 320), 8, "crop", cache=False).given() == {
        "batch": 8,
        "size": (180, 320),
        "resize": "crop",
        "cache": None,
    }


def test_a_model_is_named_by_a_function():
    with pytest.raises(UsageError, match=r"--model resnet: this names no function"):
        target_model("resnet")


def test_what_is_no_model_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qf_models.py").write_text("def make():\n    return 3\n")
    with pytest.raises(UsageError, match=r"it returned a int, not a Keras model"):
        target_model("qf_models.py:make")

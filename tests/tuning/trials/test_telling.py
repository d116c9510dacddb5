"""Errors of the user's code as they would see them."""

import errno

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.answers import Failure
from quickfit.tuning.trials.building import Builder
from quickfit.tuning.trials.telling import failure_of, told


class ResourceExhaustedError(Exception):
    """Named as TensorFlow's."""


def caught(*arguments, cause=None):
    try:
        if cause is not None:
            raise arguments[0] from cause
        raise arguments[0]
    except BaseException as error:  # noqa: BLE001 - returned
        return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 3 GiB"),
        ResourceExhaustedError("OOM when allocating tensor"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        RuntimeError("Operation received an exception: could not create a memory object"),
        caught(ValueError("while reading"), cause=MemoryError()),
    ],
    ids=["python", "tensorflow", "system", "cuda", "onednn", "cause"],
)
def test_memory_that_ran_out_is_known(error):
    assert failure_of(error) is Failure.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "error", [ValueError("out of memory"), OSError(errno.ENOENT, "no file"), SystemExit(3)]
)
def test_anything_else_is_an_error(error):
    assert failure_of(error) is Failure.ERROR


def test_a_message_of_ours_is_told_as_it_is():
    assert told(ModelError("the model is not compiled.")) == "the model is not compiled."


def test_the_traceback_of_the_user_has_none_of_our_frames():
    builder = object.__new__(Builder)
    builder._batch_name, builder._name = None, "build"
    builder._function = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError) as raised:
        builder.build(None)
    text = told(raised.value)
    assert text.startswith("Traceback (most recent call last):")
    assert "1 / 0" in text
    assert text.endswith("ZeroDivisionError: division by zero")
    assert "building.py" not in text


def test_an_exit_is_told_as_one():
    assert told(caught(SystemExit(3))).startswith("the function ended the process: sys.exit(3)\n")


def test_a_very_long_error_keeps_its_beginning_and_end():
    text = told(caught(ValueError("begin" + "x" * 50_000 + "the end")))
    assert len(text) < 9_000
    assert text.startswith("Traceback")
    assert text.endswith("the end")

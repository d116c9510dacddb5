"""Functions go to another process, or it is said why not."""

import functools
import pickle
import subprocess
import sys
import threading

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.saving import pack_function

BESIDE = 20


def uses_module():
    return BESIDE + 1


def with_argument(n):
    return n + BESIDE


def in_another_process(function):
    """Return what a function returns in a process that cannot import this file."""
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)())"
    parcel = pack_function(function, "build")
    ran = subprocess.run(
        [sys.executable, "-c", code], input=parcel, capture_output=True, check=True
    )
    return int(ran.stdout)


def closure():
    inner = 30
    return lambda: inner + BESIDE


class Maker:
    def __call__(self):
        return BESIDE


@pytest.mark.parametrize(
    ("function", "result"),
    [(uses_module, 21), (functools.partial(with_argument, 2), 22), (closure(), 50), (Maker(), 20)],
    ids=["function", "partial", "lambda", "object"],
)
def test_it_runs_in_a_process_that_cannot_import_it(function, result):
    assert in_another_process(function) == result


def test_what_can_be_imported_is_taken_by_name():
    assert len(pack_function(subprocess.run, "run")) < 200
    assert pickle.loads(pack_function(subprocess.run, "run")) is subprocess.run


def test_something_that_exists_only_here_is_refused_with_the_way_out():
    lock = threading.Lock()
    with pytest.raises(ModelError) as caught:
        pack_function(lambda: lock, "build")
    assert str(caught.value).startswith("build cannot be taken to another process (TypeError:")
    assert "name it: module:function" in str(caught.value)

"""TensorFlow is loaded without its notes, and its absence is explained."""

import os
import sys

import pytest

from quickfit.data.speed.loading import _notes_dropped, load_tensorflow
from quickfit.errors import UsageError


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

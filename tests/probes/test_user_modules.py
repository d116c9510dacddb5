"""The text of the user's modules is kept, and no library is woken up for it."""

import sys
from types import ModuleType

import pytest

from quickfit.probes import _user_modules
from quickfit.probes._user_modules import keep_sources, user_files


class Lazy(ModuleType):
    """A module that loads when it is looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")


@pytest.fixture
def helper(tmp_path, monkeypatch):
    file = tmp_path / "helper_of_a_user.py"
    file.write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("helper_of_a_user")
    monkeypatch.setitem(sys.modules, "lazy_thing", Lazy("lazy_thing"))
    monkeypatch.setattr(_user_modules, "MAX_FILES", 100_000)  # all the tests are a user's here
    yield str(file)
    del sys.modules["helper_of_a_user"]


def test_modules_of_the_user_are_found_and_libraries_are_not(helper):
    files = user_files()
    assert helper in files
    assert not any("quickfit/probes" in file or "/numpy/" in file for file in files)


def test_sources_are_kept_once_a_loop_has_begun(helper, state, monkeypatch):
    kept = []
    monkeypatch.setattr(state.writer, "add_source", kept.append)
    keep_sources(state)
    assert kept == []
    state.loops = ["a loop"]
    keep_sources(state)
    keep_sources(state)
    assert kept.count(helper) == 1


def test_a_project_of_many_files_is_not_copied_whole(helper, monkeypatch):
    monkeypatch.setattr(_user_modules, "MAX_FILES", 0)
    assert user_files() == []

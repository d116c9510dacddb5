"""A patch runs once after an import, and nobody sees how."""

import importlib
import importlib.machinery
import sys
import traceback

import pytest

from quickfit.probes import _imports
from quickfit.probes._imports import AfterImport


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package `fakelib` with modules `ops` and `broken`; forget it after the test."""
    folder = tmp_path / "fakelib"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "ops.py").write_text("VALUE = 1\n")
    (folder / "broken.py").write_text("def fail():\n    raise ValueError('mine')\nfail()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "fakelib"]:
        del sys.modules[name]


def after(*names):
    """Install a finder; return the list of modules that were patched."""
    patched = []
    AfterImport({name: [patched.append] for name in names}).install()
    return patched


def test_a_module_is_patched_once_when_it_was_imported(package):
    patched = after("fakelib.ops")
    assert patched == []
    ops = importlib.import_module("fakelib.ops")
    importlib.import_module("fakelib.ops")
    assert patched == [ops]
    assert ops.VALUE == 1, "the module was complete when it was patched"


def test_a_module_that_is_there_already_is_patched_at_once(package):
    ops = importlib.import_module("fakelib.ops")
    assert after("fakelib.ops") == [ops]


def test_all_patches_of_a_module_run_in_their_order(package):
    seen = []
    patches = [lambda module: seen.append("first"), lambda module: seen.append("second")]
    AfterImport({"fakelib.ops": patches}).install()
    importlib.import_module("fakelib.ops")
    assert seen == ["first", "second"]


def test_a_reloaded_module_is_patched_again(package):
    patched = after("fakelib.ops")
    ops = importlib.import_module("fakelib.ops")
    importlib.reload(ops)
    assert patched == [ops, ops]


def test_a_module_that_nobody_asked_for_is_left_alone(package):
    patched = after("fakelib.other")
    ops = importlib.import_module("fakelib.ops")
    assert patched == []
    assert "exec_module" not in vars(ops.__loader__)


def test_a_module_that_does_not_exist_is_reported_by_python(package):
    after("fakelib.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'fakelib\.nothing'"):
        importlib.import_module("fakelib.nothing")


@pytest.mark.parametrize("error", ["ValueError", "ImportError", "KeyboardInterrupt"])
def test_a_module_that_fails_shows_the_traceback_it_would_show(package, error):
    text = (package / "broken.py").read_text().replace("ValueError", error)
    (package / "broken.py").write_text(text)

    def shown():
        with pytest.raises(BaseException, match="mine") as caught:
            import fakelib.broken  # noqa: F401
        return traceback.format_exception(caught.value)

    plain = shown()
    patched = after("fakelib.broken")
    assert shown() == plain
    assert patched == []
    assert "fakelib.broken" not in sys.modules


def test_our_frame_is_named_as_python_names_its_own():
    assert importlib.machinery.SourceFileLoader.exec_module.__code__.co_filename == (
        _imports._IMPORT_FRAMES
    )


class Finder:
    """Finds `fakelib.ops` with a loader of its own."""

    def __init__(self, loader):
        self.loader = loader

    def find_spec(self, name, path, target=None):
        if name.startswith("fakelib."):
            return importlib.machinery.ModuleSpec(name, self.loader)
        return None


class OldLoader:
    """A loader as they were before `exec_module`."""

    def load_module(self, name):
        module = sys.modules[name] = type(sys)(name)
        return module


class SlottedLoader:
    """A loader that takes no attribute."""

    __slots__ = ()

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.VALUE = 2


class SharedLoader(SlottedLoader):
    """One loader for many modules."""


@pytest.mark.filterwarnings("ignore:.*load_module:ImportWarning")
@pytest.mark.filterwarnings("ignore:.*exec_module:ImportWarning")
@pytest.mark.parametrize("loader", [OldLoader(), SlottedLoader()], ids=["old", "slotted"])
def test_a_loader_that_cannot_be_patched_loads_as_ever(package, loader):
    sys.meta_path.insert(0, Finder(loader))
    patched = after("fakelib.ops")
    assert importlib.import_module("fakelib.ops").__name__ == "fakelib.ops"
    assert patched == []


def test_a_loader_of_many_modules_runs_the_patch_of_one(package):
    sys.meta_path.insert(0, Finder(SharedLoader()))
    patched = after("fakelib.ops")
    ops = importlib.import_module("fakelib.ops")
    importlib.import_module("fakelib.more")
    assert patched == [ops]


def test_a_finder_without_find_spec_is_passed_over(package):
    sys.meta_path.insert(0, object())
    patched = after("fakelib.ops")
    sys.meta_path.remove(sys.meta_path[1])
    importlib.import_module("fakelib.ops")
    assert len(patched) == 1


def test_finding_a_spec_imports_nothing_and_patches_nothing(package):
    patched = after("fakelib.ops")
    assert importlib.util.find_spec("fakelib.ops") is not None
    assert patched == []
    assert "fakelib.ops" not in sys.modules

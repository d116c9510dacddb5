"""A patch runs once after an import, and nobody sees how."""

import importlib
import importlib.machinery
import sys
import traceback

import pytest

from quickfit.probes import _imports, overhead
from quickfit.probes._imports import AfterImport, patching
from quickfit.probes._private import NAMES, Wanted
from quickfit.probes._probe import Probe
from quickfit.recording.schema import columns


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


# -- private names that have moved ----------------------------------------------------------------

MODULE = """
class Trainer:
    def fit(self, x, y=None):
        callbacks = []
        return callbacks
"""


@pytest.fixture
def patched(package, state, monkeypatch):
    """Return a function that imports `fakelib.trainer` with some text, watched by `fit_loop`."""
    wanted = {"Trainer.fit": Wanted(("self", "x"), ("callbacks",)), "Trainer": Wanted()}
    monkeypatch.setitem(NAMES["fit_loop"], "fakelib.trainer", wanted)
    found = []

    def imported(text):
        (package / "trainer.py").write_text(text)
        patch = patching("fit_loop", found.append)
        AfterImport({"fakelib.trainer": [patch]}).install()
        importlib.import_module("fakelib.trainer")
        return found

    return imported


def hooks_written(state):
    """Return the rows of `hooks`, by name, as a recording would hold them."""
    state.kept["background_cpu_s"] = 0.0
    overhead.write(state)
    return {row[0]: tuple(row) for row in state.writer.rows("hooks")}


def test_names_that_are_as_expected_are_patched_and_recorded_as_active(patched, state):
    assert [module.__name__ for module in patched(MODULE)] == ["fakelib.trainer"]
    probe = state.probes["fit_loop"]
    assert (probe.is_off, probe.active) == (False, {"fakelib.trainer"})
    rows = hooks_written(state)
    assert rows == {
        f"fakelib.trainer.{name}": (f"fakelib.trainer.{name}", "fit_loop", "active", "")
        for name in ("Trainer.fit", "Trainer")
    }
    assert {len(row) for row in rows.values()} == {len(columns("hooks"))}


@pytest.mark.parametrize(
    ("before", "after", "detail"),
    [
        pytest.param("def fit", "def train", "no such name", id="renamed"),
        pytest.param("self, x, y=None", "self, data", "its parameters are self, data", id="other"),
        pytest.param("callbacks", "hooks", "it has no callbacks", id="a variable is gone"),
    ],
)
def test_a_name_that_has_moved_turns_the_probe_off_and_is_recorded(
    patched, state, before, after, detail
):
    assert patched(MODULE.replace(before, after)) == [], "nothing is patched"
    probe = state.probes["fit_loop"]
    assert (probe.state, probe.is_off) == ("missing", True)
    assert probe.detail == f"fakelib.trainer.Trainer.fit: {detail}"
    assert not probe.active
    rows = hooks_written(state)
    name = "fakelib.trainer.Trainer.fit"
    assert rows[name] == (name, "fit_loop", "missing", detail)
    assert rows["fakelib.trainer.Trainer"][2] == "active"
    assert ("fit_loop", "missing", probe.detail) in state.writer.rows("probes")


def test_a_name_that_has_moved_does_not_reach_the_script(patched, state, capsys):
    patched("VALUE = 3\n")
    assert sys.modules["fakelib.trainer"].VALUE == 3
    assert capsys.readouterr() == ("", "")


def test_a_patch_that_fails_turns_the_probe_off(patched, state, monkeypatch):
    def fails(module):
        raise RuntimeError("ours")

    module = type(sys)("fakelib.other")
    patching("fit_loop", fails)(module)
    probe = state.probes["fit_loop"]
    assert (probe.state, probe.active) == ("failed", set())
    assert "RuntimeError: ours" in probe.detail


def test_a_hook_is_recorded_once_and_again_when_it_has_changed(patched, state):
    patched(MODULE)
    hooks_written(state)
    assert len(state.writer.rows("hooks")) == 2
    hooks_written(state)
    assert len(state.writer.rows("hooks")) == 2
    key, hook = next(item for item in state.hooks.items() if item[1].name.endswith(".fit"))
    state.hooks[key] = hook._replace(state="missing", detail="gone")
    hooks_written(state)
    assert state.writer.rows("hooks")[2:] == [(hook.name, "fit_loop", "missing", "gone")]


def test_a_name_that_is_right_for_one_probe_and_wrong_for_another_is_recorded_as_both(
    patched, state, monkeypatch
):
    monkeypatch.setitem(NAMES["calls"], "fakelib.trainer", {"Trainer.fit": Wanted(("model",))})
    state.probes["calls"] = Probe("calls")
    patched(MODULE)
    patching("calls", lambda module: None)(sys.modules["fakelib.trainer"])
    hooks_written(state)
    names = [column.name for column in columns("hooks")]
    keys = [column.name for column in columns("hooks") if column.is_key]
    rows = [dict(zip(names, row, strict=True)) for row in state.writer.rows("hooks")]
    kept = {tuple(row[key] for key in keys): row for row in rows}
    fit = [row for row in kept.values() if row["name"] == "fakelib.trainer.Trainer.fit"]
    found = {row["probe"]: row["state"] for row in fit}
    assert found == {"fit_loop": "active", "calls": "missing"}


def test_nothing_is_patched_in_a_process_that_is_not_watched(package, monkeypatch):
    monkeypatch.setattr(_imports.Current, "state", None)
    found = []
    patching("fit_loop", found.append)(type(sys)("fakelib.other"))
    assert found == []

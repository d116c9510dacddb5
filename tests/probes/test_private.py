"""A private name that has moved, or means something else, is noticed before it is used."""

import functools
from collections import deque
from types import ModuleType

import pytest

from quickfit.probes import calls, session
from quickfit.probes._hooks import TimedFunction, notice_calls
from quickfit.probes._private import NAMES, Hook, Wanted, hooks_of

MODULE = "keras.src.somewhere"
TEXT = """
import functools

LIST = []
NUMBER = 0
NOTHING = None

def plain(x, y=1, *rest, z=2, **more):
    local = x.attribute
    return local

def closes(x):
    kept = x
    return lambda: kept

def only_keywords(*, x):
    return x

def decorator(function):
    @functools.wraps(function)
    def decorated(*args, **kwargs):
        return function(*args, **kwargs)
    return decorated

@decorator
def decorated(x, y):
    return x

class Base:
    def inherited(self, x):
        return x

class Class(Base):
    def method(self, x):
        for item in self.callbacks:
            item()

    @property
    def value(self):
        return self._value

    @classmethod
    def make(cls, x):
        return cls()

    @staticmethod
    def static(x):
        return x

    class Inner:
        def method(self):
            return 1
"""


@pytest.fixture
def module():
    """Return a module with the kinds of things that libraries consist of."""
    made = ModuleType(MODULE)
    exec(TEXT, vars(made))
    return made


@pytest.fixture
def detail(module, monkeypatch):
    """Return a function that says what is wrong with one name of that module."""

    def detail(name, wanted):
        monkeypatch.setitem(NAMES, "tested", {MODULE: {name: wanted}})
        (hook,) = hooks_of("tested", module)
        assert (hook.name, hook.probe) == (f"{MODULE}.{name}", "tested")
        assert hook.state == ("missing" if hook.detail else "active")
        return hook.detail

    return detail


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("plain", Wanted()),
        ("plain", Wanted(("x",))),
        ("plain", Wanted(("x", "y"), ("local",), ("attribute",))),
        ("closes", Wanted(("x",), ("kept",))),
        ("decorated", Wanted(("x", "y"))),
        ("Class.method", Wanted(("self", "x"), uses=("callbacks",))),
        ("Class.inherited", Wanted(("self", "x"))),
        ("Class.value", Wanted(("self",), uses=("_value",))),
        ("Class.make", Wanted(("cls", "x"))),
        ("Class.static", Wanted(("x",))),
        ("Class.Inner.method", Wanted(("self",))),
        ("Class", Wanted()),
        ("LIST", Wanted()),
        ("NUMBER", Wanted()),
    ],
)
def test_a_name_that_is_as_it_was_has_no_difference(detail, name, wanted):
    assert detail(name, wanted) == ""


@pytest.mark.parametrize(
    ("name", "wanted", "difference"),
    [
        ("gone", Wanted(), "no such name"),
        ("Gone.method", Wanted(("self",)), "no such name"),
        ("Class.gone", Wanted(("self",)), "no such name"),
        ("plain.gone.deeper", Wanted(), "no such name"),
        ("plain", Wanted(("y",)), "its parameters are x, y"),
        ("plain", Wanted(("x", "y", "rest")), "its parameters are x, y"),
        ("only_keywords", Wanted(("x",)), "its parameters are "),
        ("Class.inherited", Wanted(("self", "y")), "its parameters are self, x"),
        ("plain", Wanted(("x",), ("other", "local")), "it has no other"),
        ("plain", Wanted(("x",), ("other",), ("missing",)), "it has no other, missing"),
        ("Class.method", Wanted(("self",), uses=("hooks",)), "it has no hooks"),
        ("LIST", Wanted(("x",)), "not a Python function"),
        ("LIST.append", Wanted(uses=("x",)), "not a Python function"),
    ],
)
def test_a_name_that_has_changed_says_how(detail, name, wanted, difference):
    assert detail(name, wanted) == difference


def test_a_name_that_a_hook_of_ours_stands_for_is_still_known(detail, module):
    """A module may be reloaded, and quickfit may come when it is patched already."""
    notice_calls(module.Class, "method", lambda instance: None)
    module.Class.make = calls._Watched(vars(module.Class)["make"], "train")
    module.plain = TimedFunction(module.plain, deque(), 0)
    assert detail("Class.method", Wanted(("self", "x"), uses=("callbacks",))) == ""
    assert detail("Class.make", Wanted(("cls", "x"))) == ""
    assert detail("plain", Wanted(("x", "y"))) == ""


def test_a_function_that_wraps_itself_does_not_keep_us_for_ever(detail, module):
    module.plain.__wrapped__ = module.plain
    assert detail("plain", Wanted(("x",))) == ""


def test_a_partial_is_no_python_function(detail, module):
    module.plain = functools.partial(module.plain, 1)
    assert detail("plain", Wanted(("y",))) == "not a Python function"


@pytest.mark.parametrize(
    ("probe", "name"), [("tested", "another.module"), ("another_probe", MODULE)]
)
def test_a_probe_that_holds_on_to_nothing_in_a_module_has_no_hooks(monkeypatch, probe, name):
    monkeypatch.setitem(NAMES, "tested", {MODULE: {"plain": Wanted()}})
    assert hooks_of(probe, ModuleType(name)) == []


def test_all_names_of_a_module_are_looked_at(module, monkeypatch):
    wanted = {"plain": Wanted(("x",)), "gone": Wanted()}
    monkeypatch.setitem(NAMES, "tested", {MODULE: wanted})
    assert hooks_of("tested", module) == [
        Hook(f"{MODULE}.plain", "tested", "active", ""),
        Hook(f"{MODULE}.gone", "tested", "missing", "no such name"),
    ]


# -- the table itself -----------------------------------------------------------------------------


def held():
    """Return every name with its module and probe."""
    return [
        (probe, module, name)
        for probe, modules in NAMES.items()
        for module, names in modules.items()
        for name in names
    ]


def test_every_module_that_is_patched_has_its_names_checked():
    patched = {
        (module.new_probe().name, name) for module in session._HOOKING for name in module.patches()
    }
    assert patched <= {(probe, module) for probe, module, _ in held()}


def test_every_method_whose_calls_are_watched_is_checked():
    watched = {
        (module, f"{owner}.{method}")
        for module, methods in calls._METHODS.items()
        for owner, method, _ in methods
    }
    checked = {(module, name) for probe, module, name in held() if probe == "calls"}
    assert watched == checked - {(calls.TRAINER, "pythonify_logs")}

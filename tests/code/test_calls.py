"""What a class gives its objects."""

import ast

import pytest

from quickfit.code.calls import assigned_to_self, unpack_keyword_dicts
from quickfit.code.values import Class

from programs import program_of

TEXT = """
class Data:
    def __init__(self, x, y):
        self.x, (self.y, self.z) = x, (y, 3)
        self.size: int = 8
    def halve(self, other):
        self.size = 4
        other.size = 2
        self.a, self.b = make()
"""


def given(name):
    module = program_of(TEXT).module("/project/train.py")
    owner = Class(module.all(ast.ClassDef)[0], module)
    return [module.code(node) for node in assigned_to_self(owner, name)]


def test_finds_every_value_that_methods_give_an_attribute():
    assert given("size") == ["8", "4"]


def test_follows_attributes_that_are_set_together():
    assert (given("x"), given("y"), given("z")) == (["x"], ["y"], ["3"])


def test_says_nothing_of_parts_of_what_a_call_gives():
    assert given("a") == []


HEAD = """
def pair(n):
    return 1, n
def maybe(x):
    if x:
        return 1, 2
    return 1, 2, 3
def make(a, b, c=7, *, d=8):
    print(a, b, c, d)
"""


def literals(call, name):
    """Return what a parameter of `make` may be in a program with one call of it."""
    program = program_of(f"{HEAD}{call}\n")
    module = program.module("/project/train.py")
    (shown,) = module.calls("print")
    node = next(a for a in shown.args if isinstance(a, ast.Name) and a.id == name)
    return [getattr(value, "value", None) for value in program.values(module, node)]


@pytest.mark.parametrize(
    ("call", "name", "expected"),
    [
        ("make(*(4, 5))", "b", [5]),
        ("make(*pair(3), 6)", "a", [1]),
        ("make(*pair(3), 6)", "b", [3]),
        ("make(*pair(3), 6)", "c", [6]),
        ("make(*pair(3))", "c", [7]),
        ("make(9, *pair(3))", "a", [9]),
        ("make(9, *pair(3))", "c", [3]),
        ("make(*pair(3), d=2)", "d", [2]),
        ("make(*rest)", "d", [8]),
        ("make(*(4, 5), c=6)", "c", [6]),
        ("make(*rest)", "c", [None]),
        ("make(*rest, 5)", "b", [None]),
        ("make(*maybe(u))", "c", [None]),
        ("make(*(4,), *(5,))", "b", [None]),
        ("make(*(4, 5), **more)", "c", [None]),
        ("make(*(4, 5), **more)", "d", [None]),
    ],
)
def test_follows_what_is_spread(call, name, expected):
    assert literals(call, name) == expected


def read(text):
    """Return what `f(…)` gets by `**`, as it is written."""
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("f")
    found = unpack_keyword_dicts(program, module, call)
    return None if found is None else {k: m.code(v) for k, (m, v) in found.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("f(1, a=2)\n", {}, id="nothing is hidden"),
        pytest.param("f(**{'a': 1})\n", {"a": "1"}, id="written in the call"),
        pytest.param("o = {'a': 1}\nf(**o)\n", {"a": "1"}, id="a name"),
        pytest.param("o = dict(a=1, b=2)\nf(**o)\n", {"a": "1", "b": "2"}, id="dict"),
        pytest.param("p = {'a': 1}\no = dict(p, b=2)\nf(**o)\n", {"a": "1", "b": "2"}, id="more"),
        pytest.param("p = {'a': 1}\nf(**{**p, 'a': 2})\n", {"a": "2"}, id="the last one counts"),
        pytest.param("p = {'a': 1}\nf(**p, **{'b': 2})\n", {"a": "1", "b": "2"}, id="two of them"),
        pytest.param("o = {'a': 1}\nprint(o, o['a'])\nf(**o)\n", {"a": "1"}, id="read only"),
    ],
)
def test_what_is_in_options(text, found):
    assert read(text) == found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("f(**o)\n", id="unknown"),
        pytest.param("f(*o)\n", id="a tuple"),
        pytest.param("o = {key: 1}\nf(**o)\n", id="a key that is not written"),
        pytest.param("o = dict(pairs)\nf(**o)\n", id="made of something else"),
        pytest.param("o = {'a': 1}\nif x:\n    o = {'b': 1}\nf(**o)\n", id="one of two"),
        pytest.param("o = {'a': 1}\no['b'] = 2\nf(**o)\n", id="filled"),
        pytest.param("o = {'a': 1}\no |= p\nf(**o)\n", id="joined"),
        pytest.param("o = {'a': 1}\ndel o['a']\nf(**o)\n", id="emptied"),
        pytest.param("o = {'a': 1}\no.setdefault('b', 2)\nf(**o)\n", id="a default"),
        pytest.param("o = {'a': 1}\nchange(options=o)\nf(**o)\n", id="given away by name"),
        pytest.param("o = {'a': 1}\np = o\np['b'] = 2\nf(**o)\n", id="by a second name"),
        pytest.param("def g(**o):\n    f(**o)\n", id="whatever a function gets"),
    ],
)
def test_options_that_may_have_more_are_open(text):
    assert read(text) is None

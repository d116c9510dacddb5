"""Arguments that a call takes out of a tuple."""

import ast

import pytest

from programs import program_of

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

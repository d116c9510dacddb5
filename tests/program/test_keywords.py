"""An argument by keyword, written into a call."""

import pytest

from quickfit.fixes.change import patched
from quickfit.program.keywords import with_keyword

from programs import program_of


def edited(text):
    """Return a text with `new=1` given to its call of `f`, or None."""
    module = program_of(text + "\n").module("/project/train.py")
    edit = with_keyword(module, module.calls("f")[0], "new", "1")
    return patched(text + "\n", [edit]).rstrip("\n") if edit is not None else None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(new=1)"),
        ("f(a)", "f(a, new=1)"),
        ("f(a, )", "f(a, new=1 )"),
        ("f((a))", "f((a), new=1)"),
        ("f(g(a), b=(2))", "f(g(a), b=(2), new=1)"),
        ("f(a, new=0)", "f(a, new=1)"),
        ("f(\n    a,\n    b=2,\n)", "f(\n    a,\n    b=2,\n    new=1,\n)"),
        ("f(\n    a,  # (first\n)", "f(\n    a,  # (first\n    new=1,\n)"),
        ("f(\n    a, b\n)", "f(\n    a, b, new=1\n)"),
        ("x = f('ä', b)", "x = f('ä', b, new=1)"),
    ],
)
def test_adds_the_argument(before, after):
    assert edited(before) == after


@pytest.mark.parametrize("text", ["f(*rest)", "f(a, **rest)", "f(x for x in y)"])
def test_leaves_alone_what_it_cannot_tell(text):
    assert edited(text) is None

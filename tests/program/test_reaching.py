"""Whether one call of a function comes to a piece of its code."""

import pytest

from quickfit.program.frames import Frame
from quickfit.program.reaching import Reach

from programs import program_of


def comes(body, call="f(True)"):
    """Tell whether the first call of `f` comes to `here()`."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    program = program_of(f"def f(a=False, mode='train'):\n{lines}{call}\n")
    module = program.module("/project/train.py")
    function = module.function(module.calls("here")[0])
    frame = Frame(function, module.calls("f")[0], module, None, 1)
    return Reach(program.resolver, module, frame).comes_to(module.calls("here")[0])


@pytest.mark.parametrize(
    "body",
    [
        "here()",
        "if a:\n    here()",
        "if not a:\n    pass\nelse:\n    here()",
        "if not a:\n    return 1\nhere()",
        "if a and mode == 'train':\n    here()",
        "if b or a:\n    here()",
        "x = here() if a else 0",
        "for i in b:\n    here()",
        "try:\n    here()\nexcept ValueError:\n    pass",
        "if b:\n    raise ValueError\nhere()",
        "if here() > 1:\n    pass",
        "def g():\n    return 1\nhere()",
    ],
)
def test_comes_to(body):
    assert comes(body)


@pytest.mark.parametrize(
    "body",
    [
        "if b:\n    here()",
        "if not a:\n    here()",
        "if a:\n    return 1\nhere()",
        "if b:\n    return 1\nhere()",
        "if mode != 'train':\n    here()",
        "if mode == 'train' and b:\n    here()",
        "x = 0 if a else here()",
        "x = b and here()",
        "try:\n    pass\nexcept ValueError:\n    here()",
        "for i in b:\n    return i\nhere()",
    ],
)
def test_does_not_surely_come_to(body):
    assert not comes(body)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("str.upper", False), ("lambda x: x", True), ("None", False), ("[]", True), ("b", False)],
)
def test_a_thing_of_the_program_is_not_none(given, expected):
    assert comes("if a is not None:\n    here()", call=f"f({given})") is expected


def test_takes_the_default_of_what_is_not_given():
    assert not comes("if a:\n    here()", call="f()")

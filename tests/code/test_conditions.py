"""Which conditions around code the text decides."""

import pytest

from quickfit.code.conditions import Reach, is_for_looking, never_runs
from quickfit.code.values import Frame

from programs import program_of


def asked(question, text):
    """Ask a question about the call of `work` in a text."""
    program = program_of(text)
    module = program.module("/project/train.py")
    return question(program, module, module.calls("work")[0])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("if False:\n    work()\n", True),
        ("if 0:\n    work()\n", True),
        ("if True:\n    pass\nelse:\n    work()\n", True),
        ("USE = False\nif USE:\n    work()\n", True),
        ("if not True:\n    work()\n", True),
        ("if maybe:\n    work()\n", False),
        ("if __name__ == '__main__':\n    work()\n", False),
        ("while True:\n    work()\n", False),
        ("work()\n", False),
    ],
)
def test_what_never_runs(text, answer):
    assert asked(never_runs, text) is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("if args.debug:\n    work()\n", True),
        ("def look():\n    work()\nif args.debug:\n    look()\n", True),
        ("DEBUG = True\nif DEBUG:\n    work()\n", False),
        ("if args.resume:\n    work()\n", False),
        ("def look():\n    work()\nlook()\n", False),
    ],
)
def test_what_runs_only_to_look_inside(text, answer):
    assert asked(is_for_looking, text) is answer


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

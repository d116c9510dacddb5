"""Which conditions around code the text decides."""

import pytest

from quickfit.program.conditions import is_for_looking, never_runs

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

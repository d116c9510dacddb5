"""Which loop runs a piece of code again and again."""

import pytest

from quickfit.program.repeats import repeat

from programs import program_of


def line_of_loop(source, file="train.py"):
    program = program_of(source)
    module = program.module(f"/project/{file}")
    (call,) = module.calls("work")
    found = repeat(program, module, call)
    return (found.module.path.rsplit("/", 1)[1], found.loop.lineno) if found else None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("for x in y:\n    work()", 1),
        ("while x:\n    if y:\n        work()", 1),
        ("while work():\n    pass", 1),
        ("def f():\n    work()\nfor x in y:\n    f()", 3),
        ("def f():\n    g()\ndef g():\n    work()\nwhile x:\n    f()", 5),
        ("class C:\n    def f(self):\n        work()\n    def run(self):\n        for x in y:\n"
         "            self.f()\nC().run()", 5),
    ],
)  # fmt: skip
def test_a_loop_is_found(text, line):
    assert line_of_loop(text) == ("train.py", line)


@pytest.mark.parametrize(
    "text",
    [
        "work()",
        "for x in work():\n    pass",
        "for x in y:\n    pass\nelse:\n    work()",
        "for x in y:\n    def f():\n        work()",
        "while True:\n    work()\n    break",
        "def f():\n    work()\nf()",
        "def f():\n    work()\n    f()",
    ],
)
def test_code_runs_once_when(text):
    assert line_of_loop(text) is None


def test_a_loop_of_another_file_is_found():
    source = {"train.py": "import lib\nfor x in y:\n    lib.f()", "lib.py": "def f():\n    work()"}
    assert line_of_loop(source, "lib.py") == ("train.py", 2)

"""Which loop runs a piece of code again and again."""

import ast

import pytest

from quickfit.code.loops import (
    count_turns,
    is_kept_over_turns,
    is_new_in_turn,
    repeating_loop,
    turns_around,
)

from programs import program_of


def line_of_loop(source, file="train.py"):
    program = program_of(source)
    module = program.module(f"/project/{file}")
    (call,) = module.calls("work")
    found = repeating_loop(program, module, call)
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


def read(text):
    """Return a program and its only file."""
    program = program_of(text)
    return program, program.module("/project/train.py")


@pytest.mark.parametrize(
    ("iterated", "number"),
    [
        ("range(5)", 5),
        ("range(2, 12, 3)", 4),
        ("range(n)", None),
        ("enumerate(['a', 'b'])", 2),
        ("rows[:4]", 4),
        ("rows[3:]", None),
        ("zip(range(7), rows)", 7),
        ("itertools.product([1, 2], (3, 4, 5))", 6),
        ("np.linspace(0, 1, 11)", 11),
        ("np.array_split(rows, 3)", 3),
        ("KFold(n_splits=4).split(rows)", 4),
        ("RATES", 3),
        ("ds.take(2)", 2),
        ("something()", None),
    ],
)
def test_counts_turns(iterated, number):
    program, module = read(
        "import itertools\nimport numpy as np\nfrom sklearn.model_selection import KFold\n"
        f"RATES = (1, 2, 3)\nfor x in {iterated}:\n    pass\n"
    )
    assert count_turns(program, module, module.tree.body[-1]) == number


def test_finds_loops_through_calls_and_comprehensions():
    program, module = read(
        "def inner():\n    return [work(i) for i in rows]\n"
        "def outer():\n    inner()\n"
        "for epoch in range(3):\n    outer()\n"
    )
    found = turns_around(program, module, module.calls("work")[0])
    assert [type(each.loop).__name__ for each in found] == ["ListComp", "For"]
    assert [len(each.calls) for each in found] == [0, 2]


def test_a_loop_that_ends_in_its_first_turn_is_none():
    program, module = read("while True:\n    work()\n    break\n")
    assert turns_around(program, module, module.calls("work")[0]) == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param("net = make()\nfor _ in rows:\n    net.fit()\n", True, id="before"),
        pytest.param("for _ in rows:\n    net = make()\n    net.fit()\n", False, id="inside"),
        pytest.param("for net in nets:\n    net.fit()\n", False, id="looped over"),
        pytest.param(
            "def go(net):\n    net.fit()\nnet = make()\nfor _ in rows:\n    go(net)\n",
            True,
            id="handed over",
        ),
        pytest.param(
            "def go(net):\n    net.fit()\nfor _ in rows:\n    go(make())\n",
            False,
            id="made for the call",
        ),
        pytest.param(
            "def go():\n    net = make()\n    net.fit()\nfor _ in rows:\n    go()\n",
            False,
            id="made by the function",
        ),
        pytest.param(
            "class A:\n    def __init__(self):\n        self.net = make()\n"
            "    def go(self):\n        self.net.fit()\n"
            "a = A()\nfor _ in rows:\n    a.go()\n",
            True,
            id="of an object",
        ),
        pytest.param(
            "class A:\n    def __init__(self):\n        self.net = make()\n"
            "    def go(self):\n        self.net.fit()\n"
            "for _ in rows:\n    a = A()\n    a.go()\n",
            False,
            id="of a new object",
        ),
    ],
)
def test_what_is_made_before_a_loop(text, answer):
    program, module = read(text)
    call = module.calls("fit")[0]
    (around,) = turns_around(program, module, call)
    assert isinstance(call.func, ast.Attribute)
    assert is_kept_over_turns(program, module, call.func.value, around) is answer


def test_what_a_loop_sets_is_new():
    program, module = read("a = 1\nfor b in rows:\n    c = b\n    use(a)\n    use(b)\n    use(c)\n")
    loop = module.tree.body[-1]
    found = [is_new_in_turn(program, module, call.args[0], loop) for call in module.calls("use")]
    assert found == [False, True, True]

"""What an expression stands for: followed through names, calls, classes and files."""

import ast

import pytest

from quickfit.code.values import External, Literal, Made, Routine

from programs import program_of

HEAD = "import tensorflow as tf\nfrom tensorflow import keras\n"


def last(program, file="train.py"):
    """Return the module and the expression that its last line is."""
    module = program.module(f"/project/{file}")
    statement = module.tree.body[-1]
    assert isinstance(statement, ast.Expr)
    return module, statement.value


def values(source, file="train.py"):
    program = program_of(source)
    return program.values(*last(program, file))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorflow as tf\ntf.data.AUTOTUNE", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow\ntensorflow.keras.layers.Dense", "keras.layers.Dense"),
        ("from tensorflow import keras as k\nk.layers.Dense", "keras.layers.Dense"),
        ("from keras import layers as L\nL.Dense", "keras.layers.Dense"),
        ("from tensorflow.keras.models import Sequential as S\nS", "keras.Sequential"),
        ("from tensorflow.keras.layers import *\nDense", "keras.layers.Dense"),
        (
            "from keras.layers import *\nfrom keras.models import *\nSequential",
            "keras.Sequential",
        ),
        ("import tensorflow.compat.v2 as tf\ntf.io.read_file", "tensorflow.io.read_file"),
        ("import tensorflow as tf\nf = tf.image\nf.decode_png", "tensorflow.io.decode_png"),
        ("len", "builtins.len"),
    ],
)
def test_a_name_of_a_library_has_one_usual_form(text, name):
    assert values(text) == (External(name),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 3\nb = a\nb", {3}),
        ("a = 1\na = 2\na", {2}),
        ("a = 1\nif x:\n    a = 2\na", {1, 2}),
        ("if x:\n    a = 1\nelse:\n    a = 2\na", {1, 2}),
        ("a = 0\nif x:\n    a = 1\nelse:\n    a = 2\na", {1, 2}),
        ("a, b = 1, 2\nb", {2}),
        ("(a, (b, c)) = (1, (2, 3))\nc", {3}),
        ("a = 4 * 8 - 2\na", {30}),
        ("a = 1 if x else 2\na", {1, 2}),
        ("c = {'n': 5}\nc['n']", {5}),
        ("c = [5, 6]\nc[-1]", {6}),
        ("def f(n=7):\n    return n\nf()", {7}),
        ("def f(n=7):\n    return n\nf(8)", {8}),
        ("def f(n):\n    return g(n)\ndef g(m):\n    return m\nf(m)\nf(9)", {9}),
        ("f = lambda n: n + 1\nf(1)", {2}),
        ("class C:\n    n = 3\nC.n", {3}),
        ("class C:\n    def __init__(self, n):\n        self.n = n\nC(4).n", {4}),
        ("class B:\n    n = 3\nclass C(B): ...\nC().n", {3}),
        ("for a in (1, 2):\n    pass\na", {1, 2}),
        ("def f():\n    global a\n    a = 2\na = 1\na", {1, 2}),
        ("b = 1\nwith open(p) as a:\n    b = 3\nb", {3}),
        ("(a := 3)\na", {3}),
    ],
)
def test_a_value_is_followed_through(text, expected):
    found = {v.value for v in values(text) if isinstance(v, Literal)}
    assert found == expected


def test_a_use_before_the_next_assignment_sees_the_one_before():
    program = program_of("a = 1\nprint(a)\na = 2\na")
    module = program.module("/project/train.py")
    (call,) = module.calls("print")
    assert program.literal(module, call.args[0]) == 1


def test_in_a_loop_what_is_assigned_behind_the_use_is_seen_too():
    program = program_of("a = 1\nfor x in y:\n    print(a)\n    a = 2\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("print")
    assert {v.value for v in program.values(module, call.args[0])} == {1, 2}


def test_a_branch_does_not_see_the_other_one():
    program = program_of("if x:\n    a = 1\nelse:\n    a = 2\n    print(a)\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("print")
    assert program.literal(module, call.args[0]) == 2


def test_other_files_are_followed():
    source = {
        "train.py": "from lib.conf import SIZE\nimport lib.nets as nets\nnets.make(SIZE)",
        "lib/__init__.py": "",
        "lib/conf.py": "from .base import SIZE",
        "lib/base.py": "SIZE = 12",
        "lib/nets.py": "def make(n):\n    return n",
    }
    assert values(source) == (Literal(12),)


def test_a_parameter_is_what_all_calls_give():
    source = {
        "a.py": "from lib import f\nf(1)",
        "b.py": "import lib\nlib.f(n=2)",
        "lib.py": "def f(n):\n    print(n)",
    }
    program = program_of(source)
    module = program.module("/project/lib.py")
    (call,) = module.calls("print")
    assert {v.value for v in program.values(module, call.args[0])} == {1, 2}


def test_what_a_library_makes_keeps_its_maker_and_the_object_of_a_method():
    (made,) = values(HEAD + "m = keras.Sequential()\nm.fit(x)")
    assert isinstance(made, Made)
    assert made.method == "fit"
    assert [v.maker for v in made.receiver] == ["keras.Sequential"]
    (layer,) = values(HEAD + "keras.layers.Dense(1)(x)")
    assert layer.receiver[0].maker == "keras.layers.Dense"


def test_a_function_that_tensorflow_compiles_is_called_as_it_is_written():
    assert values(HEAD + "def f(n):\n    return n\ng = tf.function(f)\ng(5)") == (Literal(5),)
    (routine,) = values(HEAD + "@tf.function\ndef f(n):\n    return n\nf")
    assert isinstance(routine, Routine)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "a = f()\na",
        "def f(n):\n    return f(n)\nf(1)",
        "a = b\nb = a\na",
        "def f(*rest):\n    return rest\nf(1)[0]",
        "class C(C): ...\nC().n",
        "a = " + "f(" * 80 + "1" + ")" * 80 + "\na",
        "a = [a for a in a]\na[0]",
    ],
)
def test_what_nobody_can_tell_has_no_literal(text):
    program = program_of(text)
    assert program.literal(*last(program)) is None


def test_a_program_that_runs_in_circles_is_read_in_no_time():
    many = "".join(
        f"def f{n}(x):\n    return f{n + 1}(x) + f{n + 1}(f{n + 2}(x))\n" for n in range(60)
    )
    program = program_of(many + "f0(1)")
    assert program.values(*last(program))


HEAD_RECORDS = """
from dataclasses import dataclass, field
from typing import NamedTuple

@dataclass
class Options:
    size: int = 8
    name: str = field(default="x")

@dataclass(frozen=True)
class Settings:
    epochs: int
    options: Options = field(default_factory=Options)

class Point(NamedTuple):
    x: int = 1
"""


def literal_of(line):
    program = program_of(f"{HEAD_RECORDS}\n{line}\n")
    module = program.module("/project/train.py")
    last = module.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return program.literal(module, last.value)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Options().size", 8),
        ("Options(4).size", 4),
        ("Options(size=2).size", 2),
        ("Options().name", "x"),
        ("Settings(3).epochs", 3),
        ("Settings(3).options.size", 8),
        ("Settings(3, Options(5)).options.size", 5),
        ("Point().x", 1),
        ("Point(x=7).x", 7),
    ],
)
def test_a_field_is_what_the_call_or_the_class_gives(line, value):
    assert literal_of(line) == value


@pytest.mark.parametrize(
    "line",
    [
        "Options(**more).size",
        "Settings().epochs",
        "made = Options()\nmade.size = 3\nmade.size",
    ],
)
def test_a_field_is_not_known_when(line):
    assert literal_of(line) is None

"""Which statements give a name its value."""

import ast

from quickfit.code import Module
from quickfit.code.names import Bindings


def reaching(text, name):
    """Return the lines of what binds a name at its last use in a text."""
    module = Module("/project/train.py", text)
    uses = [n for n in module.all(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    found = Bindings(module).reaching(uses[0], name)
    return [(bound.kind, ast.unparse(bound.value) if bound.value else "") for bound in found]


def test_a_comprehension_binds_its_name_in_front_of_its_for():
    assert reaching("[id for id in ids]\n", "id") == [("element", "ids")]
    assert reaching("id = 3\nfound = {id: 1 for id in ids}\n", "id") == [("element", "ids")]


def test_a_name_of_a_comprehension_ends_with_it():
    text = "n = 3\nfound = [0 for n in ids]\nprint(n)\n"
    assert reaching(text, "n") == [("value", "3")]


CALLED = """\
rate = 1
def train():
    return rate
train()
rate = 2
"""


def test_a_name_of_the_module_means_what_holds_at_the_calls_of_a_function():
    assert reaching(CALLED, "rate") == [("value", "1")]
    assert reaching(CALLED + "train()\n", "rate") == [("value", "1"), ("value", "2")]


def test_a_name_means_its_last_value_where_a_function_is_handed_on():
    assert reaching(CALLED.replace("train()\nrate", "run(train)\nrate"), "rate") == [("value", "2")]


def test_calls_are_followed_through_other_functions():
    text = CALLED.replace("train()\nrate", "def main():\n    train()\nmain()\nrate")
    assert reaching(text, "rate") == [("value", "1")]


def test_what_is_bound_in_front_of_a_return_does_not_hold_behind_its_branch():
    text = "def f(a):\n    x = 1\n    if a:\n        x = 2\n        return\n    print(x)\n"
    assert reaching(text, "x") == [("value", "1")]
    text = (
        "def f(a):\n    if a:\n        raise ValueError\n    else:\n        x = 2\n    print(x)\n"
    )
    assert reaching("x = 1\n" + text, "x") == [("value", "2")]

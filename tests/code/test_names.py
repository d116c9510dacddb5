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

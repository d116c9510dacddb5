"""What a class gives its objects."""

import ast

from quickfit.program.parameters import assigned_to_self
from quickfit.program.values import Class

from programs import program_of

TEXT = """
class Data:
    def __init__(self, x, y):
        self.x, (self.y, self.z) = x, (y, 3)
        self.size: int = 8
    def halve(self, other):
        self.size = 4
        other.size = 2
        self.a, self.b = make()
"""


def given(name):
    module = program_of(TEXT).module("/project/train.py")
    owner = Class(module.all(ast.ClassDef)[0], module)
    return [module.code(node) for node in assigned_to_self(owner, name)]


def test_finds_every_value_that_methods_give_an_attribute():
    assert given("size") == ["8", "4"]


def test_follows_attributes_that_are_set_together():
    assert (given("x"), given("y"), given("z")) == (["x"], ["y"], ["3"])


def test_says_nothing_of_parts_of_what_a_call_gives():
    assert given("a") == []

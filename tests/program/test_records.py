"""Fields of dataclasses and named tuples, as calls fill them."""

import ast

import pytest

from programs import program_of

HEAD = """
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
    program = program_of(f"{HEAD}\n{line}\n")
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

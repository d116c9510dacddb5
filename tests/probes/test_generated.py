"""The user's line behind code that AutoGraph wrote, from code in the form it has."""

import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from quickfit.probes._generated import (
    Converted,
    Spot,
    conversion,
    original_line,
    place_of_inner,
)

ORIGINAL = """
def build(d):
    for _ in range(2):
        d = d.take(3)
    return (
        d.map(lambda v: v + 1)
        .batch(2)
        .map(
            lambda v: v * 2
        )
    )

def other(d):
    return make(d)
"""
GENERATED = """
def tf__build(d):
    def loop_body(d):
        d = ag__.converted_call(ag__.ld(d).take, (3,), None)
        return d
    for _ in (1, 2):
        d = loop_body(d)
    return ag__.converted_call(ag__.converted_call(ag__.converted_call(ag__.ld(d).map, \
(lambda v: ag__.ld(v) + 1,), None).batch, (2,), None).map, (lambda v: ag__.ld(v) * 2,), None)

def tf__other(d):
    return ag__.converted_call(ag__.ld(make), (d,), None)
"""


class Chain:
    """Something with the methods of a dataset."""

    def take(self, *_): ...

    def map(self, *_): ...

    def batch(self, *_): ...


class AutoGraph:
    """Calls on behalf of generated code, and notes from where."""

    def __init__(self):
        self.spots = []
        self.functions = []

    def ld(self, value):
        return value

    def converted_call(self, function, args, _):
        frame = sys._getframe(1)
        self.spots.append((function.__name__, Spot(frame.f_code, frame.f_lasti, frame.f_lineno)))
        self.functions += [argument.__code__ for argument in args if callable(argument)]
        return Chain()


def make(_): ...


def run(name):
    """Run a generated function; return what AutoGraph saw and the two functions."""
    seen, here, there = AutoGraph(), {}, {"make": make}
    exec(compile(ORIGINAL, "/home/user/train.py", "exec"), here)
    exec(compile(GENERATED, "/tmp/__autograph_generated_filex.py", "exec"), there)
    there["ag__"] = seen
    generated = there[f"tf__{name}"]
    generated(Chain())
    return seen, Converted(here[name].__code__, generated.__code__, {})


def test_each_call_of_a_chain_has_the_line_of_its_own_name():
    seen, function = run("build")
    lines = [(name, original_line(spot, function)) for name, spot in seen.spots]
    assert lines == [("take", 4), ("take", 4), ("map", 6), ("batch", 7), ("map", 8)]


def test_a_function_that_is_called_by_its_name_is_found():
    seen, function = run("other")
    assert [original_line(spot, function) for _, spot in seen.spots] == [14]


def test_a_lambda_in_a_generated_function_is_the_one_the_user_wrote():
    seen, function = run("build")
    places = [place_of_inner(code, function) for code in seen.functions]
    assert [(place.file, place.line) for place in places] == [
        ("/home/user/train.py", 6),
        ("/home/user/train.py", 9),
    ]


def test_a_function_from_elsewhere_has_no_place_in_a_generated_one():
    _, function = run("build")
    assert place_of_inner((lambda v: v).__code__, function) is None


def test_a_function_that_was_changed_more_has_the_line_of_the_statement():
    seen, function = run("build")
    other = Converted(run("other")[1].original, function.generated, {})
    _, spot = seen.spots[2]
    assert original_line(spot, other) == 13, "where the function begins"
    origin = SimpleNamespace(loc=SimpleNamespace(lineno=77))
    mapped = other._replace(source_map={LineLocation(spot.line): origin})
    assert original_line(spot, mapped) == 77


class LineLocation(NamedTuple):
    """A line as AutoGraph's own map has it."""

    lineno: int


@pytest.mark.parametrize(
    "variables",
    [{}, {"converted_f": None}, {"converted_f": make}, {"converted_f": 3, "target_entity": make}],
)
def test_a_frame_that_calls_nothing_converted_has_no_conversion(variables):
    assert conversion(variables) is None


def test_a_conversion_is_read_from_the_variables_of_autograph():
    found = conversion({"converted_f": make, "target_entity": run})
    assert found == Converted(run.__code__, make.__code__, {})

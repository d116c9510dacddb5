"""Lines that belong to a generator."""

import pytest

from quickfit.source.yields import is_in_generator

TEXT = """\
def batches():
    while True:
        rows = draw()
        yield rows

def plain():
    rows = [row for row in draw()]
    return rows

def outer():
    def inner():
        yield 1
    return inner()

x = 1
"""


@pytest.mark.parametrize(("line", "is_inside"), [(3, True), (7, False), (12, True), (13, False)])
def test_the_innermost_function_decides(line, is_inside):
    assert is_in_generator(TEXT, line) is is_inside


def test_text_outside_functions_and_broken_text_are_no_generators():
    assert not is_in_generator(TEXT, 15)
    assert not is_in_generator("def (", 1)

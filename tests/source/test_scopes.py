"""The loop or function around a line."""

import pytest

from quickfit.source.scopes import calls_around, is_run_often, last_line

TEXT = """\
import keras

def build():
    model = keras.Sequential([])
    return model

model = build()
for epoch in range(3):
    model.compile("adam")
    while improves():
        model.fit(x, y)
done()
"""


@pytest.mark.parametrize(
    ("line", "expected"), [(4, True), (7, False), (9, True), (11, True), (12, False)]
)
def test_a_line_in_a_loop_or_a_function_may_run_often(line, expected):
    assert is_run_often(TEXT, line) is expected


def test_the_innermost_one_tells_what_is_called_there():
    assert calls_around(TEXT, 4) == {"Sequential"}
    assert calls_around(TEXT, 11) == {"improves", "fit"}
    assert calls_around(TEXT, 9) == {"range", "compile", "improves", "fit"}
    assert calls_around(TEXT, 12) == set()


def test_a_loop_ends_at_its_last_line():
    assert last_line(TEXT, 8) == 11
    assert last_line(TEXT, 10) == 11
    assert last_line(TEXT, 3) == 3


def test_what_is_no_python_has_no_loops():
    assert last_line("for", 1) == 1
    assert not is_run_often("for", 1)
    assert calls_around("for", 1) == set()

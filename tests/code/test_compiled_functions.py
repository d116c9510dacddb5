"""Where a function becomes a `tf.function`, and which argument of a call is which."""

import pytest

from quickfit.code.compiled_functions import (
    function_around,
    is_a_step,
    is_made_here,
    is_method,
    python_only,
    tape_blocks,
    tape_line,
    wrapping_lines,
)

WRAPPED = """\
import tensorflow as tf

def step(x):
    return x

for x in ds:
    fast = tf.function(step)
    slow = tf.function(self.step, jit_compile=True)
    other = tf.function(walk)
    step(x)
"""
DECORATED = """\
import tensorflow as tf

@tf.function(jit_compile=True)
def step(x):
    return x

@checked
def walk(x):
    return x

fast = tf.function(lambda x: x)

class Trainer:
    @tf.function
    def train(self, x):
        return x
"""


def test_lines_that_wrap_a_function_are_found_by_its_name():
    assert wrapping_lines(WRAPPED, "step") == [7, 8]
    assert wrapping_lines(WRAPPED, "walk") == [9]
    assert wrapping_lines("def broken(:\n", "walk") == []


@pytest.mark.parametrize(
    ("line", "made_here", "method"),
    [(3, True, False), (4, True, False), (7, False, False), (11, True, False), (14, True, True)],
)
def test_a_function_is_made_at_its_decorator_or_as_a_lambda(line, made_here, method):
    assert is_made_here(DECORATED, line) is made_here
    assert is_method(DECORATED, line) is method


STEP = """\
def step(x):
    with tf.GradientTape() as tape:
        loss = f(x)
    return tape.gradient(loss, w)
"""
INLINE = """\
for x in ds:
    with tf.GradientTape() as tape:
        loss = f(x)
    g = tape.gradient(loss, w)
"""
TWO = """\
def step(x):
    with GradientTape() as one, GradientTape() as other:
        loss = f(x)
    with open("log") as log:
        pass
    a = one.gradient(loss, w)
    with tf.GradientTape(persistent=True) as third:
        b = f(x)
    return third.gradient(b, w)
"""


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (STEP, 4, 2),
        (INLINE, 4, 2),
        (STEP.replace("tf.GradientTape", "Tape"), 4, 2),
        (TWO, 6, 2),
        (TWO, 9, 7),
        ("tape = tf.GradientTape()\ng = tape.gradient(a, b)\n", 2, None),
        ("def broken(:\n", 1, None),
    ],
)
def test_the_tape_is_the_last_one_before_the_line(text, line, found):
    assert tape_line(text, line) == found


def test_blocks_of_tapes_are_found_from_their_first_line_to_their_last():
    text = (
        "with tf.GradientTape() as tape:\n    a = f(x)\n    b = g(a)\nwith open(p) as f:\n    c\n"
    )
    assert tape_blocks(text) == ((2, 3),)
    assert tape_blocks("not python:") == ()


def test_the_innermost_function_is_found():
    text = "def outer():\n    def inner():\n        go()\n    inner()\n"
    inner, outer = function_around(text, 3), function_around(text, 4)
    assert inner is not None
    assert outer is not None
    assert (inner.name, outer.name) == ("inner", "outer")
    assert function_around("go()\n", 1) is None
    assert function_around("def broken(:\n", 1) is None


@pytest.mark.parametrize(
    ("text", "line", "is_one"),
    [
        pytest.param(STEP, 2, True, id="a step"),
        pytest.param(
            "def train():\n    for x in ds:\n        go(x)\n", 3, False, id="the whole training"
        ),
        pytest.param(
            "def step(x):\n    go(x)\n    for v in w:\n        v.f()\n", 2, True, id="a loop beside"
        ),
        pytest.param("@checked\ndef step(x):\n    go(x)\n", 3, False, id="decorated"),
        pytest.param("def step(x):\n    yield go(x)\n", 2, False, id="a generator"),
        pytest.param("def step(x):\n    return go(x).numpy()\n", 2, False, id="needs a value"),
    ],
)
def test_a_step_is_a_function_that_can_be_compiled_as_it_is(text, line, is_one):
    function = function_around(text, line)
    assert function is not None
    assert is_a_step(function, line) is is_one


def test_what_needs_values_is_named_once():
    text = "def step(x):\n    losses.append(float(x))\n    print(float(x))\n    tf.print(x)\n"
    function = function_around(text, 2)
    assert function is not None
    assert python_only(function) == ["append", "float", "print"]
    text = "def step(x):\n    return np.mean(x.numpy())\n"
    function = function_around(text, 2)
    assert function is not None
    assert python_only(function) == ["np.mean", "numpy"]

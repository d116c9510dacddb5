"""Where a function becomes a `tf.function`, and which argument of a call is which."""

import pytest

from quickfit.source.definitions import is_made_here, is_method, with_tensor, wrapping_lines

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


CALLS = """\
import tensorflow as tensors

@tensors.function
def step(x, y, rate=0.1):
    return x

step(x, y, rates[n])
step(x, y, rate=0.1 * n)
step(*batch, 3)
step(x, y)
step(
    x, y,
    "ä", rate=len("ä")
)
trainer.step(x, y, n)
"""


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (7, "step(x, y, tensors.constant(rates[n]))"),
        (8, "step(x, y, rate=tensors.constant(0.1 * n))"),
        (9, None),
        (10, None),
        (11, '"ä", rate=tensors.constant(len("ä"))'),
        (15, "trainer.step(x, y, tensors.constant(n))"),
        (5, None),
    ],
)
def test_one_argument_becomes_a_tensor(line, after):
    found = with_tensor(CALLS, line, function="step", defined_at=3, argument="rate")
    assert (found[1] if found else None) == after


def test_the_first_argument_of_a_method_is_not_given():
    text = "class T:\n    def step(self, x, n):\n        ...\n\nt.step(x, n)\n"
    found = with_tensor(text, 5, function="step", defined_at=2, argument="n")
    assert found == ("t.step(x, n)", "t.step(x, tf.constant(n))")
    missing = with_tensor(text, 5, function="step", defined_at=1, argument="n")
    assert missing is None

"""Numbers of Python in compiled functions, from the text of a program."""

import pytest

from quickfit.causes.traps.python_state_in_function import CAUSE

from programs import lines, pair

NAME = "python-state-in-function"
GLOBAL = """
import tensorflow as tf
step = 0
@tf.function
def train():
    global step
    step += 1
"""


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            GLOBAL,
            id="a global one",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pair(NAME, "slow").replace("    @tf.function\n", ""), id="not compiled"),
        pytest.param(
            pair(NAME, "slow").replace("self.step", "self.traces"), id="a count of traces"
        ),
        pytest.param(
            pair(NAME, "slow").replace("self.step = 0", "self.step = make()"),
            id="a variable from another place",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []

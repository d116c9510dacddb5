"""Gradients in the block of their tape, from the text of a program."""

import pytest

from quickfit.causes.traps.gradient_inside_tape import CAUSE

from programs import lines, pair

NAME = "gradient-inside-tape"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("persistent=True", ""), id="a tape that stops by itself"
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "    optimizer.apply",
                "    second = tape.gradient(gradients, model.weights)\n    optimizer.apply",
            ),
            id="a gradient of a gradient",
        ),
        pytest.param(
            pair(NAME, "slow").replace("tape.gradient", "inner.gradient"), id="an outer tape"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []
